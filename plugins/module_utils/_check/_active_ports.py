# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The active ports of a fabric, as one of its nodes sees them, and which of them are gone after something was done to the fabric.

The list is as long as the fabric is big, so it stays on the node that made it.
"""

from __future__ import annotations

import json
import re
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file, file_change, read_text

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

RECORD = "/var/lib/rdma.ofed/fabric/ports.json"
# It asks each switch of the fabric one port after the other.
TIMEOUT_SECONDS = 300.0
PAUSE_SECONDS = 5.0

_LINK = re.compile(r'^(0x[0-9a-f]+) "([^"]*)" .*\bActive/.*==> *(0x[0-9a-f]+) +\d+ +\d+\[[^]]*\] "([^"]*)"')

Ports = t.Mapping[str, str]
"""Node descriptions by port GUID; that of a switch stands for all of its ports."""


def parse_links(text: str) -> dict[str, str]:
    """C(iblinkinfo --line) -> the ports at both ends of each link that is active."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINK.match(line)
        if match:
            found.update({match[1]: match[2].strip(), match[3]: match[4].strip()})
    return found


def read_record(text: str) -> dict[str, str]:
    """The list of before; empty where there is none that can be read."""
    try:
        record = json.loads(text)
    except ValueError:
        return {}
    return {str(guid): str(name) for guid, name in record.items()} if isinstance(record, dict) else {}


def record_text(ports: Ports) -> str:
    return json.dumps(ports, indent=1, sort_keys=True) + "\n"


def gone(before: Ports, now: Ports) -> list[dict[str, str]]:
    """The ports that were active before and are not now, by name."""
    lost = [{"port_guid": guid, "node_description": name} for guid, name in before.items() if guid not in now]
    return sorted(lost, key=lambda port: (port["node_description"], port["port_guid"]))


def _look(run: Runner) -> tuple[dict[str, str], str]:
    """The active ports, or why they can't be listed."""
    try:
        return parse_links(run(["iblinkinfo", "--line"], timeout=TIMEOUT_SECONDS).stdout), ""
    except RdmaError as exc:
        return {}, exc.msg


def remember(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Keep the list, for C(compare). Where there is none, what an earlier run has kept is forgotten."""
    ports, reason = _look(run)
    path = root.rstrip("/") + RECORD
    change = file_change(path, read_text(path), record_text(ports) if ports else "")
    if change is not None and not module.check_mode:
        apply_file(module, change)
    return {"active": len(ports), "gone": [], "reason": reason}


def compare(run: Runner, wait: float, root: str = "/") -> dict[str, t.Any]:
    """What is missing of the list that was kept, for longer than C(wait) seconds."""
    before = read_record(read_text(root.rstrip("/") + RECORD))
    if not before:
        return {"active": 0, "gone": [], "reason": "there is no list of before"}
    end = time.monotonic() + wait
    while True:
        ports, reason = _look(run)
        missing = [] if reason else gone(before, ports)
        # What can't be listed may come back as well.
        if time.monotonic() >= end or not (missing or reason):
            return {"active": len(ports), "gone": missing, "reason": reason}
        time.sleep(PAUSE_SECONDS)
