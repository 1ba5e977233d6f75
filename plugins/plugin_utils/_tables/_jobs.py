# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The results of a job test, judged, as one table."""

from __future__ import annotations

import json
import os
import typing as t

from ...module_utils._check._table import verdict
from ...module_utils._errors import RdmaError
from ...module_utils._finding import Code
from ...module_utils._hosts import fold, sharing
from ...module_utils._jobs._reasons import reason_of
from ...module_utils._jobs._report import Ends, judge, limits_of, render, rows
from ...module_utils._jobs._types import MEMLOCK, SLURM, Figure, Job, as_data, from_data
from ...module_utils._pairs._report import results_of
from ...module_utils._plain import plain
from .._actions import registered, show
from .._files import moment, write_file

_ABSENT = "it has no result; see its tasks above"


def _started(results: t.Iterable[t.Mapping[str, t.Any]]) -> tuple[list[Job], list[str]]:
    """The jobs, each once, and the commands that would be run. A task with `run_once` has its result on all hosts."""
    found: dict[tuple[str, ...], Job] = {}
    commands: dict[str, None] = {}
    for result in results:
        for entry in result.get("jobs") or ():
            found.setdefault(tuple(entry["hosts"]), from_data(entry))
        commands.update(dict.fromkeys(result.get("commands") or ()))
    return list(found.values()), list(commands)


def _failed(results: t.Mapping[str, t.Mapping[str, t.Any]]) -> list[Job]:
    """A task that could start no job is a job with a problem."""
    words = {host: [str(result.get("msg") or _ABSENT)] for host, result in results.items() if result and "jobs" not in result and not result.get("skipped")}
    return [Job(tuple(hosts), problem=why, code=Code.JOB_FAILED.value) for why, hosts in sharing(words).items()]


def _without_slurm(arguments: t.Mapping[str, t.Any], ends: Ends, hostvars: t.Mapping[str, t.Any]) -> list[Figure]:
    """What was measured outside of jobs: the limits of sessions, and pairs."""
    figures = [Figure(MEMLOCK, (host,), soft=end["soft"], hard=end["hard"]) for host, end in ends.items() if MEMLOCK in arguments["tests"]]
    figures = [
        each if each.soft and each.hard else each._replace(problem="a session of the user told no limit", code=Code.JOB_FAILED.value) for each in figures
    ]
    found = {host: plain(hostvars[host].get(arguments["measured"]) or []) for host in ends} if arguments["measured"] else {}
    for result in results_of(found, {host: {"fabric": "", **end} for host, end in ends.items()}):
        problem = result.figure.problem
        code = reason_of(1, problem).value if problem else ""
        figures.append(Figure(result.figure.test, (result.server, result.client), result.figure.test, gbps=result.figure.gbps, problem=problem, code=code))
    return figures


def _notes(ends: Ends, absent: t.Mapping[str, str], planned: t.Iterable[str], *, slurm: bool) -> list[str]:
    lines = ["Not measured: %s: %s" % (host, why) for host, why in absent.items()]
    # A job of Slurm may find a tool that root does not.
    out = {host: end["left_out"] for host, end in ends.items() if not (slurm and end["port"])}
    left_out = sharing({host: ["%s: %s" % each for each in why.items()] for host, why in out.items()})
    lines += ["Left out: %s (%s)" % (what, fold(hosts)) for what, hosts in left_out.items()]
    lines += ["Only %s takes part: nothing is measured between nodes" % host for host in ends if len(ends) == 1]
    return [*lines, *("Would be run: " + command for command in planned)]


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    if not arguments["variable"]:
        raise RdmaError("kind jobs needs variable, the name of the variable with the results of job_test")
    limits = limits_of(arguments)
    ends, hostvars = arguments["ends"], task_vars["hostvars"]
    results = registered(task_vars, ends, arguments["variable"])
    jobs, commands = _started(results.values())
    jobs += _failed(results)
    if arguments["launcher"] != SLURM and not predicted:
        jobs.insert(0, Job(tuple(ends), figures=tuple(_without_slurm(arguments, ends, hostvars))))
    absent = {str(host): _ABSENT for host in task_vars["ansible_play_hosts_all"] if host not in ends}
    findings = rows(judge(jobs, limits, ends, launcher=arguments["launcher"]), arguments["launcher"]) if not predicted else []
    table = render(jobs, findings, user=arguments["user"], notes=_notes(ends, absent, commands if predicted else (), slurm=arguments["launcher"] == SLURM))
    show(table)
    result = {"findings": findings, "jobs": [as_data(job) for job in jobs], "absent": sorted(absent), "table": table.split("\n")}
    if arguments["report_dir"] and not predicted:
        write_file(os.path.join(arguments["report_dir"], "job-test.json"), json.dumps({"time": moment(), **result}, indent=1) + "\n")
    worst = verdict(findings, "%(object)s, %(test)s: found %(found)s, expected %(expected)s (%(code)s)")
    if worst and arguments["fail"]:
        result.update(failed=True, msg="job test: " + worst)
    return result
