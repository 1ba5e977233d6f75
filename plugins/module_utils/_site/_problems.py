# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validates the variables of one host, of all concerns. Pure."""

from __future__ import annotations

import re
import typing as t

from .. import _accepted
from .._check._input import port_problems
from .._check._input import role_problems as check_problems
from .._errors import Problem
from .._firmware._input import problems as firmware_problems
from .._foreign import decimal, is_true
from .._gpudirect._input import problems as gpudirect_problems
from .._ipoib._input import problems as ipoib_problems
from .._kmod._input import problems as kmod_problems
from .._monitor._input import role_problems as monitor_problems
from .._opensm import _placement
from .._opensm._fabrics import fabrics_of
from .._opensm._input import problems as opensm_problems
from .._opensm._placement import Election, Groups, Hostvars
from .._schema._site import VARIABLES as SITE
from .._schema._values import value_problems
from .._softrdma._input import problems as soft_rdma_problems
from .._stack._input import problems as stack_problems
from ._names import misspelt, own_problems, unknown

if t.TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Judge = t.Callable[[Mapping[str, t.Any], t.Optional[Mapping[str, t.Any]]], t.List[Problem]]

# Digits beyond these are no number of hosts, and Python refuses to read very many of them.
_BATCH = re.compile(r"^([0-9]{1,9})(%?)\Z")


def _is_batch(value: t.Any) -> bool:
    """Whether it is a percentage or a number of hosts, which is text where it comes from the command line."""
    if isinstance(value, str):
        match = _BATCH.match(value)
        return match is not None and 1 <= decimal(match[1], 0) <= (100 if match[2] else 10**9)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def serial_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """What Ansible would not take for `serial`. It would find out in the middle of a run, or not at all."""
    value = variables.get("rdma_serial", 1)
    batches = value if isinstance(value, (list, tuple)) else [value]
    if batches and all(_is_batch(batch) for batch in batches):
        return []
    return [Problem("rdma_serial", value, "a number of hosts from 1 on, a percentage from 1% to 100%, or a list of these")]


def _site_problems(variables: Mapping[str, t.Any], _facts: Mapping[str, t.Any] | None) -> list[Problem]:
    """Consents among them: what is no boolean must not count as one."""
    accepted = _accepted.problems("rdma_accepted", variables["rdma_accepted"]) if "rdma_accepted" in variables else []
    return [*value_problems(SITE, variables), *monitor_problems(variables), *accepted]


# By the role that a problem concerns which is one of the host alone. What is wrong with a port of the check is one of its findings.
_JUDGES: tuple[tuple[str, Judge], ...] = (
    ("ofed", stack_problems),
    ("kernel_modules", kmod_problems),
    ("ipoib", ipoib_problems),
    ("soft_rdma", soft_rdma_problems),
    ("gpudirect", gpudirect_problems),
    ("hca_firmware", firmware_problems),
    ("", check_problems),
    ("", serial_problems),
    ("", _site_problems),
)
# These name ports. Where the driver is yet to be loaded, there are none.
_OF_PORTS = ("ipoib", "opensm")


def _fabric_problems(variables: Mapping[str, t.Any], _facts: Mapping[str, t.Any] | None) -> list[Problem]:
    found = {problem.variable: problem for problem in (*misspelt(variables, "fabric_"), *unknown(variables))}
    accepted = _accepted.problems("rdma_accepted", variables["rdma_accepted"]) if "rdma_accepted" in variables else []
    return [*found.values(), *value_problems(SITE, variables), *accepted]


# Whose variables are also validated on their own: roles before their first change, where no playbook has validated the site, and the playbook fabric.
ROLES: Mapping[str, Judge] = {"ofed": stack_problems, "fabric": _fabric_problems}


class Placement(t.NamedTuple):
    """The subnet managers of a site, as far as one host is concerned."""

    places: list[_placement.Place]
    """What the host is in each of its fabrics."""
    own: list[Problem]
    """What is wrong with this host's place: its fabric has no subnet manager."""
    common: list[Problem]
    """What is wrong with the group as a whole; empty but for the one host that reports it."""
    election: Election
    """What is the same for all hosts."""

    @property
    def first(self) -> _placement.Place:
        """The place in the first fabric of the host; without a name where it has no fabric."""
        return self.places[0] if self.places else _placement.Place("", _placement.RESTING, "")

    @property
    def part(self) -> str:
        """`master`, `standby` or `resting`: the foremost of the host's parts."""
        return _placement.part_of(self.places)


def host_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None, manages: bool) -> list[Problem]:
    """What is wrong with a host's variables, on their own and, where its `rdma` facts are known, on that host.

    Only a host that `manages` a fabric needs a port for that.
    """
    found = [*own_problems(variables), *unknown(variables)]
    if "rdma_ports" in variables:
        found += port_problems("rdma_ports", variables["rdma_ports"], facts)
    for _role, judge in _JUDGES:
        found += judge(variables, facts)
    found += opensm_problems(variables, facts, manages)
    # Several concerns read a variable such as fabric: each problem is reported once.
    return list({str(problem): problem for problem in found}.values())


def node_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any], manages: bool) -> dict[str, list[Problem]]:
    """What is wrong on a host alone, by the role concerned. Its variables are right on their own."""
    found = {role: judge(variables, facts) for role, judge in _JUDGES if role}
    found["opensm"] = opensm_problems(variables, facts, manages)
    if _driver_comes(facts):
        found.update({role: [] for role in _OF_PORTS})
    return {role: problems for role, problems in found.items() if problems}


def _driver_comes(facts: Mapping[str, t.Any]) -> bool:
    """Whether a node has no port because its driver is yet to be installed or loaded: a bare node, or an image that is being built."""
    if facts.get("ports"):
        return False
    bare = (facts.get("stack") or {}).get("kind") == "none" or (facts.get("machine") or {}).get("kind") in ("chroot", "container")
    return bare or bool(facts.get("adapters"))


def _as_declared(known: Election, host: str, groups: Groups, *, hostvars: Hostvars, variables: Mapping[str, t.Any]) -> Election:
    """Who is elected, where a play gives the host another C(opensm_standby) than its inventory does, which is all that the others know."""
    standby = is_true(variables.get("opensm_standby", False))
    seats = [known.positions.get(fabric, {}).get(host) for fabric in fabrics_of(variables)]
    # The designated host has seat 0, whatever it says.
    differs = None in seats if standby else any(seats)
    if not differs or host not in groups.get(_placement.GROUP, ()):
        return known
    members, _faults = _placement.read_members(groups, hostvars)
    return _placement.elect(member._replace(standby=standby) if member.host == host else member for member in members)


def placement(
    host: str,
    *,
    groups: Groups,
    hostvars: Hostvars,
    variables: Mapping[str, t.Any],
    playing: Sequence[str] | None = None,
    known: Election | None = None,
) -> Placement:
    """Where the subnet managers of a host's fabrics are. Only the variables of the group's members are read.

    One host reports for all: it is given the hosts that are `playing`, which validate their own variables. It alone looks at
    the hosts of the whole site: that would be quadratic if every host did it. `known`: who was elected, if another host has read it.
    """
    # Wrong names are reported among the problems of the host.
    fabrics = fabrics_of(variables)
    # With these a site says that a switch or another host manages the subnet.
    absent = variables.get("opensm_state", "present") in ("absent", "unmanaged")
    common: list[Problem] = []
    if known is None:
        members, faults = _placement.read_members(groups, hostvars, frozenset(playing or ()))
        tied = _placement.conflicts(members)
        sound = len({member.host for member in members}) == len(groups.get(_placement.GROUP, ())) and not tied
        known = _placement.elect(members)._replace(sound=sound)
        common = faults + tied
    places = _placement.places_of(host, _as_declared(known, host, groups, hostvars=hostvars, variables=variables), variables)
    missing = _placement.uncovered(known.fabrics, host, fabrics) if known.sound and not absent else []
    # Where no fabric has one, that is the same for all hosts.
    own, of_all = (missing, []) if known.fabrics else ([], missing)
    if playing is None:
        return Placement(places, own, [], known)
    common += of_all
    if known.fabrics and known.sound and not absent:
        common += _placement.unmanaged(known.fabrics, variables.get("opensm_fabrics"))
    group = variables.get("rdma_hosts", _placement.ALL)
    # A pattern that is not the name of a group selects a part of the hosts: it does not tell which are outside.
    if isinstance(group, str) and group in groups:
        inside = {fabric: designated for fabric, designated in known.designated.items() if not (absent and fabric in fabrics)}
        common += _placement.outsiders(inside, groups[group], group)
    return Placement(places, own, common, known)
