# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The loaded RDMA modules, and whether they match those on disk."""

from __future__ import annotations

import os
import re
import typing as t

from .._foreign import decimal
from .._tools._modinfo import parse_modinfo
from ._sysfs import attribute

if t.TYPE_CHECKING:
    from .._host._run import Runner

# The stack itself and its upper-layer protocols.
_STACK = re.compile(
    r"^(ib_.+|rdma_.+|iw_.+|mlx[45]_.+|mlxfw|mlx_compat|rpcrdma|xprtrdma|svcrdma|nvmet?_rdma|rds_rdma|smc(_diag)?|rtrs_.+|rnbd_.+|9pnet_rdma"
    r"|bnxt_re|efa|erdma|hfi1|hns_roce_.+|i40iw|irdma|mana_ib|ocrdma|qedr|siw|usnic_verbs|vmw_pvrdma)$"
)
# Modules that use the stack without a symbol dependency on ib_core.
PEERS = ("nvidia_peermem", "nv_peer_mem")
# Drivers of other vendors, which also exist as packages of their own, built on a stack like any other module.
_DRIVERS = ("bnxt_re", "efa", "erdma", "i40iw", "irdma", "mana_ib", "qedr")
_OF_KERNEL = "kernel/"

# The modules whose version decides whether a reload or reboot is due; reading more files would only take time.
CHECKED = (
    "mlx_compat",
    "ib_core",
    "ib_ipoib",
    "ib_umad",
    "ib_uverbs",
    "mlx4_core",
    "mlx4_ib",
    "mlx5_core",
    "mlx5_ib",
    "rdma_cm",
    "rdma_ucm",
)


class Module(t.NamedTuple):
    name: str
    refcount: int = 0
    used_by: tuple[str, ...] = ()
    """The modules that depend on it. The refcount counts these and every other user."""
    srcversion_loaded: str = ""
    srcversion_disk: str = ""
    """What modprobe would load now. Both are "" for a module without srcversion, as most modules of Debian's kernels."""
    differs: bool = False
    """Whether the build on disk differs from that in memory. False where that was not checked or can't be told."""

    @property
    def own_users(self) -> int:
        """Users that are not modules: sessions, mounts, open files."""
        return max(0, self.refcount - len(self.used_by))


def in_stack(name: str) -> bool:
    """Whether the module belongs to the RDMA stack, as opposed to one that uses it."""
    return bool(_STACK.match(name))


def of_stack(name: str) -> bool:
    """Whether the module comes with the stack on disk: a driver of another vendor may not."""
    return in_stack(name) and name not in _DRIVERS


def consumers(paths: t.Mapping[str, str], needs: t.Mapping[str, t.Sequence[str]]) -> tuple[str, ...]:
    """The third-party modules on disk that depend on the stack. `paths`, `needs`: from modules.dep.

    Modules for GPU memory have a role of their own, which rebuilds them.
    """
    others = (name for name, path in paths.items() if not path.startswith(_OF_KERNEL) and not of_stack(name) and name not in PEERS)
    return tuple(sorted(name for name in others if any(of_stack(need) for need in needs.get(name, ()))))


def parse_proc_modules(text: str) -> tuple[Module, ...]:
    """Parse /proc/modules: name, size, refcount, comma-separated users or `-`; further fields are ignored."""
    found = []
    for line in text.splitlines():
        fields = line.split()
        # A kernel without module unloading prints "-" as the refcount.
        if len(fields) >= 4 and (fields[2] == "-" or decimal(fields[2]) is not None):
            users = tuple(sorted(user for user in fields[3].split(",") if user and user != "-"))
            found.append(Module(fields[0], decimal(fields[2], 0), users))
    return tuple(sorted(found))


def related(modules: t.Sequence[Module]) -> tuple[Module, ...]:
    """The modules of the stack, and all modules that use it."""
    by_name = {module.name: module for module in modules}
    users: set[str] = set()
    todo = ["ib_core"]
    while todo:
        name = todo.pop()
        if name in by_name and name not in users:
            users.add(name)
            todo += by_name[name].used_by
    return tuple(module for module in modules if module.name in users or in_stack(module.name) or module.name in PEERS)


def read_loaded(root: str = "/") -> tuple[Module, ...]:
    """The loaded RDMA-related modules, without what is on disk."""
    modules = related(parse_proc_modules(attribute(root, "proc/modules")))
    return tuple(module._replace(srcversion_loaded=attribute(root, "sys/module", module.name, "srcversion")) for module in modules)


def with_disk(modules: t.Sequence[Module], run: Runner, root: str = "/") -> tuple[Module, ...]:
    """The modules with the srcversion of the files of those in CHECKED, from one process."""
    # Without its directory in sysfs nothing is known about a loaded module, not even whether it has a srcversion.
    names = [module.name for module in modules if module.name in CHECKED and os.path.isdir(os.path.join(root, "sys/module", module.name))]
    if not names or not run.has("modinfo"):
        return tuple(modules)
    # Exit status 1 means that one of them has no file; the others are printed nevertheless.
    blocks = parse_modinfo(run(["modinfo", *names], ok=(0, 1), timeout=20).stdout)
    disk = {name: fields.get("srcversion", "") for name, fields in blocks.items()}
    return tuple(
        module._replace(srcversion_disk=disk[module.name], differs=disk[module.name] != module.srcversion_loaded) if module.name in disk else module
        for module in modules
    )
