# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcomes of node_check on all hosts of the play, as a table and as files."""

from __future__ import annotations

import json
import os
import typing as t

from ...module_utils._check._concern import OWN
from ...module_utils._check._fleet import survey
from ...module_utils._check._report import as_data, cases_of
from ...module_utils._check._table import differences_of, foreseen, render, render_foreseen
from ...module_utils._check._words import line_of
from ...module_utils._junit import junit
from .._actions import registered, show
from .._end_of_run import host_of_run
from .._files import moment, write_file
from .._report._document import explanations
from .._report._nodes_page import nodes_page

if t.TYPE_CHECKING:
    from ...module_utils._check._fleet import Fleet, Results


def _write(folder: str, results: Results, *, fleet: Fleet, differences: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """Write the files for tools and for people; return the path of the latter. Raises RdmaError."""
    stem, now = os.path.join(folder, "verify-findings"), moment()
    write_file(stem + ".html", nodes_page(results, fleet, differences, time=now, explanations=explanations()))
    write_file(stem + ".xml", junit("rdma.ofed.verify", cases_of(fleet)))
    write_file(stem + ".json", json.dumps({"time": now, **as_data(results, fleet, differences)}, indent=1) + "\n")
    return stem + ".html"


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    # All hosts of the play: failed and unreachable ones belong in the table, too.
    found = registered(task_vars, task_vars["ansible_play_hosts_all"], arguments["variable"] or "node_check_outcome")
    for host, result in list(found.items()):
        if not result or result.get("skipped"):
            own = host_of_run(host, task_vars, variables=arguments["variables"], failures=arguments["failures"], alive=())
            if OWN in own.deferred:
                del found[host]
            else:
                found[host] = {"why": "; ".join(own.reasons())}
    if arguments["foresee"]:
        deviations = foreseen(found)
        if deviations:
            show(render_foreseen(deviations))
        return {"deviations": {host: [line_of(each) for each in own] for host, own in deviations.items()}, "differences": []}
    fleet, differences = survey(found), differences_of(found)
    failing = fleet.failing()
    if failing or not arguments["quiet"]:
        show(render(found, fleet, differences, full=arguments["full"]))
    # After the table, so that findings are shown even if the folder can't be written.
    if arguments["report_dir"] and not predicted:
        show("Report: " + _write(arguments["report_dir"], found, fleet=fleet, differences=differences))
    return {"deviations": failing, "differences": differences}
