# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of its adapters: their firmware, links and cables."""

from __future__ import annotations

import typing as t

from .._errors import RdmaError
from .._expectation import Expectation
from .._finding import Code, Finding, Topic, of_change
from ._compare import compare
from ._config._input import entry_problems
from ._image._input import image_problems
from ._links._look import Limits, ask, of_link, targets
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from .._errors import Problem
    from .._expectation import Around, Variables
    from .._host._node import Node
    from ._found import Differences

_PREFIX = "hca_firmware_"


def findings(_wanted: Wanted, found: Differences, _around: Around) -> list[Finding]:
    """Changes that the role would make, changes that wait for the next start of an adapter, and what can't be as declared."""
    result = [of_change(change) for change in found.changes]
    # Parameters that wait for new firmware are not set yet; such an entry gives a reason.
    result += [of_change(entry.change)._replace(code=Code.DIFFERS if entry.why else Code.FIRMWARE_PENDING) for entry in found.pending]
    return [*result, Finding(Code.REFUSED, Topic.ADAPTERS, detail="; ".join(found.errors))] if found.errors else result


def _wanted(variables: Variables) -> Wanted | None:
    """The declared firmware; None where none is declared."""
    given = {name[len(_PREFIX) :]: value for name, value in variables.items() if name.startswith(_PREFIX)}
    wanted = Wanted(**{**given, "devices": tuple(given["devices"]), "config": tuple(given["config"])})
    return wanted if variables["firmware"] and (wanted.images or wanted.versions or wanted.config) else None


def _problems(variables: Variables) -> list[Problem]:
    return image_problems(variables, prefix=_PREFIX) + entry_problems("hca_firmware_config", variables.get("hca_firmware_config", []))


def _limits(variables: Variables) -> Limits | None:
    accepted = tuple(variables["cable_part_numbers"]), variables["max_effective_ber"], variables["min_speed"]
    return Limits(*accepted) if variables["cables"] else None


def _read_links(node: Node, limits: Limits, around: Around) -> tuple[Finding, ...]:
    """Findings about the checked ports with a link. A port without one has its own finding; a virtual function has no cable."""
    readable = {target.name for target in targets(node.root, ())}
    names = [port.name for port in around.ports if port.phys_state == "LinkUp" and port.name in around.checked and port.name in readable]
    if not names:
        return ()
    try:
        answers = ask(node.run, names, limits, root=node.root)
    except RdmaError as exc:
        return tuple(of_link(Code.LINK_UNREAD, exc.msg, name) for name in names)
    return tuple(finding for answer in answers for finding in answer.findings)


FIRMWARE = Expectation(
    "hca_firmware",
    wanted=_wanted,
    problems=_problems,
    look=lambda node, wanted, _around: compare(node.run, wanted, node.root),
    slow=True,
    findings=findings,
)
CABLES = Expectation(
    "cables",
    wanted=_limits,
    look=_read_links,
    slow=True,
    findings=lambda _limits, found, _around: list(found),
)
