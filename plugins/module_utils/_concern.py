# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a concern to the rest of the collection: one object in the concern's package. The registry lists them. Pure."""

from __future__ import annotations

import typing as t

from ._discovered import Joined, Reading

if t.TYPE_CHECKING:
    from ._errors import Problem

IMAGE = "rdma_image"
"""The variable of a host that is the tree of an image."""
# What a role needs that the tree of an image lacks.
STATE, FABRIC, GPU, VENDOR, DRIVER = "state", "fabric", "gpu", "vendor", "driver"

Variables = t.Mapping[str, t.Any]
Specification = t.Mapping[str, t.Mapping[str, t.Any]]
"""The type and default of each variable or option: a table of `_schema`."""


def _nothing(_concern: str) -> None:
    return None


def _no_options() -> None:
    return None


class Subject(t.NamedTuple):
    """One host, as known before the first change of a run."""

    host: str = ""
    variables: Variables = {}
    """The collection's variables that are set, evaluated."""
    facts: Variables | None = None
    """Its `rdma` facts; None where they are unknown or do not count."""
    part: t.Any = None
    """The result of `Concern.survey` for the host."""
    groups: t.Mapping[str, t.Sequence[str]] = {}
    hostvars: t.Mapping[str, Variables] = {}
    recall: t.Callable[[str], t.Any] = _nothing
    """What the look found for a concern, in its serialised form; None where nothing is known."""
    found: t.Any = None
    """What the look found for this concern, decoded."""
    options: t.Callable[[], Variables | None] = _no_options
    """The options that the role passes to its module, with defaults; None where they are malformed."""
    unseen: t.Sequence[str] = ()
    """For a discovery: the hosts of the site that were not looked at."""


class Address(t.NamedTuple):
    """An address that a host declares, with its place. No other host on the same network may have it."""

    address: str
    """With prefix length."""
    variable: str
    network: str = ""
    """The network, among those of the host."""


class Part(t.Protocol):
    """The part of a host among the hosts of the site."""

    @property
    def own(self) -> list[Problem]:
        """Problems of this host's part."""

    @property
    def common(self) -> list[Problem]:
        """Problems of the site as a whole; empty except on the one host that reports them."""

    @property
    def shared(self) -> t.Any:
        """The part that is the same for all hosts. It is serialised as JSON."""


def _no_problems(_subject: Subject) -> list[Problem]:
    return []


def _no_words(_subject: Subject) -> list[str]:
    return []


def _nothing_lacks(_subject: Subject) -> str:
    return ""


def _no_addresses(_subject: Subject) -> list[Address]:
    return []


def _no_results(_subject: Subject) -> dict[str, t.Any]:
    return {}


def _reads_nothing(_subject: Subject) -> Reading:
    return Reading()


class Discovery(t.NamedTuple):
    """How a concern describes what is on the hosts by declarations. All functions are pure. They ignore the variables of the hosts."""

    read: t.Callable[[Subject], Reading] = _reads_nothing
    """The declarations of one host, from its facts and the look. With `seen`, it is called only for hosts with a result of the look."""
    join: t.Callable[[t.Sequence[Subject]], Joined] | None = None
    """The declarations that can be read only from several hosts together."""
    hints: t.Mapping[str, t.Any] | None = None
    """What the look needs to know. None: the facts tell all."""
    seen: type | None = None
    """The type of what the look found."""


class Concern(t.NamedTuple):
    """One area that the collection manages on a node. All functions are pure."""

    name: str
    """The name of the role, of its tag and of the look, and, with an underscore, the prefix of the variables. Without a role: the name of the module."""
    variables: Specification = {}
    """The variables of the role."""
    needs: tuple[str, ...] = ()
    """The roles that this one depends on: if one of them is left out, so is this one."""

    problems: t.Callable[[Subject], t.Sequence[Problem]] = _no_problems
    """Problems of the variables, on their own and, if the facts are known, on the host."""
    of_ports: bool = False
    """Whether the variables name ports. Before the driver is installed there are none, and that is no problem."""
    reports: bool = False
    """Whether problems of the host alone are reported at the end of the run, so that nothing is left out because of them."""
    unserved: t.Callable[[Subject], t.Sequence[Problem]] = _no_problems
    """Why the collection does not support the host, whatever is declared."""
    lacks: t.Callable[[Subject], str] = _nothing_lacks
    """What the tree of an image lacks for the role, one of STATE and the others; "" where the role prepares the image."""
    remarks: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """Warnings, in words."""
    secrets: frozenset[str] = frozenset()
    """The variables whose values are never shown."""
    networks: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """The names of the host's networks, for the addresses of all concerns."""
    addresses: t.Callable[[Subject], t.Sequence[Address]] = _no_addresses
    """The addresses that the host declares and that no other host may have. Expects validated variables."""
    survey: t.Callable[[Subject, t.Sequence[str] | None, t.Any], Part] | None = None
    """The part of the host among all hosts. Takes the host, the hosts that are playing (on the one host that reports for all of them), and what another
    host has read (`Part.shared`), or None.
    """
    published: t.Callable[[Subject], t.Mapping[str, t.Any]] = _no_results
    """The values on which roles and playbooks decide, by their names in `rdma_site`."""

    reads: tuple[str, ...] = ()
    """The variables that `hints` reads, whether or not they are valid."""
    hints: t.Callable[[Subject], t.Mapping[str, t.Any]] | None = None
    """What the look needs to know. None: the look at the beginning of a run leaves this concern out."""
    seen: type | None = None
    """The type of what the look found."""
    refusals: t.Callable[[Subject], t.Sequence[str]] = _no_words
    """What the role would refuse, in words. If the concern has a form, it is called only after a look."""
    foreseen: t.Callable[[Subject], t.Mapping[str, t.Any]] = _no_results
    """What follows from the look for the run, as in `published`. Empty for a concern that the host is left out of."""

    options: Specification = {}
    """The options of the module."""
    elsewhere: t.Mapping[str, str] = {}
    """The options whose variables have no role prefix."""
    unchanged: t.Callable[[Variables, t.Any], t.Mapping[str, t.Any] | None] | None = None
    """From the module's options and a look: the result of the module where nothing is to be done on the node; None where it has to run there."""
    idle: t.Callable[[Variables, Variables], t.Mapping[str, t.Any] | None] | None = None
    """From the module's options and the facts of this run: the result where the node has nothing for the module; None where it has to run there."""

    discovery: Discovery = Discovery()
    """How the present state of the hosts is described by declarations."""

    settled: t.Callable[[Subject], bool] | None = None
    """Whether the role certainly has nothing to do and nothing to report. None: `unchanged` or `idle` tells. Expects validated variables."""

    def given(self, variables: Variables) -> dict[str, t.Any]:
        """The options that the role passes to its module, from the variables of a host."""
        named = {option: self.elsewhere.get(option, "%s_%s" % (self.name, option)) for option in self.options}
        values = {**{variable: entry["default"] for variable, entry in self.variables.items() if "default" in entry}, **variables}
        return {option: values[variable] for option, variable in named.items() if variable in values}


_T = t.TypeVar("_T")


def judged(problems: t.Callable[[Variables, Variables | None], _T]) -> t.Callable[[Subject], _T]:
    """Adapt a function of variables and facts."""
    return lambda subject: problems(subject.variables, subject.facts)


def planned(refusals: t.Callable[[Variables, t.Any], t.Sequence[str]]) -> t.Callable[[Subject], t.Sequence[str]]:
    """Adapt a function of the module's options and the look's result. Problems of the variables are reported elsewhere."""

    def of_subject(subject: Subject) -> t.Sequence[str]:
        options = subject.options()
        return [] if options is None else refusals(options, subject.found)

    return of_subject
