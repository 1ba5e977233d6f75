# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the subnet managers of a host's fabrics and the problems of their placement. Pure, and from the inventory alone."""

from __future__ import annotations

import typing as t

from .._concern import IMAGE
from .._errors import Problem
from .._foreign import is_true
from ._fabrics import declared_of, fabrics_of
from ._partitions._input import VARIABLE, unknown_members
from ._placement import (
    ALL,
    GROUP,
    RESTING,
    Election,
    Groups,
    Hostvars,
    Place,
    conflicts,
    elect,
    outsiders,
    part_of,
    places_of,
    read_members,
    uncovered,
    unmanaged,
)

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._concern import Subject


class Placement(t.NamedTuple):
    """The subnet managers of a site, as far as one host is concerned."""

    places: list[Place]
    """The place of the host in each of its fabrics."""
    own: list[Problem]
    """Problems of this host's place: its fabric has no subnet manager, or it would give a partition a member that does not exist."""
    common: list[Problem]
    """Problems of the group as a whole; empty except on the one host that reports them."""
    election: Election

    @property
    def shared(self) -> Election:
        """The part that is the same for all hosts."""
        return self.election

    @property
    def first(self) -> Place:
        """The place in the first fabric of the host; its fabric name is "" where the host has none."""
        return self.places[0] if self.places else Place("", RESTING, "")

    @property
    def part(self) -> str:
        """`master`, `standby` or `resting`: the foremost of the host's parts."""
        return part_of(self.places)


def _as_declared(known: Election, host: str, groups: Groups, *, hostvars: Hostvars, variables: Mapping[str, t.Any]) -> Election:
    """The election, where a play sets another opensm_standby for the host than its inventory, which is all that other hosts know."""
    standby = is_true(variables.get("opensm_standby", False))
    seats = [known.positions.get(fabric, {}).get(host) for fabric in fabrics_of(variables)]
    # The designated host has position 0, whatever its opensm_standby.
    differs = None in seats if standby else any(seats)
    if not differs or host not in groups.get(GROUP, ()):
        return known
    members, _faults = read_members(groups, hostvars)
    return elect(member._replace(standby=standby) if member.host == host else member for member in members)


def _strangers(places: Sequence[Place], variables: Mapping[str, t.Any], groups: Groups) -> list[Problem]:
    """Problems of partition members that are not in the inventory, on a host that manages their fabric. They are known before the first change."""
    found: dict[Problem, None] = {}
    for place in places:
        settings = declared_of(variables, place.fabric)
        if place.role != RESTING and "partitions" in settings:
            found.update(dict.fromkeys(unknown_members(settings["partitions"], groups, "opensm_fabrics.%s.partitions" % place.fabric)))
        elif place.role != RESTING:
            found.update(dict.fromkeys(unknown_members(variables.get(VARIABLE), groups)))
    return list(found)


def placement(
    host: str,
    *,
    groups: Groups,
    hostvars: Hostvars,
    variables: Mapping[str, t.Any],
    playing: Sequence[str] | None = None,
    known: Election | None = None,
) -> Placement:
    """The subnet managers of a host's fabrics. Only the variables of the group's members are read.

    One host reports for all: it gets the hosts that are `playing`, which validate their own variables. Only that host examines
    the hosts of the whole site: if every host did, the cost would be quadratic. `known`: the election, if another host has already read it.
    """
    # Invalid names are reported with the problems of the host.
    fabrics = fabrics_of(variables)
    # These states mean that a switch or another host manages the subnet. An image is in no subnet.
    absent = variables.get("opensm_state", "present") in ("absent", "unmanaged") or is_true(variables.get(IMAGE))
    common: list[Problem] = []
    if known is None:
        members, faults = read_members(groups, hostvars, frozenset(playing or ()))
        tied = conflicts(members)
        sound = len({member.host for member in members}) == len(groups.get(GROUP, ())) and not tied
        known = elect(members)._replace(sound=sound)
        common = faults + tied
    places = places_of(host, _as_declared(known, host, groups, hostvars=hostvars, variables=variables), variables)
    missing = uncovered(known.fabrics, host, fabrics) if known.sound and not absent else []
    # If no fabric has a manager, the problem is the same for all hosts.
    own, of_all = (missing, []) if known.fabrics else ([], missing)
    if not absent:
        own = [*own, *_strangers(places, variables, groups)]
    if playing is None:
        return Placement(places, own, [], known)
    common += of_all
    if known.fabrics and known.sound and not absent:
        common += unmanaged(known.fabrics, variables.get("opensm_fabrics"))
    group = variables.get("rdma_hosts") or ALL
    # A pattern that is no group name selects a part of the hosts, so it does not tell which hosts are outside.
    if isinstance(group, str) and group in groups:
        inside = {fabric: designated for fabric, designated in known.designated.items() if not (absent and fabric in fabrics)}
        common += outsiders(inside, groups[group], group)
    return Placement(places, own, common, known)


def survey(subject: Subject, playing: Sequence[str] | None, shared: t.Any) -> Placement:
    """The part of a host in the site. `shared`: the election that another host has read."""
    known = None if shared is None else Election(*shared)
    return placement(subject.host, groups=subject.groups, hostvars=subject.hostvars, variables=subject.variables, playing=playing, known=known)
