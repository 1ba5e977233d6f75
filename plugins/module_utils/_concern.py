# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a concern is to the rest of the collection: one object in its room. The registry lists them. Pure."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ._errors import Problem

Variables = t.Mapping[str, t.Any]
Specification = t.Mapping[str, t.Mapping[str, t.Any]]
"""By variable or option, its type and default: a table of `_schema`."""


def _nothing(_concern: str) -> None:
    return None


def _no_options() -> None:
    return None


class Subject(t.NamedTuple):
    """One host, as a run knows it before the first change."""

    host: str = ""
    variables: Variables = {}
    """Those of the collection that are set, evaluated."""
    facts: Variables | None = None
    """Its `rdma` facts; None where they are unknown, or do not count."""
    part: t.Any = None
    """What `Concern.survey` made of the host."""
    groups: t.Mapping[str, t.Sequence[str]] = {}
    hostvars: t.Mapping[str, Variables] = {}
    recall: t.Callable[[str], t.Any] = _nothing
    """What the look found of a concern, in the form in which it travels; None where nothing is known."""
    found: t.Any = None
    """What the look found of this concern, decoded."""
    options: t.Callable[[], Variables | None] = _no_options
    """What the role hands to its module, with defaults; None where that has no valid form."""


class Address(t.NamedTuple):
    """An address that a host declares, and where. No other host on the same network may have it."""

    address: str
    """With its prefix length."""
    variable: str
    network: str = ""
    """Within the networks of the host."""


class Part(t.Protocol):
    """What a host is among the hosts of the site."""

    @property
    def own(self) -> list[Problem]:
        """What is wrong with this host's part."""

    @property
    def common(self) -> list[Problem]:
        """What is wrong with the site as a whole; empty but for the one host that reports it."""

    @property
    def shared(self) -> t.Any:
        """What is the same for all hosts. It travels as JSON."""


def _no_problems(_subject: Subject) -> list[Problem]:
    return []


def _no_words(_subject: Subject) -> list[str]:
    return []


def _no_addresses(_subject: Subject) -> list[Address]:
    return []


def _no_results(_subject: Subject) -> dict[str, t.Any]:
    return {}


class Concern(t.NamedTuple):
    """One thing that the collection cares for on a node. All functions are pure."""

    name: str
    """Of the role, of its tag, of the look, and with an underscore the prefix of the variables. Of a concern without a role, that of the module."""
    variables: Specification = {}
    """Those of the role."""
    needs: tuple[str, ...] = ()
    """The roles without which this one can't work: where one of them is left out, so is this one."""

    problems: t.Callable[[Subject], t.Sequence[Problem]] = _no_problems
    """What is wrong with the variables, on their own and, where the facts are known, on the host."""
    of_ports: bool = False
    """Whether the variables name ports. Where the driver is yet to come, there are none, and that is not wrong."""
    reports: bool = False
    """Whether what is wrong on the host alone is reported at the end of the run, so that nothing is left out for it."""
    unserved: t.Callable[[Subject], t.Sequence[Problem]] = _no_problems
    """Why nothing of the collection is for the host, whatever is declared."""
    remarks: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """Warnings, in words."""
    secrets: frozenset[str] = frozenset()
    """The variables whose values are never shown."""
    networks: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """The names of the networks that the host is on, for the addresses of all concerns."""
    addresses: t.Callable[[Subject], t.Sequence[Address]] = _no_addresses
    """Those that the host declares and no other host may have. Its variables have passed the validation."""
    survey: t.Callable[[Subject, t.Sequence[str] | None, t.Any], Part] | None = None
    """The part of the host among all hosts, of the hosts that are playing, for the one that reports for all of them, and of what another host has read
    (`Part.shared`), or None.
    """
    published: t.Callable[[Subject], t.Mapping[str, t.Any]] = _no_results
    """What the roles and playbooks decide on, by its name in `rdma_site`."""

    reads: tuple[str, ...] = ()
    """The variables that `hints` reads, whether or not they are right."""
    hints: t.Callable[[Subject], t.Mapping[str, t.Any]] | None = None
    """What the look needs to know. None: the look at the beginning of a run leaves this concern out."""
    seen: type | None = None
    """The form of what the look found."""
    refusals: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """What the role would refuse, in words. Where there is a form for what the look finds, the look has found it."""
    foreseen: t.Callable[[Subject], t.Mapping[str, t.Any]] = _no_results
    """What follows from the look for the run, as in `published`. It has nothing of a concern that the host is left out of."""

    options: Specification = {}
    """Those of the module."""
    elsewhere: t.Mapping[str, str] = {}
    """The options that get a variable without the prefix of the role."""
    unchanged: t.Callable[[Variables, t.Any], t.Mapping[str, t.Any] | None] | None = None
    """Options of the module and what the look found -> the result of the module where nothing is to be done on the node; None where it has to visit it."""
    idle: t.Callable[[Variables, Variables], t.Mapping[str, t.Any] | None] | None = None
    """Options of the module and the facts of this run -> the result of the module where the node has nothing for it; None where it has to visit the node."""

    def given(self, variables: Variables) -> dict[str, t.Any]:
        """What the role hands to its module, of the variables of a host."""
        named = {option: self.elsewhere.get(option, "%s_%s" % (self.name, option)) for option in self.options}
        values = {**{variable: entry["default"] for variable, entry in self.variables.items() if "default" in entry}, **variables}
        return {option: values[variable] for option, variable in named.items() if variable in values}


_T = t.TypeVar("_T")


def judged(problems: t.Callable[[Variables, Variables | None], _T]) -> t.Callable[[Subject], _T]:
    """Of variables and facts."""
    return lambda subject: problems(subject.variables, subject.facts)


def planned(refusals: t.Callable[[Variables, t.Any], t.Sequence[str]]) -> t.Callable[[Subject], t.Sequence[str]]:
    """Of the options of the module and what the look found. What is wrong with the variables is among the problems."""

    def of_subject(subject: Subject) -> t.Sequence[str]:
        options = subject.options()
        return [] if options is None else refusals(options, subject.found)

    return of_subject
