# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the run ended on all hosts of the play."""

from __future__ import annotations

import typing as t

from ...module_utils._site._summary import render
from .. import _looks
from .._actions import show
from .._end_of_run import findings_of, host_of_run


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
    return {
        "done": done,
        "reasons": {host: own.reasons() for host, own in hosts.items() if not own.is_done},
    }
