# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The measurements of host pairs, judged, as a matrix."""

from __future__ import annotations

import json
import os
import typing as t

from ...module_utils._check._table import verdict
from ...module_utils._errors import RdmaError
from ...module_utils._pairs._report import judge, limits_of, notes_of, render, results_of, rows
from ...module_utils._plain import plain
from .._actions import show
from .._files import moment, write_file

_ABSENT = "it has no result; see its tasks above"


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    if not arguments["variable"]:
        raise RdmaError("kind pairs needs variable, the name of the variable with the results of each client")
    limits = limits_of(arguments)
    ends = arguments["ends"]
    # Include the measurements of hosts that failed later.
    found = {host: plain(task_vars["hostvars"][host].get(arguments["variable"]) or []) for host in ends}
    absent = {str(host): _ABSENT for host in task_vars["ansible_play_hosts_all"] if host not in ends}
    results = results_of(found, ends)
    findings = rows(judge(results, limits))
    planned = ["%s -> %s: %s" % (host, pair["server"], ", ".join(pair["tests"])) for host, pairs in found.items() for pair in pairs]
    table = render(results, findings, notes_of(ends, absent, planned if predicted else ()))
    show(table)
    data = [{**result._asdict(), **result.figure._asdict()} for result in results]
    for entry in data:
        del entry["figure"]
    result = {"findings": findings, "results": data, "absent": sorted(absent), "table": table.split("\n")}
    if arguments["report_dir"] and not predicted:
        write_file(os.path.join(arguments["report_dir"], "pair-test.json"), json.dumps({"time": moment(), **result}, indent=1) + "\n")
    worst = verdict(findings, "%(object)s, %(test)s: found %(found)s, expected %(expected)s (%(code)s)")
    if worst and arguments["fail"]:
        result.update(failed=True, msg="pair test: " + worst)
    return result
