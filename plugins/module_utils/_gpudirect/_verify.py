# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Is the way to GPU memory as declared? Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import LEGACY, PEERMEM
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import decide

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found

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
    chosen = decide(method, found)
    if chosen.obstacles:
        why = "; ".join(dict.fromkeys(obstacle.cause for obstacle in chosen.obstacles))
        return [Finding("GPU memory", "within reach of the adapters (%s)" % method, "out of reach", why)]
    if chosen.name not in (PEERMEM, LEGACY):
        return []
    if chosen.name == LEGACY and found.waits:
        # It is built after that.
        return []
    what = "kernel module " + chosen.name
    boots = found.unit.enabled == "enabled" if chosen.name == PEERMEM else found.service_enabled
    wrong = [] if boots else [Finding(what, "loaded at boot", "not enabled", _RUN)]
    if found.waits:
        return wrong
    if not found.gpu.peer(chosen.name).loaded:
        return [Finding(what, "loaded", "not loaded", _RUN), *wrong]
    if found.shows_clients and CLIENT not in found.gpu.clients:
        names = ", ".join(found.gpu.clients) or "nobody"
        wrong.append(Finding("peer memory", "%s registered with the RDMA stack" % CLIENT, names, "the module is loaded: see the kernel log"))
    return wrong
