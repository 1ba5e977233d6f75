# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""From what a node is and what is wanted to the ordered list of changes. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER, file_change
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _guard, _ifupdown, _rename
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import reasons_of, removal_changes, target_changes
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import Decision, Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import Naming
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import Stack, Variant, every, stack_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan, changes_of


def decide(node: Node, targets: t.Sequence[Target], backend: str, namings: t.Sequence[Naming] = (), rollback: bool = False) -> Decision:
    """Compare. C(targets) are parents before children, ports before bonds.

    Raises Refused for what would harm, before anything is done; with C(rollback), what cuts the connection is only told.
    """
    stack = stack_of(backend, node.variant)
    renames, later, netdevs = _rename.sort_out(namings, node.netdevs, node.ssh_path)
    node = node._replace(netdevs=netdevs)
    deferred = _rename.waiting(later, targets)
    live = [target for target in targets if target.name not in deferred]
    records = recorded(node.files, node.variant)
    wanted = {target.name for target in targets}
    gone = [record for name, record in records.items() if name not in wanted]
    removed = tuple(sorted(gone, key=lambda record: (_rank(node, record.name), record.name)))
    _refuse(node, targets, stack, records, namings)
    changes = [change for record in removed for change in removal_changes(record, node.netdevs.get(record.name))]
    changes += file_changes(node, targets, backend, namings)
    changes += _unit_changes(node, targets, stack)
    changes += [_rename.change_of(naming) for naming in renames]
    ending = {record.name for record in removed}
    for target in live:
        changes += target_changes(target, node, records.get(target.name), ending)
    reasons = [reason for target in live for reason in reasons_of(target, node, records.get(target.name))]
    reasons += [*stack.remarks(targets), *(_rename.reason_of(entry) for entry in later.values())]
    cutting = _guard.cutting(node, live, removed, backend, _touched(changes, live, stack))
    if cutting and not rollback:
        raise Refused(
            "the connection of this run goes through an interface that would be disturbed: %s; run over another path, or set ipoib_rollback_timeout"
            % "; ".join(cutting)
        )
    return Decision(Plan(tuple(changes)), tuple(targets), removed, tuple(reasons), renames, tuple(later.values()), deferred, cutting)


def recorded(files: t.Mapping[str, str], variant: Variant) -> dict[str, Record]:
    """What earlier runs did, on whatever network stack."""
    found: dict[str, Record] = {}
    for stack in every(variant):
        found.update(stack.records(files))
    for name, mtu in _boot.recorded_mtus(files).items():
        found[name] = found.get(name, Record(name))._replace(mtu=mtu)
    return found


def wanted_files(node: Node, targets: t.Sequence[Target], backend: str, namings: t.Sequence[Naming] = ()) -> dict[str, str]:
    """Every file that shall exist, by path, and C(/etc/network/interfaces) as it shall be."""
    stack = stack_of(backend, node.variant)
    files = stack.render(targets)
    main = node.files.get(_ifupdown.MAIN, "")
    sourced = _ifupdown.sourced(main, [path for path in files if path.startswith(_ifupdown.DIRECTORY + "/")])
    if main or sourced:
        files[_ifupdown.MAIN] = sourced
    files.update(_boot.render(stack.boots(targets)))
    files.update(_rename.render(namings))
    return files


def file_changes(node: Node, targets: t.Sequence[Target], backend: str, namings: t.Sequence[Naming] = ()) -> tuple[Change, ...]:
    """Files to write, then files of earlier runs, on whatever network stack, that are in the way."""
    wanted = wanted_files(node, targets, backend, namings)
    stale = [path for path, text in sorted(node.files.items()) if path not in wanted and is_ours(path, text, node.variant)]
    return changes_of(
        *(file_change(path, node.files.get(path, ""), text) for path, text in sorted(wanted.items())),
        *(file_change(path, node.files[path], "") for path in stale),
    )


def is_ours(path: str, text: str, variant: Variant) -> bool:
    if path in (*_boot.PATHS, _rename.RULE_PATH):
        return HEADER in text
    return any(stack.is_ours(path, text) for stack in every(variant))


def _refuse(node: Node, targets: t.Sequence[Target], stack: Stack, records: t.Collection[str], namings: t.Sequence[Naming]) -> None:
    faults = stack.faults(targets)
    if faults:
        raise Refused("%s can't do it: %s; or name another network stack in ipoib_backend" % (stack.name, "; ".join(faults)), problems=list(faults))
    paths = wanted_files(node, targets, stack.name, namings)
    found = _guard.foreign(node, targets, stack, paths, lambda path, text: is_ours(path, text, node.variant))
    if found:
        raise Refused("%s; take the interface out of the file, or remove the file, or do not declare the interface" % "; ".join(found), conflicts=found)
    found = _guard.masters(node, targets, records)
    if found:
        raise Refused("%s; take the interface out of it, or do not declare the interface" % "; ".join(found), conflicts=found)


def _touched(changes: t.Sequence[Change], targets: t.Sequence[Target], stack: Stack) -> frozenset[str]:
    """The interfaces of which anything changes, be it only their files."""
    found = {change.subject for change in changes if change.kind == Kind.INTERFACE}
    written = {change.subject for change in changes if change.kind == Kind.FILE and change.after}
    return frozenset(found | {target.name for target in targets if written.intersection(stack.render([target]))})


def _unit_changes(node: Node, targets: t.Sequence[Target], stack: Stack) -> tuple[Change, ...]:
    wanted = bool(_boot.connected_parents(stack.boots(targets)))
    enabled = node.boot_unit.enabled == "enabled"
    return changes_of(Change(Kind.UNIT, _boot.UNIT, "enabled", _boot.ENABLED if enabled else _boot.DISABLED, _boot.ENABLED if wanted else _boot.DISABLED))


def _rank(node: Node, name: str) -> int:
    """Bonds before their ports, children before their parents."""
    netdev = node.netdevs.get(name)
    if netdev is None:
        return 1 if "." in name else 2
    return 0 if netdev.kind == "bond" else (1 if netdev.parent else 2)
