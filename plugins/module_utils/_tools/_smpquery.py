# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""C(smpquery): what a node of the fabric says of itself. Grammar from infiniband-diags, C(smpquery.c)."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# Dots fill the line up to column 32, so a long description follows the colon at once.
_LINE = re.compile(r"^Node Description:\.*(.*)$", re.M)


def parse_description(stdout: str) -> str:
    """The one line of C(smpquery nodedesc); raises UnexpectedOutput."""
    match = _LINE.search(stdout)
    if match is None:
        raise UnexpectedOutput("smpquery nodedesc printed %r, which is no node description" % stdout.strip())
    return match.group(1).strip()


def description(run: Runner, device: str, port: int, lid: int) -> str:
    """The description of the node at a LID; "" where it does not answer."""
    output = run(["smpquery", "-C", device, "-P", str(port), "nodedesc", str(lid)], ok=None, timeout=20)
    return parse_description(output.stdout) if output.rc == 0 else ""


__all__ = ("description", "parse_description")
