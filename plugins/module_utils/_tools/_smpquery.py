# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`smpquery` and `vendstat`: what a node of the fabric says of itself. Grammar from infiniband-diags, `smpquery.c` and `vendstat.c`."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# The dots pad to a fixed width, so a short description is preceded by more of them.
_DESCRIPTION = re.compile(r"^Node Description:\.*(.*)$", re.M)
_VERSION = re.compile(r"^fw_version: *([0-9.]+)$", re.MULTILINE)
_PSID = re.compile(r"^fw_psid: *'([^'\n]*)'$", re.MULTILINE)


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


class SwitchFirmware(t.NamedTuple):
    """The firmware that a switch of NVIDIA runs, as it says through a vendor's datagram."""

    version: str
    psid: str


def parse_vendstat(text: str) -> SwitchFirmware:
    """`vendstat -N LID`; raises UnexpectedOutput."""
    version, psid = _VERSION.search(text), _PSID.search(text)
    if version is None:
        raise UnexpectedOutput("vendstat printed %r, which has no version of a firmware" % text.strip()[:200])
    return SwitchFirmware(version[1], psid[1].strip() if psid else "")


def vendstat_command(device: str, port: int, lid: int) -> tuple[str, ...]:
    """Asks the switch at a LID."""
    return ("vendstat", "-C", device, "-P", str(port), "-N", str(lid))
