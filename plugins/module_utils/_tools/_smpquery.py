# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`smpquery`: queries a node of the fabric. Grammar from infiniband-diags, `smpquery.c`."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# The dots pad to a fixed width, so a short description is preceded by more of them.
_DESCRIPTION = re.compile(r"^Node Description:\.*(.*)$", re.M)


def parse_node_description(stdout: str) -> str:
    """The node description, `node1 mlx5_0`; "" where there is none."""
    match = _DESCRIPTION.search(stdout)
    return match.group(1).strip() if match else ""


def answer(run: Runner, device: str, port: int, *, lid: int) -> str | None:
    """The name that the node at `lid` has for itself; None if it does not answer."""
    output = run(["smpquery", "-C", device, "-P", str(port), "nodedesc", str(lid)], ok=None, timeout=20)
    return parse_node_description(output.stdout) if output.rc == 0 else None


def node_description(run: Runner, device: str, port: int, *, lid: int) -> str:
    """The same where it is only used in messages; "" if there is no answer."""
    return answer(run, device, port, lid=lid) or ""
