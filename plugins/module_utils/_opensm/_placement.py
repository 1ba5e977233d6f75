# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Elect the host that runs the subnet manager of a fabric, and tell the part of each host. Pure, and from the inventory alone.

The answer must be the same on every host and in every run: under --limit, with serial, with the free strategy and in
ansible-pull. Therefore it depends on groups and host variables, never on the hosts of a play or on facts.
"""

from __future__ import annotations

import typing as t
from types import MappingProxyType

from .._codes import read_int
from .._errors import Problem, require_none
from .._foreign import is_true
from ._fabrics import Settings, fabric_problems, fabrics_of, settings_of

GROUP = "opensm"
ALL = "rdma"


MASTER, STANDBY, RESTING = "master", "standby", "resting"
ROLES = (MASTER, STANDBY)
_RANK = "a whole number of 0 or more"

Groups = t.Mapping[str, t.Sequence[str]]
Hostvars = t.Mapping[str, t.Mapping[str, t.Any]]


class Member(t.NamedTuple):
    """A host that may run the subnet manager of a fabric. A host on two fabrics is two members."""

    host: str
    fabric: str
    rank: int | None = None
    """Lower is better. Hosts without a rank follow those with one, in the order of the group."""
    standby: bool = False
    """Whether it runs a standby where it is not designated."""
    settings: Settings = Settings()


def lines_of(members: t.Iterable[Member]) -> dict[str, list[Member]]:
    """The members of each fabric by rank: the designated host, then those that take over."""
    lines: dict[str, list[Member]] = {}
    for member in members:
        lines.setdefault(member.fabric, []).append(member)
    for line in lines.values():
        line.sort(key=lambda member: (member.rank is None, member.rank or 0))
    return lines


def priority_at(settings: Settings, position: int) -> int:
    """The priority in the election at that position in the line. Priorities differ, because the GUID would break a tie."""
    return settings.priority - position


class Election(t.NamedTuple):
    """Who manages the fabrics of a site. Hosts that rest are left out, so the size does not depend on that of the group."""

    positions: t.Mapping[str, t.Mapping[str, int]] = MappingProxyType({})
    """By fabric, the positions of its designated host, which has 0, and of its standbys."""
    sound: bool = True
    """Whether the variables of all members are valid and no fabric has two designated hosts."""

    @property
    def fabrics(self) -> list[str]:
        """The fabrics with a designated host."""
        return sorted(self.positions)

    @property
    def designated(self) -> dict[str, str]:
        """The designated host of each fabric."""
        return {fabric: next(iter(positions)) for fabric, positions in self.positions.items()}


def elect(members: t.Iterable[Member]) -> Election:
    """Elect the managers of all fabrics that have `members`: the lowest rank, else the first host of the group. `conflicts` reports ties."""
    lines = lines_of(members)
    return Election(
        {fabric: {member.host: position for position, member in enumerate(line) if position == 0 or member.standby} for fabric, line in lines.items()}
    )


def conflicts(members: t.Sequence[Member]) -> list[Problem]:
    """Problems of fabrics with two designated hosts, because several share the lowest rank, and of standbys that could never take over."""
    found = []
    for fabric, line in sorted(lines_of(members).items()):
        lowest = line[0].rank
        tied = [member.host for member in line if lowest is not None and member.rank == lowest]
        if len(tied) > 1:
            hint = "the lowest rank designates the subnet manager of fabric %s, and a fabric has exactly one" % fabric
            found.append(Problem("opensm_rank of %s" % ", ".join(tied), lowest, "a different rank for each host", hint))
        found += _rivals(line)
    return found


def _rivals(line: t.Sequence[Member]) -> list[Problem]:
    """Standbys that would outrank a member before them, or would split the subnet."""
    first, found = line[0], []
    least = priority_at(first.settings, 0)
    for position, member in enumerate(line[1:], 1):
        if not member.standby:
            continue
        own, declared = priority_at(member.settings, position), "opensm_priority of %s" % member.host
        if own < 0:
            allowed = "a priority of %d or more, or fewer hosts in group %s" % (position, GROUP)
            found.append(Problem(declared, member.settings.priority, allowed, "each standby has one less than the host before it"))
        elif own >= least:
            hint = "as standby number %d of fabric %s, it would take precedence over a host before it" % (position, member.fabric)
            found.append(Problem(declared, member.settings.priority, "that of %s, %d" % (first.host, first.settings.priority), hint))
        least = min(least, own)
        if member.settings.subnet_prefix != first.settings.subnet_prefix:
            where = "opensm_fabrics.%s.subnet_prefix of %s" % (member.fabric, member.host)
            found.append(Problem(where, member.settings.subnet_prefix, "that of %s, %s" % (first.host, first.settings.subnet_prefix)))
    return found


def uncovered(covered: t.Collection[str], host: str, fabrics: t.Iterable[str]) -> list[Problem]:
    """Problems of the fabrics of `host` that have no host that may run their subnet manager. `covered`: the fabrics that have one."""
    missing = [fabric for fabric in fabrics if fabric not in covered]
    if missing and not covered:
        hint = "ports of a fabric without a subnet manager never become ACTIVE: add a host to the group"
        return [Problem("group %s" % GROUP, [], "at least one host of each fabric", hint)]
    hint = "%s is on that fabric, which has no subnet manager: add one of its hosts to group %s" % (host, GROUP)
    where = "group %s" % GROUP
    hosts = "hosts of %s alone" % ("the fabrics %s" if len(covered) > 1 else "fabric %s") % ", ".join(sorted(covered))
    return [Problem(where, hosts, "at least one host of fabric %s" % fabric, hint) for fabric in missing]


def unmanaged(managed: t.Sequence[str], settings: t.Any) -> list[Problem]:
    """Problems of settings in `opensm_fabrics` for a fabric that is not in `managed`: nothing would read them."""
    named = [fabric for fabric in settings if isinstance(fabric, str)] if isinstance(settings, t.Mapping) else []
    hint = "no host of group %s is on such a fabric, by its rdma_fabrics or its fabric" % GROUP
    return [Problem("opensm_fabrics", fabric, ", ".join(managed), hint) for fabric in named if fabric not in managed]


def outsiders(designated: t.Mapping[str, str], hosts: t.Collection[str], group: str = ALL) -> list[Problem]:
    """Problems of `designated` hosts outside of `hosts`, the group `group`: no play would start their subnet manager, and all others would rest."""
    names = frozenset(hosts)
    hint = "%s is designated for fabric %s, and would never be configured: add it to group %s, too"
    return [
        Problem("group %s" % GROUP, host, "hosts of group %s" % group, hint % (host, fabric, group))
        for fabric, host in sorted(designated.items())
        if host not in names
    ]


def read_members(groups: Groups, hostvars: Hostvars, spoken: t.Collection[str] = ()) -> tuple[list[Member], list[Problem]]:
    """The hosts of group `opensm`, and the problems of their variables. Hosts in `spoken` report their own problems.

    Only this group and the variables of its hosts are read: this runs for every host of a play, and the names alone of 10,000 hosts
    take 60 ms in a template of ansible-core 2.19.
    """
    members: list[Member] = []
    problems: list[Problem] = []
    for host in groups.get(GROUP, ()):
        variables = hostvars[host]
        wrong = [problem for problem in fabric_problems(variables) if not problem.variable.startswith("opensm_")]
        wrong += rank_problems(variables)
        if wrong:
            problems.extend([problem._replace(variable="%s of %s" % (problem.variable, host)) for problem in wrong] if host not in spoken else [])
            continue
        rank, standby = variables.get("opensm_rank"), variables.get("opensm_standby", False)
        for fabric in fabrics_of(variables):
            own = rank.get(fabric) if isinstance(rank, t.Mapping) else rank
            # A plain str: tagged strings of ansible-core must not leak into a result that is compared and printed.
            members.append(Member(str(host), fabric, None if own is None else read_int(own), is_true(standby), settings_of(variables, fabric)))
    return members, problems


def members_for(fabrics: t.Collection[str], groups: Groups, hostvars: Hostvars, *, host: str) -> list[Member]:
    """All members. Raises InvalidInput unless each of `fabrics`, the fabrics of `host`, has exactly one designated host."""
    members, found = read_members(groups, hostvars)
    found += conflicts([member for member in members if member.fabric in fabrics])
    require_none(found or uncovered({member.fabric for member in members}, host, fabrics))
    return members


def rank_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of `opensm_rank`, which is a number, or one number for each fabric of the host."""
    rank = variables.get("opensm_rank")
    if rank is None or read_int(rank) is not None:
        return []
    if not isinstance(rank, t.Mapping):
        return [Problem("opensm_rank", rank, _RANK, "a host on several fabrics may have one for each: {ib: 1, storage: 2}")]
    fabrics = fabrics_of(variables)
    wrong = {fabric: number for fabric, number in rank.items() if fabric not in fabrics or read_int(number) is None}
    known = "a fabric of this host: %s" % ", ".join(fabrics)
    return [Problem("opensm_rank.%s" % (fabric,), number, _RANK if fabric in fabrics else known) for fabric, number in wrong.items()]


class Place(t.NamedTuple):
    """The part of a host in one of its fabrics."""

    fabric: str
    role: str
    """MASTER, STANDBY or RESTING."""
    designated: str
    """The designated host; "" where the fabric has none."""
    priority: int = 0
    ports: tuple[str, ...] = ()
    """The ports of the host on the fabric; none where it has one fabric and does not declare its ports."""


def places_of(host: str, election: Election, variables: t.Mapping[str, t.Any]) -> list[Place]:
    """The place of `host` in each of its fabrics, in declared order. `variables`: those of the host."""
    found = []
    for fabric, ports in fabrics_of(variables).items():
        position = election.positions.get(fabric, {}).get(host)
        role = RESTING if position is None else MASTER if position == 0 else STANDBY
        priority = priority_at(settings_of(variables, fabric), position or 0)
        found.append(Place(fabric, role, election.designated.get(fabric, ""), priority, ports))
    return found


def part_of(places: t.Sequence[Place]) -> str:
    """The foremost part of a host: a host that is designated for one fabric and a standby on another is designated."""
    roles = {place.role for place in places}
    return next((role for role in ROLES if role in roles), RESTING)


def instances_of(
    places: t.Sequence[Place],
    variables: t.Mapping[str, t.Any],
    guids: t.Mapping[str, t.Mapping[str, t.Sequence[str]]],
    *,
    own_guids: t.Mapping[str, t.Sequence[str]] = MappingProxyType({}),
) -> list[dict[str, t.Any]]:
    """The option `instances` of the module. `guids`: known port GUIDs by fabric and member; `own_guids`: those of the host, by fabric."""
    found = []
    for place in places:
        if place.role == RESTING:
            continue
        settings = settings_of(variables, place.fabric)
        peers = {guid for own in guids.get(place.fabric, {}).values() for guid in own}
        others = {guid for fabric, members in guids.items() if fabric != place.fabric for own in members.values() for guid in own}
        others.update(guid for fabric, own in own_guids.items() if fabric != place.fabric for guid in own)
        found.append(
            {
                "fabric": place.fabric,
                "role": place.role,
                "designated_host": place.designated,
                "port": place.ports[0] if place.ports else str(variables.get("opensm_port") or ""),
                "port_guid": "" if place.ports else str(variables.get("opensm_port_guid") or ""),
                "priority": max(0, place.priority),
                "subnet_prefix": settings.subnet_prefix,
                "log_file": settings.log_file,
                "peer_guids": sorted(peers),
                "other_guids": sorted(others - peers),
            }
        )
    return found
