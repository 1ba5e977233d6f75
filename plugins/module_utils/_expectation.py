# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface through which the check of a node compares one concern: one object per concern, listed in _expectations.py."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ._errors import Problem
    from ._facts._netdevs import Netdev
    from ._facts._ports import Port
    from ._finding import Finding
    from ._host._node import Node

Variables = t.Mapping[str, t.Any]
"""The options of `node_check`, and the role variables that some of them stand for."""


class Around(t.NamedTuple):
    """The node around a concern, with the state of its links."""

    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    checked: tuple[str, ...] = ()
    """The names of the checked ports."""


class Interface(t.NamedTuple):
    """A network interface that is declared and must exist."""

    name: str
    """Its name on this node; the port GUID while it has no name there."""
    over: str
    """The interface of the port: the parent of a child, else the interface itself."""


def _no_problems(_variables: Variables) -> list[Problem]:
    return []


def _by_visit(_variables: Variables) -> None:
    return None


def _no_interfaces(_wanted: t.Any, _found: t.Any) -> list[Interface]:
    return []


def _no_result(_found: t.Any) -> dict[str, t.Any]:
    return {}


class Expectation(t.NamedTuple):
    """What is expected of a concern. All functions except `look` are pure."""

    name: str
    """The name of the concern and of its look."""
    wanted: t.Callable[[Variables], t.Any]
    """The expected state, from variables that have passed `problems`; None where nothing of the concern is checked."""
    look: t.Callable[[Node, t.Any, Around], t.Any]
    """Reads the node for a wanted state; returns the form of the concern's look."""
    findings: t.Callable[[t.Any, t.Any, Around], list[Finding]]
    """Returns the findings about differences between the found and the wanted state."""
    options: t.Mapping[str, str] = {}
    """The options of `node_check` that stand for a variable of another name."""
    problems: t.Callable[[Variables], t.Sequence[Problem]] = _no_problems
    """Problems of the variables, beyond their types."""
    hints: t.Callable[[Variables], t.Mapping[str, t.Any] | None] = _by_visit
    """What the look needs to know so that the controller can judge it; None where the module has to run on the node."""
    form: type | None = None
    """The type of the found state, with which the controller decodes a look; None where the look of a run does not read the concern."""
    slow: bool = False
    """Whether the tools take seconds per adapter. They then run once, when all else is as declared or the time is up."""
    interfaces: t.Callable[[t.Any, t.Any], t.Sequence[Interface]] = _no_interfaces
    """From the wanted and the found state. Before the look, the latter is None, and the names are as declared."""
    result: t.Callable[[t.Any], t.Mapping[str, t.Any]] = _no_result
    """The part of the module's result about the found state, which is None where it is not checked."""
