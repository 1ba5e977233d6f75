# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""From what a node is and what is wanted to the ordered list of changes. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER, file_change
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _ifupdown, _networkd, _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFUPDOWN, NETWORKD
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Backend, Record, Target
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan, changes_of

BACKENDS: dict[str, Backend] = {NETWORKD: t.cast(Backend, _networkd), IFUPDOWN: t.cast(Backend, _ifupdown)}

# How a netdev looks that ib_ipoib has not made yet.
UNBORN = Netdev("", "ipoib", mode=_wanted.KERNEL_MODE, mtu=_wanted.KERNEL_MTU)


class Node(t.NamedTuple):
    """What was found on a node."""

    netdevs: t.Mapping[str, Netdev]
    files: t.Mapping[str, str]
    """By path: what the network stacks read, and the files of C(_boot)."""
    boot_unit: Unit = Unit(_boot.UNIT)
    ssh_path: frozenset[str] = frozenset()
    """The interfaces that the connection of this run goes through."""
    stacks: frozenset[str] = frozenset()
    """The network stacks that are in use."""


class Decision(t.NamedTuple):
    """What to do and what to say."""

    plan: Plan
    targets: tuple[Target, ...]
    removed: tuple[Record, ...]
    """Interfaces of an earlier run that are not wanted any more, children first."""
    reasons: tuple[str, ...]


def decide(node: Node, targets: t.Sequence[Target], backend: str) -> Decision:
    """Compare. C(targets) are parents before children. Raises Refused for what would harm, before anything is done."""
    records = recorded(node.files)
    wanted = {target.name for target in targets}
    gone = [record for name, record in records.items() if name not in wanted]
    removed = tuple(sorted(gone, key=lambda record: (not _is_child(node, record.name), record.name)))
    _refuse_foreign(node, targets, backend)
    reasons: list[str] = []
    changes = [*_removals(node, removed), *file_changes(node, targets, backend), *_unit_changes(node, targets, backend)]
    for target in targets:
        netdev = node.netdevs.get(target.name)
        if netdev is None and target.is_child:
            changes.append(Change("%s device" % target.name, "", _child_text(target.parent, target.pkey)))
        changes.extend(link_changes(target, netdev or UNBORN, records.get(target.name)))
        clamp = clamped(target, netdev or UNBORN, records.get(target.name))
        if clamp:
            reasons.append(clamp)
    _refuse_cutting(node, targets, removed)
    return Decision(Plan(tuple(changes)), tuple(targets), removed, tuple(reasons))


def recorded(files: t.Mapping[str, str]) -> dict[str, Record]:
    """What earlier runs did, on whatever network stack."""
    found: dict[str, Record] = {}
    for backend in BACKENDS.values():
        found.update(backend.records(files))
    for name, mtu in _boot.recorded_mtus(files).items():
        found[name] = found.get(name, Record(name))._replace(mtu=mtu)
    return found


def wanted_files(node: Node, targets: t.Sequence[Target], backend: str) -> dict[str, str]:
    """Every file that shall exist, by path, and C(/etc/network/interfaces) as it shall be."""
    files = BACKENDS[backend].render(targets)
    main = node.files.get(_ifupdown.MAIN, "")
    sourced = _ifupdown.sourced(main, [path for path in files if path.startswith(_ifupdown.DIRECTORY + "/")])
    if main or sourced:
        files[_ifupdown.MAIN] = sourced
    if backend == NETWORKD:
        files.update(_boot.render(targets))
    return files


def file_changes(node: Node, targets: t.Sequence[Target], backend: str) -> tuple[Change, ...]:
    """Files to write, then files of earlier runs, on whatever network stack, that are in the way."""
    wanted = wanted_files(node, targets, backend)
    stale = [path for path, text in sorted(node.files.items()) if path not in wanted and _is_ours(path, text)]
    return changes_of(
        *(file_change(path, node.files.get(path, ""), text) for path, text in sorted(wanted.items())),
        *(file_change(path, node.files[path], "") for path in stale),
    )


def link_changes(target: Target, netdev: Netdev, record: Record | None) -> tuple[Change, ...]:
    """What differs between an interface and its target, in the order in which it is to be done."""
    mode = Change("%s mode" % target.name, netdev.mode, target.mode) if netdev.mode else None
    mtu = None
    if target.mtu and not clamped(target, netdev, record):
        mtu = Change("%s mtu" % target.name, str(netdev.mtu), str(target.mtu))
    addresses = Change("%s addresses" % target.name, ", ".join(canonical(netdev.addresses)), ", ".join(canonical(target.addresses)))
    link = Change("%s link" % target.name, "up" if netdev.up else "down", "up")
    return changes_of(mode, mtu, addresses, link)


def clamped(target: Target, netdev: Netdev, record: Record | None) -> str:
    """Why the datagram MTU can't be what was asked for; "" where nothing is known to be in the way.

    The kernel takes a larger MTU than the broadcast group's without an error and stays at the group's. So an MTU that
    an earlier run has asked for, with an interface that is at one of the values a group can have, is as it should be.
    """
    if not target.mtu or target.mode != "datagram" or netdev.mode == "connected" or record is None or record.mtu != target.mtu:
        return ""
    if netdev.mtu not in _wanted.GROUP_MTUS or netdev.mtu >= target.mtu:
        return ""
    return "%s: MTU %d is asked for, and the kernel keeps it at %d, the broadcast group's; the subnet manager's partition must offer %s" % (
        target.name,
        target.mtu,
        netdev.mtu,
        "mtu=5 (4096 bytes)" if target.mtu > _wanted.KERNEL_MTU else "at least mtu=4 (2048 bytes)",
    )


def canonical(addresses: t.Iterable[str]) -> tuple[str, ...]:
    """Addresses in one spelling and order, so that they can be compared."""
    return tuple(sorted(_wanted.parse_address(address) for address in addresses))


def reset_mtu(record: Record, netdev: Netdev) -> bool:
    """Does taking our settings off an interface that stays leave an MTU that is not the kernel's own?"""
    return netdev.mode != "connected" and bool(record.mtu) and netdev.mtu != _wanted.KERNEL_MTU


def _removals(node: Node, removed: t.Sequence[Record]) -> tuple[Change, ...]:
    """Take off what was ours: children go, parents return to how the kernel makes them."""
    found: list[Change | None] = []
    for record in removed:
        netdev = node.netdevs.get(record.name)
        if netdev is None:
            continue
        if netdev.parent:
            found.append(Change("%s device" % record.name, _child_text(netdev.parent, int(netdev.pkey or "0", 16)), ""))
            continue
        stay = [address for address in canonical(netdev.addresses) if address not in canonical(record.addresses)]
        found.append(Change("%s addresses" % record.name, ", ".join(canonical(netdev.addresses)), ", ".join(stay)))
        if netdev.mode == "connected":
            found.append(Change("%s mode" % record.name, netdev.mode, _wanted.KERNEL_MODE))
            found.append(Change("%s mtu" % record.name, str(netdev.mtu), str(_wanted.KERNEL_MTU)))
        elif reset_mtu(record, netdev):
            found.append(Change("%s mtu" % record.name, str(netdev.mtu), str(_wanted.KERNEL_MTU)))
        if not stay:
            found.append(Change("%s link" % record.name, "up" if netdev.up else "down", "down"))
    return changes_of(*found)


def _unit_changes(node: Node, targets: t.Sequence[Target], backend: str) -> tuple[Change, ...]:
    wanted = backend == NETWORKD and bool(_boot.connected_parents(targets))
    enabled = node.boot_unit.enabled == "enabled"
    return changes_of(Change("service %s enabled" % _boot.UNIT, "yes" if enabled else "no", "yes" if wanted else "no"))


def _child_text(parent: str, pkey: int) -> str:
    return "P_Key child 0x%04x of %s" % (pkey, parent)


def _is_child(node: Node, name: str) -> bool:
    netdev = node.netdevs.get(name)
    return bool(netdev.parent) if netdev is not None else "." in name


def _is_ours(path: str, text: str) -> bool:
    return any((_networkd.is_ours(path, text), _ifupdown.is_ours(path, text), path in _boot.PATHS and HEADER in text))


def _refuse_foreign(node: Node, targets: t.Sequence[Target], backend: str) -> None:
    """Files of others that configure a wanted interface, or lie where ours shall be."""
    found = []
    for stack in sorted(name for name in BACKENDS if name == backend or name in node.stacks):
        found += ["%s configures %s" % (path, target.name) for target in targets for path in BACKENDS[stack].conflicts(target.name, node.files)]
    for path in sorted(wanted_files(node, targets, backend)):
        text = node.files.get(path, "")
        if text and path != _ifupdown.MAIN and not _is_ours(path, text):
            found.append("%s exists and is not of this collection" % path)
    if found:
        raise Refused("%s; take the interface out of the file, or remove the file, or do not declare the interface" % "; ".join(found), conflicts=found)


def _refuse_cutting(node: Node, targets: t.Sequence[Target], removed: t.Sequence[Record]) -> None:
    """Changes that would cut the connection that this run comes through."""
    found = ["%s would be taken down" % record.name for record in removed if record.name in node.ssh_path]
    for target in targets:
        netdev = node.netdevs.get(target.name)
        if netdev is None or target.name not in node.ssh_path:
            continue
        if netdev.mode and netdev.mode != target.mode:
            found.append("%s would change its mode from %s to %s" % (target.name, netdev.mode, target.mode))
        gone = [address for address in canonical(netdev.addresses) if address not in canonical(target.addresses)]
        if gone:
            found.append("%s would lose %s" % (target.name, ", ".join(gone)))
    if found:
        raise Refused("the connection of this run goes through an interface that would be disturbed: %s; run over another path" % "; ".join(found))


__all__ = ("BACKENDS", "Decision", "Node", "canonical", "clamped", "decide", "file_changes", "link_changes", "recorded", "reset_mtu", "wanted_files")
