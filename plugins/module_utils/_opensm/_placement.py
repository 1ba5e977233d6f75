# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which host runs the subnet manager of a fabric. Pure, and from inventory alone.

The answer must be the same on every host, in every run: under --limit, with serial, with the free strategy and in
ansible-pull. So it depends on groups and host variables, never on the hosts of a play or on facts.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem

GROUP = "opensm"
ALL = "rdma"
DEFAULT_FABRIC = "ib"


class Member(t.NamedTuple):
    """A host that may run the subnet manager of its fabric."""

    host: str
    fabric: str
    rank: int | None = None
    """Lower is better; hosts without one come after those with, in the order of the group."""


def designate(members: t.Sequence[Member]) -> dict[str, str]:
    """The designated host of each fabric: the lowest rank, else the first of the group. C(conflicts) tells about ties."""
    best: dict[str, Member] = {}
    for member in members:
        held = best.get(member.fabric)
        if held is None or (member.rank is not None and (held.rank is None or member.rank < held.rank)):
            best[member.fabric] = member
    return {fabric: member.host for fabric, member in best.items()}


def conflicts(members: t.Sequence[Member]) -> list[Problem]:
    """Fabrics with two designated hosts: several share the lowest rank."""
    lowest: dict[str, int] = {}
    for member in members:
        if member.rank is not None:
            lowest[member.fabric] = min(member.rank, lowest.get(member.fabric, member.rank))
    tied: dict[str, list[str]] = {}
    for member in members:
        if member.rank is not None and member.rank == lowest[member.fabric]:
            tied.setdefault(member.fabric, []).append(member.host)
    return [
        Problem(
            "opensm_rank of %s" % ", ".join(hosts),
            lowest[fabric],
            "a different rank for each host",
            "the lowest rank designates the subnet manager of fabric %s, and a fabric has exactly one" % fabric,
        )
        for fabric, hosts in sorted(tied.items())
        if len(hosts) > 1
    ]


def uncovered(members: t.Sequence[Member], fabrics: t.Mapping[str, str]) -> list[Problem]:
    """Fabrics that have hosts, but no host that may run their subnet manager. C(fabrics): fabric of each host."""
    covered = {member.fabric for member in members}
    if not members:
        return [
            Problem(
                "group %s" % GROUP,
                [],
                "at least one host of each fabric",
                "ports of a fabric without a subnet manager never become ACTIVE: put a host into the group",
            )
        ]
    missing: dict[str, str] = {}
    for host, fabric in fabrics.items():
        if fabric not in covered:
            missing.setdefault(fabric, host)
    return [
        Problem(
            "group %s" % GROUP,
            sorted(member.host for member in members),
            "at least one host of fabric %s, too" % fabric,
            "%s is on that fabric, which has no subnet manager" % host,
        )
        for fabric, host in sorted(missing.items())
    ]


def outsiders(members: t.Sequence[Member], hosts: t.Collection[str], group: str = ALL) -> list[Problem]:
    """Designated hosts that are none of C(hosts), those of C(group): all others would rest, and no play would start theirs."""
    names = frozenset(hosts)
    return [
        Problem(
            "group %s" % GROUP,
            host,
            "hosts of group %s" % group,
            "%s is designated for fabric %s, and would never be configured: put it into group %s, too" % (host, fabric, group),
        )
        for fabric, host in sorted(designate(members).items())
        if host not in names
    ]


def read_int(value: t.Any) -> int | None:
    """A whole number of 0 or more as YAML, INI and the command line give it; None where it is something else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return None


def read_members(
    groups: t.Mapping[str, t.Sequence[str]], hostvars: t.Mapping[str, t.Mapping[str, t.Any]], spoken: t.Collection[str] = ()
) -> tuple[list[Member], list[Problem]]:
    """The hosts of group C(opensm), and what is wrong with their variables, except for the C(spoken): those say it themselves.

    Only this group, and only these hosts' variables, are looked at: this runs for every host of a play, and the names
    alone of 10,000 hosts take 60 ms in a template of ansible-core 2.19.
    """
    members: list[Member] = []
    problems: list[Problem] = []
    for host in groups.get(GROUP, ()):
        variables = hostvars[host]
        fabric = variables.get("fabric", DEFAULT_FABRIC)
        rank = variables.get("opensm_rank")
        number = None if rank is None else read_int(rank)
        wrong = []
        if not isinstance(fabric, str) or not fabric:
            wrong.append(Problem("fabric of %s" % host, fabric, "the name of a fabric"))
        if rank is not None and number is None:
            wrong.append(Problem("opensm_rank of %s" % host, rank, "a whole number of 0 or more"))
        if wrong:
            problems.extend(wrong if host not in spoken else [])
            continue
        # A plain str: tagged strings of ansible-core must not leak into a result that is compared and printed.
        members.append(Member(str(host), str(fabric), number))
    return members, problems


__all__ = ("ALL", "DEFAULT_FABRIC", "GROUP", "Member", "conflicts", "designate", "outsiders", "read_int", "read_members", "uncovered")
