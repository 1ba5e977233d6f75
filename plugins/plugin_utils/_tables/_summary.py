# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the run ended on all hosts of the play."""

from __future__ import annotations

import json
import os
import typing as t

from ansible import context

from ...module_utils._errors import RdmaError
from ...module_utils._foreign import shown_lines
from ...module_utils._site._pending import pending_of
from ...module_utils._site._run_report import as_data
from ...module_utils._site._summary import render
from .. import _looks
from .._actions import show
from .._end_of_run import findings_of, host_of_run
from .._facts_of_run import as_set
from .._files import moment, write_file

if t.TYPE_CHECKING:
    from ...module_utils._site._summary import Host

_KEPT = ("run", "report")


def _write(folder: str, hosts: t.Mapping[str, Host], task_vars: t.Mapping[str, t.Any], *, predicted: bool) -> str:
    """Write the file for other programs; return its path. Raises RdmaError."""
    now = moment()
    # A run may print more than one summary. The last one replaces the file.
    path = _looks.recall_survey(*_KEPT) or os.path.join(folder, "run-%s-%d.json" % (now.replace(":", "-"), os.getppid()))
    _looks.keep_survey(*_KEPT, path)
    about = {
        "time": now,
        "playbooks": [str(name) for name in context.CLIARGS.get("args") or ()],
        "limit": str(context.CLIARGS.get("subset") or ""),
        "check_mode": predicted,
    }
    entries = {host: pending_of(as_set(task_vars["hostvars"], host).get("rdma_pending") or [], "rdma_pending of " + host) for host in hosts}
    pending = {host: [entry.result() for entry in own] for host, own in entries.items()}
    write_file(path, json.dumps(as_data(hosts, pending=pending, about=about), indent=1) + "\n")
    return str(path)


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    # Those that have come to a task of this kind have failed.
    alive = set() if arguments["once_all_arrived"] else {str(host) for host in arguments["alive"] or task_vars["ansible_play_hosts"]}
    untouched = set(arguments["untouched"])
    named = arguments["deviations"]
    told = {str(host): [str(line) for line in lines] for host, lines in named.items()} if isinstance(named, dict) else {}
    hosts = {}
    for host in alive.difference(map(str, named)):
        found = findings_of(host, task_vars, arguments["findings"])
        if found is not None:
            told[host] = found
    for host in map(str, arguments["hosts"] or task_vars["ansible_play_hosts_all"]):
        own = host_of_run(host, task_vars, variables=arguments["variables"], failures=arguments["failures"], alive=alive)
        hosts[host] = own._replace(deviates=host in told or host in named, deviations=told.get(host, ()), untouched=host in untouched)
    show(render(hosts, predicted=predicted))
    done = [host for host, own in hosts.items() if own.is_done]
    _looks.keep_done(done)
    answered: dict[str, t.Any] = {"done": done, "reasons": {host: own.reasons() for host, own in hosts.items() if not own.is_done}}
    if arguments["report_dir"]:
        # All work is done by now, and a file that can't be written makes no host fail.
        try:
            show("Report of this run: " + _write(arguments["report_dir"], hosts, task_vars, predicted=predicted))
        except RdmaError as exc:
            answered["warnings"] = ["the report of this run was not written (rdma_report_dir): %s" % shown_lines(exc.msg)]
    return answered
