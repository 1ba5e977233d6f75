# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""`iblinkinfo`: the links of a fabric."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# It queries each switch of the fabric, one port after the other.
TIMEOUT_SECONDS = 300.0

_ARROW = "==>"
_NEAR = re.compile(r'^(0x[0-9a-f]+) "([^"]*)" ')
_ACTIVE = re.compile(r"\bActive/")
_FAR = re.compile(r' *(0x[0-9a-f]+) +\d+ +\d+\[[^]]*\] "([^"]*)"')


def parse_active(text: str) -> dict[str, str]:
    """`iblinkinfo --line` -> the ports at both ends of each active link: node descriptions by port GUID, that of a switch for all of its ports."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        near = _NEAR.match(line)
        state = _ACTIVE.search(line, near.end()) if near else None
        arrow = line.find(_ARROW, state.end()) if state else -1
        far = _FAR.match(line, arrow + len(_ARROW)) if arrow >= 0 else None
        if near and far:
            found.update({near[1]: near[2].strip(), far[1]: far[2].strip()})
    return found


def active_ports(run: Runner) -> dict[str, str]:
    """The ports of all active links, as this node sees them. Raises RdmaError where they can't be listed."""
    return parse_active(run(["iblinkinfo", "--line"], timeout=TIMEOUT_SECONDS).stdout)
