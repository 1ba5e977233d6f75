# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Is the way to GPU memory as declared? Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import node_of
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import LEGACY, PEERMEM, decide
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._plan import waits

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._plan import Found

CLIENT = "nv_mem"
"""The name under which both modules register with the stack."""
_RUN = "the role gpudirect does that"


class Finding(t.NamedTuple):
    """One thing that is not as declared."""

    object: str
    wanted: str
    found: str
    hint: str = ""


def findings(method: str, found: Found) -> list[Finding]:
    """What is not as C(method) needs it; nothing for a node without GPU, and nothing that waits for the installed stack to be loaded."""
    if not found.gpu.devices:
        return []
    verdict = decide(method, node_of(found))
    if verdict.obstacles:
        why = "; ".join(dict.fromkeys(obstacle.found for obstacle in verdict.obstacles))
        return [Finding("GPU memory", "within reach of the adapters (%s)" % method, "out of reach", why)]
    if verdict.method not in (PEERMEM, LEGACY):
        return []
    if verdict.method == LEGACY and waits(found):
        # It is built after that.
        return []
    what = "kernel module " + verdict.method
    boots = found.unit.enabled == "enabled" if verdict.method == PEERMEM else found.service_enabled
    wrong = [] if boots else [Finding(what, "loaded at boot", "not enabled", _RUN)]
    if waits(found):
        return wrong
    if not found.gpu.peer(verdict.method).loaded:
        return [Finding(what, "loaded", "not loaded", _RUN), *wrong]
    if found.shows_clients and CLIENT not in found.gpu.clients:
        names = ", ".join(found.gpu.clients) or "nobody"
        wrong.append(Finding("peer memory", "%s registered with the RDMA stack" % CLIENT, names, "the module is loaded: see the kernel log"))
    return wrong
