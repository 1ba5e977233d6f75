# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From a node and a decision to the list of changes. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import OPTIONS_PATH, STAMP_PATH, UNIT_PATH, Gpu
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy as legacy
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._input import COMMIT
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import LEGACY, PEERMEM
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._unit import UNIT, options_text, support_of, unit_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan, changes_of, untyped
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import release

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import Verdict

DRIVER = "GPU driver "
MODULE = "module "
PARAMETER = MODULE + PEERMEM + " peerdirect_support"
SERVICE = "service "
PACKAGE = "package nv_peer_mem"
_SOURCE_1_2_SINCE = (5, 1)


class Wish(t.NamedTuple):
    """The options."""

    support: str = "auto"
    source: legacy.Source = legacy.Source("")


class Found(t.NamedTuple):
    """The node."""

    gpu: Gpu = Gpu()
    kernel: str = ""
    stack: str = "inbox"
    ofed_version: str = ""
    adapters: tuple[str, ...] = ()
    """Kernel drivers of the adapters."""
    family: str = FAMILIES[0].name
    files: t.Mapping[str, str] = {}
    """The content of our files, by path."""
    unit: Unit = Unit(UNIT)
    service: Unit = Unit(legacy.SERVICE + ".service")
    service_enabled: bool = False
    """Is nv_peer_mem started at boot? An init script, so links tell."""
    systemd: bool = True
    enclosed: str = ""
    """C(container) or C(chroot), where it is one."""
    shows_clients: bool = False
    """Does the release of the loaded stack show who has registered with it?"""
    missing_tools: tuple[str, ...] = ()
    """The packages that building nv_peer_mem takes and that are not there."""
    packages: tuple[str, ...] = ()
    """Those of nv_peer_mem that are installed, where they are ours."""

    def text(self, path: str) -> str:
        return self.files.get(path, "")


def waits(found: Found) -> bool:
    """Is the loaded stack one without peer memory, while that on disk has it?"""
    memory = found.gpu.peer_memory
    return memory.core and not memory.loaded


def _off_peermem(found: Found) -> list[Change | None]:
    """What takes nvidia_peermem away, as far as it is ours. One in use stays loaded, and is not loaded again."""
    peer = found.gpu.peer(PEERMEM)
    if not found.text(UNIT_PATH):
        return [file_change(OPTIONS_PATH, found.text(OPTIONS_PATH), "")]
    return [
        untyped(MODULE + PEERMEM, "loaded", "not loaded") if peer.loaded and not peer.users else None,
        untyped(SERVICE + UNIT + " enabled", "yes", "no") if found.unit.enabled == "enabled" else None,
        file_change(UNIT_PATH, found.text(UNIT_PATH), ""),
        file_change(OPTIONS_PATH, found.text(OPTIONS_PATH), ""),
    ]


def _off_legacy(found: Found) -> list[Change | None]:
    if not found.text(STAMP_PATH):
        return []
    # Somebody may have removed the package, which leaves a loaded module.
    left = not found.packages and found.gpu.peer(LEGACY).loaded
    return [
        untyped(PACKAGE, "installed", "not installed") if found.packages else None,
        untyped(MODULE + LEGACY, "loaded", "not loaded") if left else None,
        file_change(STAMP_PATH, found.text(STAMP_PATH), ""),
    ]


def _peermem(found: Found, wish: Wish, verdict: Verdict) -> list[Change | None]:
    peer = found.gpu.peer(PEERMEM)
    support = support_of(wish.support, found.ofed_version)
    differs = bool(support) and peer.loaded and peer.peerdirect_support not in ("", support)
    loads = not peer.loaded and not waits(found)
    before, after = ("not installed", "built on the stack") if found.gpu.driver.unbuilt else ("not built on the stack", "built on it")
    what = "%s%s for kernel %s" % (DRIVER, found.gpu.driver.dkms, found.kernel)
    # Where it is to be built first, this is its name but on Debian.
    file = peer.file or PEERMEM
    return [
        untyped(what, before, after) if verdict.rebuild else None,
        file_change(OPTIONS_PATH, found.text(OPTIONS_PATH), options_text(file, support)),
        untyped(PARAMETER, peer.peerdirect_support, support) if differs and not peer.users else None,
        untyped(MODULE + PEERMEM, "not loaded", "loaded") if loads else None,
        file_change(UNIT_PATH, found.text(UNIT_PATH), unit_text(file)),
        untyped(SERVICE + UNIT + " enabled", "yes" if found.unit.enabled == "enabled" else "no", "yes"),
        untyped(SERVICE + UNIT, found.unit.active, "active") if not waits(found) else None,
    ]


def wanted_stamp(found: Found, wish: Wish) -> legacy.Stamp:
    """What the package is to be built from, and for."""
    return legacy.Stamp(wish.source.identity, found.kernel, found.ofed_version, found.gpu.driver.version)


def _nv_peer_mem(found: Found, wish: Wish) -> list[Change | None]:
    peer = found.gpu.peer(LEGACY)
    wanted = wanted_stamp(found, wish)
    why = legacy.why_build(legacy.parse_stamp(found.text(STAMP_PATH)), wanted, bool(peer.file) and peer.linked, peer.other_build)
    after = "built from %s for kernel %s" % (wanted.source[:19], wanted.kernel)
    if found.missing_tools:
        after += ", for which %s are installed" % ", ".join(found.missing_tools)
    return [
        untyped(PACKAGE, why, after) if why else None,
        # What was built is remembered; what an earlier release did not remember of it can't be known now.
        file_change(STAMP_PATH, found.text(STAMP_PATH), legacy.stamp_text(wanted)) if why else None,
        untyped(SERVICE + legacy.SERVICE + " enabled", "yes" if found.service_enabled else "no", "yes"),
        untyped(MODULE + LEGACY, "not loaded", "loaded") if not peer.loaded and not waits(found) else None,
    ]


def plan(found: Found, wish: Wish, verdict: Verdict) -> Plan:
    """The changes for a method, in order; what another method has left goes first. Without one, all of ours goes."""
    if verdict.method == PEERMEM:
        return Plan(changes_of(*_off_legacy(found), *_peermem(found, wish, verdict)))
    if verdict.method == LEGACY:
        # Scripts of the package load the module, which fails on a stack that waits, and then the package is half installed.
        return Plan(changes_of(*_off_peermem(found), *([] if waits(found) else _nv_peer_mem(found, wish))))
    return Plan(changes_of(*_off_peermem(found), *_off_legacy(found)))


def waiting(found: Found, wish: Wish, verdict: Verdict) -> list[str]:
    """What becomes effective only later, in words."""
    lines = []
    name = verdict.method if verdict.method in (PEERMEM, LEGACY) else ""
    if name and not found.gpu.peer(name).loaded and waits(found):
        lines.append("module %s: not loaded -> loaded (needs driver_reload)" % name)
    peer = found.gpu.peer(PEERMEM)
    support = support_of(wish.support, found.ofed_version)
    later = "needs reboot; in use by %d registrations" % peer.users
    if name == PEERMEM and support and peer.users and peer.peerdirect_support not in ("", support):
        lines.append("%s: %s -> %s (%s)" % (PARAMETER, peer.peerdirect_support, support, later))
    if name != PEERMEM and found.text(UNIT_PATH) and peer.loaded and peer.users:
        lines.append("%s%s: loaded -> not loaded (%s)" % (MODULE, PEERMEM, later))
    return lines


def unloads(todo: Plan, module: str) -> bool:
    """Does the plan take the module out of the kernel, by itself or with its package?"""
    goes = [change.what for change in todo.changes if change.after in ("not loaded", "not installed")]
    return MODULE + module in goes or (module == LEGACY and PACKAGE in goes)


def old_commit(found: Found, wish: Wish, todo: Plan) -> list[str]:
    """That the source to be built is from before what the stack wants."""
    if release(found.ofed_version) < _SOURCE_1_2_SINCE or wish.source.identity != COMMIT or not builds(todo):
        return []
    words = "gpudirect_commit is that of version 1.0-8, the last one known for MLNX_OFED 4.9, and this node has %s, for which 1.2 and later are made"
    return [words % found.ofed_version]


def builds(todo: Plan) -> bool:
    """Is a package built? That is what takes the source."""
    return any(change.what == PACKAGE and change.after != "not installed" for change in todo.changes)


def hints(gpu: Gpu) -> list[str]:
    """What slows the way between GPUs and adapters down."""
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
