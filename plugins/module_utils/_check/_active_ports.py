# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The active ports of a fabric, as one of its nodes sees them, and the ports that went down during maintenance.

The list grows with the fabric, so it stays on the node that made it.
"""

from __future__ import annotations

import json
import typing as t

from .._errors import RdmaError
from .._facts._asked import asked_port
from .._foreign import read_table
from .._host._files import apply_file, file_change, read_text, under
from .._host._turn import look_until
from .._tools._iblinkinfo import active_ports

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

RECORD = "/var/lib/rdma.ofed/fabric/ports.json"
PAUSE_SECONDS = 5.0

Ports = t.Mapping[str, str]
"""Node descriptions by port GUID. A switch has one GUID for all of its ports."""


def read_record(text: str) -> dict[str, str]:
    """The recorded ports; empty where there is no readable record."""
    return {str(guid): str(name) for guid, name in read_table(text).items()}


def record_text(ports: Ports) -> str:
    return json.dumps(ports, indent=1, sort_keys=True) + "\n"


def gone(before: Ports, now: Ports) -> list[dict[str, str]]:
    """The ports that were active before and are no longer, sorted by name."""
    lost = [{"port_guid": guid, "node_description": name} for guid, name in before.items() if guid not in now]
    return sorted(lost, key=lambda port: (port["node_description"], port["port_guid"]))


def _look(run: Runner, root: str) -> tuple[dict[str, str], str]:
    """The active ports, or the reason why they can't be listed."""
    port = asked_port("", root)
    if port is None:
        return {}, "this host has no InfiniBand port"
    try:
        return active_ports(run, port.device, port.port), ""
    except RdmaError as exc:
        return {}, exc.msg


def remember(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Record the active ports for `compare`. Where they can't be listed, the record of an earlier run is removed."""
    ports, reason = _look(run, root)
    path = under(root, RECORD)
    change = file_change(path, read_text(path), record_text(ports) if ports else "")
    if change is not None and not module.check_mode:
        apply_file(module, change)
    return {"active": len(ports), "gone": [], "reason": reason}


def compare(run: Runner, wait: float, root: str = "/") -> dict[str, t.Any]:
    """The recorded ports that are still missing after `wait` seconds."""
    before = read_record(read_text(under(root, RECORD)))
    if not before:
        return {"active": 0, "gone": [], "reason": "there is no record of active ports"}

    def look() -> dict[str, t.Any]:
        ports, reason = _look(run, root)
        return {"active": len(ports), "gone": [] if reason else gone(before, ports), "reason": reason}

    # A fabric that can't be listed now may become listable while this waits.
    return look_until(look, lambda found: not (found["gone"] or found["reason"]), patience=wait, pause=PAUSE_SECONDS)
