# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of the access to GPU memory."""

from __future__ import annotations

import typing as t

from .._expectation import Expectation
from .._finding import Code, Finding, Topic, of_change
from ._found import LEGACY, PEERMEM, Found
from ._input import NONE, problems
from ._look import look
from ._method import decide
from ._plan import plan
from ._wanted import Wanted, wanted_of

if t.TYPE_CHECKING:
    from .._expectation import Around, Variables

# The name under which nvidia_peermem and nv_peer_mem register with the RDMA stack.
PEER_MEMORY_CLIENT = "nv_mem"


def findings(wanted: Wanted, found: Found, _around: Around) -> list[Finding]:
    """The findings; none for a node without a GPU, and none about what waits until the installed stack is loaded."""
    if not found.gpu.devices:
        return []
    method = decide(wanted.method, found, wanted.allow_rebuild)
    if method.obstacles:
        why = "; ".join(dict.fromkeys(obstacle.cause for obstacle in method.obstacles))
        return [Finding(Code.GPU_OUT_OF_REACH, Topic.GPU_MEMORY, wanted=wanted.method, detail=why)]
    result = [of_change(change) for change in plan(found, wanted, method).changes]
    registers = method.name in (PEERMEM, LEGACY) and found.gpu.peer(method.name).loaded and not found.waits
    if registers and found.shows_clients and PEER_MEMORY_CLIENT not in found.gpu.clients:
        result.append(Finding(Code.GPU_NOT_REGISTERED, Topic.GPU_MEMORY, "", "", PEER_MEMORY_CLIENT, ", ".join(found.gpu.clients)))
    return result


def _wanted(variables: Variables) -> Wanted | None:
    given = {name[len("gpudirect_") :]: value for name, value in variables.items() if name.startswith("gpudirect_")}
    return wanted_of(given) if given["method"] != NONE else None


EXPECTATION = Expectation(
    "gpudirect",
    options={"gpudirect": "gpudirect_method"},
    problems=problems,
    wanted=_wanted,
    hints=lambda _variables: {},
    look=lambda node, _wanted, _around: look(node.run, node.release, root=node.root),
    form=Found,
    findings=findings,
)
