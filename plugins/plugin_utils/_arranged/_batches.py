# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The batches of a rolling run."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import RdmaError, require_none
from ...module_utils._hosts import fold
from ...module_utils._opensm._placement import read_members
from ...module_utils._opensm._rolling import batches, problems
from ...module_utils._site._problems import serial_problems
from .._actions import show


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    if not arguments["due"]:
        raise RdmaError("kind batches needs due, the name of the variable that is true on hosts with work to do")
    hosts = [str(host) for host in task_vars["ansible_play_hosts"]]
    groups, hostvars = task_vars["groups"], task_vars["hostvars"]
    order, serial = arguments["groups"], arguments["serial"]
    members, _faults = read_members(groups, hostvars)
    require_none(problems(order, groups=groups, hosts=hosts, members=members) + serial_problems({"rdma_serial": serial}))
    due = [host for host in hosts if hostvars[host].get(arguments["due"])]
    names = {group: [str(host) for host in groups[group]] for group in order}
    found = batches(due, order=order, groups=names, members=members, serial=serial)
    lines = ["batch %d of %d (%s): %s" % (number, len(found), batch.label, fold(batch.hosts)) for number, batch in enumerate(found, 1)]
    if len(due) < len(hosts):
        lines.append("nothing to do on %d of %d hosts" % (len(hosts) - len(due), len(hosts)))
    show("\n".join(lines))
    return {
        "batches": [{"number": number, "of": len(found), "label": batch.label, "hosts": list(batch.hosts)} for number, batch in enumerate(found, 1)],
        "hosts": [host for batch in found for host in batch.hosts],
        "sizes": [len(batch.hosts) for batch in found],
    }
