# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared kernel modules, their options and limits. Pure."""

from __future__ import annotations

import typing as t

from .._facts._rails import named_devices
from . import _config as config
from . import _limits as limits
from ._input import value_text
from ._names import canonical

if t.TYPE_CHECKING:
    from .._facts._railrule import Rail

# The modules that the roles load if an inventory declares none.
USUAL = ("ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib")


class Wanted(t.NamedTuple):
    """The declared state. Names are canonical, values are texts."""

    load: frozenset[str] = frozenset()
    options: t.Mapping[str, t.Mapping[str, str]] = {}
    mechanism: str = "auto"
    load_now: bool = True
    initramfs_drivers: frozenset[str] = frozenset()
    """The modules that every initramfs is to contain and load early."""
    initramfs_cmdline: tuple[str, ...] = ()
    """The kernel arguments that every initramfs is to contain."""
    memlock: str = limits.KEEP
    """The locked-memory limit, in KiB."""
    nofile: str = limits.KEEP
    """The limit of open files."""
    device_names: str = config.UNMANAGED
    """The naming policy of RDMA devices: `unmanaged`, `kernel` or `persistent`."""
    rails: tuple[Rail, ...] = ()
    """The RDMA devices with declared names."""
    adopt: bool = False
    """Whether declared settings are taken out of the files of others."""
    restore: bool = False
    """Whether the files of others are restored."""
    interruption: bool = False
    """Whether daemons with a lower limit may be restarted."""

    @property
    def restarts(self) -> bool:
        """Whether daemons are to be found that have to be restarted."""
        return self.interruption and bool(self.limits)

    @property
    def limits(self) -> tuple[limits.Limit, ...]:
        """The limits that are not left alone."""
        values = {limits.MEMLOCK.name: self.memlock, limits.NOFILE.name: self.nofile}
        return tuple(limits.Limit(name, value) for name, value in values.items() if value != limits.KEEP)


def wanted_of(parameters: t.Mapping[str, t.Any]) -> Wanted:
    """Parse the options of the module. `absent` means: none of our files on disk; loaded modules stay loaded."""
    if parameters["state"] == "absent":
        return Wanted(load_now=False, restore=parameters.get("restore", False))
    return Wanted(
        load=frozenset(canonical(name) for name in parameters["load"]),
        options={
            canonical(module): {name: value_text(value) for name, value in assignments.items()}
            for module, assignments in parameters["options"].items()
            if assignments
        },
        mechanism=parameters["mechanism"],
        load_now=parameters["load_now"] and not parameters.get("image", False),
        initramfs_drivers=frozenset(canonical(name) for name in parameters["initramfs_drivers"]),
        initramfs_cmdline=tuple(parameters["initramfs_cmdline"]),
        memlock=str(parameters["memlock"]),
        nofile=str(parameters.get("nofile", limits.KEEP)),
        device_names=parameters["device_names"],
        rails=named_devices(parameters.get("rails") or {}),
        # The check of a node has no such options: what was taken over is as declared, and it restarts nothing.
        adopt=parameters.get("adopt", False),
        interruption=parameters.get("allow_interruption", False),
    )
