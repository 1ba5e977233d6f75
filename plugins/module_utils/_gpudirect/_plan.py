# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes from a node and a method, including the files for nvidia_peermem: a systemd unit and a module option. Pure.

modules-load.d would load it before openibd has replaced the modules of the initramfs, and then it would hold ib_core and block
openibd. A unit can be ordered after openibd and bound to it: systemd stops it before openibd stops, and starts it after
openibd has restarted. modprobe first loads its dependencies, NVIDIA's driver and ib_core.
"""

from __future__ import annotations

import typing as t

from .._facts._gpu import OPTIONS_PATH, STAMP_PATH, UNIT, UNIT_PATH, Gpu
from .._foreign import release
from .._host._files import HEADER, file_change
from .._host._units import STATE, switch
from .._plan import Change, Kind, Pending, Plan, changes_of
from . import _legacy as legacy
from ._found import LEGACY, PEERMEM, Found
from ._input import COMMIT
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from ._method import Method

LOADED, UNLOADED = "loaded", "not loaded"
INSTALLED, ABSENT = "installed", "not installed"
ACTIVE = "active"
SUPPORT = "peerdirect_support"
GPU_DRIVER = "gpu_driver"
"""An aspect of a kernel."""
_SOURCE_1_2_SINCE = (5, 1)
# `file` is the name of the module for modprobe.
UNIT_TEXT = (
    HEADER
    + """\
[Unit]
Description=GPU memory for RDMA adapters (nvidia_peermem)
After=systemd-modules-load.service openibd.service
PartOf=openibd.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/env modprobe {file}
ExecStop=/usr/bin/env sh -c 'test ! -d /sys/module/nvidia_peermem || exec rmmod nvidia_peermem'

[Install]
WantedBy=multi-user.target openibd.service
"""
)


def options_text(file: str, support: str) -> str:
    """The file in modprobe.d; "" where the module's own default is wanted."""
    return HEADER + "options %s peerdirect_support=%s\n" % (file, support) if support else ""


def support_of(declared: str, ofed_version: str) -> str:
    """The value for the parameter; "" leaves it to the module. MLNX_OFED 4.9 and earlier support only the legacy interface."""
    if declared != "auto":
        return declared
    return "1" if ofed_version.partition(".")[0] in ("2", "3", "4") else ""


def _module(name: str, *, load: bool, needs: str = "") -> Change:
    return Change(Kind.MODULE, name, "", UNLOADED if load else LOADED, LOADED if load else UNLOADED, needs)


def _off_peermem(found: Found) -> list[Change | None]:
    """Remove nvidia_peermem, as far as it is ours. A module in use stays loaded until the next boot."""
    peer = found.gpu.peer(PEERMEM)
    options = file_change(OPTIONS_PATH, found.text(OPTIONS_PATH), "")
    if not found.text(UNIT_PATH):
        return [options]
    return [
        _module(PEERMEM, load=False) if peer.loaded and not peer.users else None,
        switch(UNIT, found.unit.enabled == "enabled", False),
        file_change(UNIT_PATH, found.text(UNIT_PATH), ""),
        options,
    ]


def _off_legacy(found: Found) -> list[Change | None]:
    if not found.text(STAMP_PATH):
        return []
    # If the package was removed by hand, its module may still be loaded.
    left = not found.packages and found.gpu.peer(LEGACY).loaded
    return [
        Change(Kind.PACKAGE, LEGACY, "", INSTALLED, ABSENT) if found.packages else None,
        _module(LEGACY, load=False) if left else None,
        file_change(STAMP_PATH, found.text(STAMP_PATH), ""),
    ]


def _other_support(found: Found, wanted: Wanted) -> Change | None:
    """The change of the loaded module's parameter, where it has another value."""
    peer, support = found.gpu.peer(PEERMEM), support_of(wanted.support, found.ofed_version)
    if not support or not peer.loaded or peer.peerdirect_support in ("", support):
        return None
    return Change(Kind.PARAMETER, PEERMEM, SUPPORT, peer.peerdirect_support, support)


def _peermem(found: Found, wanted: Wanted, method: Method) -> list[Change | None]:
    peer = found.gpu.peer(PEERMEM)
    before, after = (ABSENT, "built on the stack") if found.gpu.driver.unbuilt else ("not built on the stack", "built on it")
    # The name that the module will have after a build, except on Debian.
    file = peer.file or PEERMEM
    return [
        Change(Kind.KERNEL, found.kernel, GPU_DRIVER, before, after) if method.rebuild else None,
        file_change(OPTIONS_PATH, found.text(OPTIONS_PATH), options_text(file, support_of(wanted.support, found.ofed_version))),
        None if peer.users else _other_support(found, wanted),
        _module(PEERMEM, load=True) if not peer.loaded and not found.waits else None,
        file_change(UNIT_PATH, found.text(UNIT_PATH), UNIT_TEXT.format(file=file)),
        switch(UNIT, found.unit.enabled == "enabled", True),
        Change(Kind.UNIT, UNIT, STATE, found.unit.active, ACTIVE) if not found.waits else None,
    ]


def wanted_stamp(found: Found, wanted: Wanted) -> legacy.Stamp:
    """What the package is to be built from, and for which system."""
    return legacy.Stamp(wanted.source.identity, found.kernel, found.ofed_version, found.gpu.driver.version)


def _nv_peer_mem(found: Found, wanted: Wanted) -> list[Change | None]:
    peer = found.gpu.peer(LEGACY)
    stamp = wanted_stamp(found, wanted)
    why = legacy.why_build(legacy.parse_stamp(found.text(STAMP_PATH)), stamp, bool(peer.file) and peer.linked, other_build=peer.other_build)
    after = "built from %s for kernel %s" % (stamp.source[:19], stamp.kernel)
    if found.missing_tools:
        after += ", for which %s are installed" % ", ".join(found.missing_tools)
    return [
        Change(Kind.PACKAGE, LEGACY, "", why, after) if why else None,
        # Only a build is recorded: what an earlier release did not record can't be determined now.
        file_change(STAMP_PATH, found.text(STAMP_PATH), legacy.stamp_text(stamp)) if why else None,
        switch(LEGACY, found.service_enabled, True),
        _module(LEGACY, load=True) if not peer.loaded and not found.waits else None,
    ]


def plan(found: Found, wanted: Wanted, method: Method) -> Plan:
    """The changes for a method, in order; what another method has left is removed first. Without a method, everything of ours is removed."""
    if method.name == PEERMEM:
        return Plan(changes_of(*_off_legacy(found), *_peermem(found, wanted, method)))
    if method.name == LEGACY:
        # Scripts of the package load the module. On a stack that is not loaded yet this fails, and leaves the package half installed.
        return Plan(changes_of(*_off_peermem(found), *([] if found.waits else _nv_peer_mem(found, wanted))))
    return Plan(changes_of(*_off_peermem(found), *_off_legacy(found)))


def pending(found: Found, wanted: Wanted, method: Method) -> tuple[Pending, ...]:
    """Changes that take effect only later."""
    peer = found.gpu.peer(PEERMEM)
    entries = []
    if method.name in (PEERMEM, LEGACY) and not found.gpu.peer(method.name).loaded and found.waits:
        entries.append(Pending(_module(method.name, load=True, needs="driver_reload")))
    used: Change | None = None
    if method.name == PEERMEM:
        used = _other_support(found, wanted)
    elif found.text(UNIT_PATH) and peer.loaded:
        used = _module(PEERMEM, load=False)
    if used is not None and peer.users:
        entries.append(Pending(used._replace(needs="reboot"), ("in use by %d registrations" % peer.users,)))
    return tuple(entries)


def unloads_legacy(todo: Plan) -> bool:
    """Whether the plan unloads nv_peer_mem, on its own or with its package."""
    return any(change.subject == LEGACY and change.after in (UNLOADED, ABSENT) for change in todo.changes)


def builds(todo: Plan) -> bool:
    """Whether a package is built, which requires the source."""
    return any(change.after != ABSENT for change in todo.about(Kind.PACKAGE))


def makes(todo: Plan) -> bool:
    """Whether anything is built."""
    return builds(todo) or bool(todo.about(Kind.KERNEL))


def old_commit(found: Found, wanted: Wanted, todo: Plan) -> list[str]:
    """A hint that the source is older than the stack requires."""
    if release(found.ofed_version) < _SOURCE_1_2_SINCE or wanted.source.identity != COMMIT or not builds(todo):
        return []
    words = "gpudirect_commit is that of version 1.0-8, the last one known to work with MLNX_OFED 4.9, and this node has %s, which needs 1.2 or later"
    return [words % found.ofed_version]


def hints(gpu: Gpu) -> list[str]:
    """What slows down traffic between GPUs and adapters."""
    found = []
    for device in gpu.devices:
        paths = [path for path in gpu.topology if path.gpu == device.pci]
        if paths and all(path.path == "SYS" for path in paths):
            found.append("GPU %s has no RDMA adapter at its own NUMA node: its traffic goes between processors" % device.pci)
        for path in paths:
            if path.acs and path.path in ("PIX", "PXB"):
                words = "GPU %s and %s are below one switch, and access control (ACS) of %s sends what goes between them up to the processor"
                found.append(words % (device.pci, path.hca, ", ".join(path.acs)))
    return found
