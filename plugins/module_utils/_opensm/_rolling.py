# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The batches of a rolling run: groups in their order, hosts with a subnet manager last and one at a time. Pure.

The time is linear in the number of hosts. Batches hold only hosts that need work, so a resumed run continues where it stopped.
"""

from __future__ import annotations

import itertools
import typing as t

from .._errors import Problem
from .._foreign import decimal
from ._placement import Groups, Member, elect

STANDBY = "subnet manager, standby"
DESIGNATED = "subnet manager"


class Batch(t.NamedTuple):
    """Hosts that are out of service at the same time."""

    label: str
    """The name of the group, STANDBY or DESIGNATED."""
    hosts: tuple[str, ...]


def sizes(serial: t.Any, count: int) -> list[int]:
    """The size of each batch of `count` hosts. `serial` is as in Ansible: numbers and percentages, of which the last one repeats."""
    steps = list(serial) if isinstance(serial, (list, tuple)) else [serial]
    found: list[int] = []
    left = count
    while left > 0:
        step = str(steps[min(len(found), len(steps) - 1)])
        size = decimal(step[:-1], 0) * count // 100 if step.endswith("%") else decimal(step, 0)
        found.append(max(1, min(size, left)))
        left -= found[-1]
    return found


def managers(members: t.Sequence[Member]) -> tuple[list[str], list[str]]:
    """The hosts that may run a subnet manager: those that are not designated, and those that are."""
    designated = set(elect(members).designated.values())
    # A host on two fabrics is two members.
    hosts = list(dict.fromkeys(member.host for member in members))
    return [host for host in hosts if host not in designated], [host for host in hosts if host in designated]


def _cut(label: str, hosts: t.Sequence[str], serial: t.Any) -> list[Batch]:
    left = iter(hosts)
    return [Batch(label, tuple(itertools.islice(left, size))) for size in sizes(serial, len(hosts))]


def batches(hosts: t.Sequence[str], *, order: t.Sequence[str], groups: Groups, members: t.Sequence[Member], serial: t.Any) -> tuple[Batch, ...]:
    """The batches of `hosts`. `order` names groups: a host belongs to the first group that contains it. Without names, all hosts are one group."""
    standby, designated = managers(members)
    managing = {*standby, *designated}
    left = dict.fromkeys(host for host in hosts if host not in managing)
    due = managing.intersection(hosts)
    last = [Batch(label, (name,)) for label, names in ((STANDBY, standby), (DESIGNATED, designated)) for name in names if name in due]
    found: list[Batch] = []
    for group in order:
        own = [host for host in groups.get(group, ()) if host in left]
        found += _cut(group, own, serial)
        for host in own:
            del left[host]
    if not order:
        found += _cut("all", list(left), serial)
    return (*found, *last)


def problems(order: t.Any, *, groups: Groups, hosts: t.Sequence[str], members: t.Sequence[Member]) -> list[Problem]:
    """Why `order`, the value of `rdma_upgrade_groups`, is no list of groups that together contain every host."""
    name = "rdma_upgrade_groups"
    if not isinstance(order, (list, tuple)) or not all(isinstance(group, str) for group in order):
        return [Problem(name, order, "a list of names of groups")]
    unknown = [group for group in order if group not in groups]
    if unknown:
        known = sorted(group for group in groups if group not in ("all", "ungrouped"))
        return [Problem("%s[%d]" % (name, list(order).index(group)), group, "a group of the inventory: %s" % ", ".join(known)) for group in unknown]
    covered = {host for group in order for host in groups[group]} | {member.host for member in members}
    missing = [host for host in hosts if host not in covered]
    if not order or not missing:
        return []
    text = "%s would be skipped: add its group, or exclude it with --limit" % ", ".join(missing[:5])
    return [Problem(name, list(order), "groups that have all hosts of the run", text)]
