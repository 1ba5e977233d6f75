# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the jobs of a test, each in a thread, and measure in them."""

from __future__ import annotations

import typing as t
from concurrent.futures import ThreadPoolExecutor

from .._errors import RdmaError, UnexpectedOutput
from .._finding import Code
from .._tools import _benchmarks, _measure, _slurm
from . import _scripts
from ._launch import MpirunJob, SlurmJob
from ._reasons import reason_of
from ._types import ALLREDUCE, ALLTOALL, CONTAINER, MEMLOCK, PINGPONG, SLURM, WRITE, Figure, Job, Part, Setting, pairs_of

if t.TYPE_CHECKING:
    from .._host._run import Output, Runner
    from ._launch import Launcher

# Each thread waits for a process nearly all of the time.
_WORKERS = 16
_Step = t.Tuple[str, t.Tuple[Part, ...], str, str, bool]
"""The test, its nodes, its tool, its script, and whether it is a program of MPI."""


def _hosts(parts: t.Iterable[Part]) -> tuple[str, ...]:
    return tuple(part.host for part in parts)


def _commands(test: str, tool: str, setting: Setting, *, count: int) -> list[tuple[str, ...]]:
    """The programs of a test with MPI."""
    if test == PINGPONG:
        second = [] if tool == _benchmarks.IMB else [_benchmarks.bandwidth_command(_benchmarks.OSU_BANDWIDTH)]
        return [_benchmarks.latency_command(tool), *second]
    return [_benchmarks.alltoall_command(tool, count) if test == ALLTOALL else _benchmarks.allreduce_command(setting.gpus)]


def steps_of(test: str, tool: str, setting: Setting, *, parts: t.Sequence[Part]) -> list[list[_Step]]:
    """The steps of a test in rounds, in each of which no node has two."""
    if len(parts) < 2:
        return []
    if test in (ALLTOALL, ALLREDUCE):
        return [[(test, tuple(parts), argv[0], _scripts.program(argv, setting), True)] for argv in _commands(test, tool, setting, count=len(parts))]
    if test == WRITE:
        able = [part for part in parts if part.port]
        return [[(test, pair, tool, _scripts.write(*pair, setting), False) for pair in pairs] for pairs in pairs_of(able)]
    return [
        [(test, pair, argv[0], _scripts.program(argv, setting), True) for pair in pairs]
        for pairs in pairs_of(parts)
        for argv in _commands(test, tool, setting, count=2)
    ]


def figure(test: str, tool: str, output: Output, *, hosts: tuple[str, ...]) -> Figure:
    """What a step has measured, or why it has not."""
    text = output.stdout + "\n" + output.stderr
    found = Figure(test, hosts, tool)
    try:
        if output.rc:
            raise UnexpectedOutput("exit status %d: %s" % (output.rc, _measure.last_words(text) or "no output"))
        if tool == WRITE:
            return found._replace(gbps=_measure.parse_bandwidth(output.stdout))
        if tool == _benchmarks.NCCL:
            result = _benchmarks.parse_all_reduce(output.stdout)
            if result.wrong:
                return found._replace(problem="%d wrong values" % result.wrong, code=Code.JOB_WRONG_DATA.value)
            if result.ranks < len(hosts):
                raise UnexpectedOutput("%s was built without MPI: %d of %d processes took part together" % (tool, result.ranks, len(hosts)))
            return found._replace(gbps=result.gbps, network=result.network)
        if tool == _benchmarks.IMB and test == PINGPONG:
            return found._replace(**_benchmarks.parse_imb_pingpong(output.stdout)._asdict())
        if tool == _benchmarks.OSU_BANDWIDTH:
            return found._replace(gbps=_benchmarks.parse_osu_bandwidth(output.stdout))
        parse = _benchmarks.parse_imb_alltoall if tool == _benchmarks.IMB else _benchmarks.parse_osu_latency
        return found._replace(usec=parse(output.stdout))
    except UnexpectedOutput as exc:
        return found._replace(problem=exc.msg, code=reason_of(output.rc, text).value)


def _measured(launcher: Launcher, step: _Step) -> Figure:
    test, parts, tool, script, mpi = step
    try:
        return figure(test, tool, launcher.step(parts, script, mpi=mpi), hosts=_hosts(parts))
    except RdmaError as exc:
        return Figure(test, _hosts(parts), tool, problem=exc.msg, code=Code.JOB_TIMED_OUT.value)


def _limits(setting: Setting, part: Part, told: _scripts.Told) -> t.Iterator[Figure]:
    """The limits of locked memory of a node, in the job and in a container in it."""
    if MEMLOCK in setting.tests:
        found = Figure(MEMLOCK, (part.host,), soft=told.soft, hard=told.hard)
        yield found if told.soft and told.hard else found._replace(problem="the job told no limit on this node", code=Code.JOB_FAILED.value)
    if setting.container and CONTAINER in setting.tests:
        soft, hard = told.contained
        found = Figure(CONTAINER, (part.host,), setting.container[0], soft, hard)
        said = " | ".join(told.container)[-400:] or "nothing"
        yield found if soft and hard else found._replace(problem="%s said: %s" % (setting.container[0], said), code=Code.JOB_FAILED.value)


def _tool_of(test: str, told: t.Collection[_scripts.Told]) -> str:
    """The first tool of a test that all nodes have; "" for none."""
    return next((tool for tool in _scripts.TOOLS[test] if all(tool in each.tools for each in told)), "")


def _look(launcher: Launcher, setting: Setting, parts: t.Sequence[Part]) -> tuple[dict[str, _scripts.Told], Output]:
    """Without Slurm, the hosts told their limits already, and mpirun starts what the first one has."""
    asked = parts if setting.launcher == SLURM else parts[:1]
    output = launcher.step(asked, _scripts.probe(setting, "" if setting.launcher == SLURM else parts[0].node))
    return _scripts.parse_probe(output.stdout, [part.node for part in asked]), output


def _measure_all(launcher: Launcher, setting: Setting, job: Job, *, parts: t.Sequence[Part]) -> Job:
    told, output = _look(launcher, setting, parts)
    if output.rc and not any(each.soft for each in told.values()):
        text = output.stderr + output.stdout
        return job._replace(problem=_measure.last_words(text) or "exit status %d" % output.rc, code=reason_of(output.rc, text).value)
    figures = [limit for part in parts if setting.launcher == SLURM for limit in _limits(setting, part, told[part.node])]
    missing: list[tuple[str, str]] = []
    with ThreadPoolExecutor(max_workers=_WORKERS) as pool:
        for test in (test for test in _scripts.TOOLS if test in setting.tests and (test != WRITE or setting.launcher == SLURM)):
            tool = _tool_of(test, told.values())
            if not tool:
                missing.append((test, " or ".join(_scripts.TOOLS[test])))
            for steps in steps_of(test, tool, setting, parts=parts) if tool else ():
                figures += pool.map(lambda step: _measured(launcher, step), steps)
    return job._replace(figures=tuple(figures), missing=tuple(missing))


def _length(setting: Setting, parts: t.Sequence[Part]) -> int:
    """The time limit of a job in seconds: that of its steps, and some time to start and to end them."""
    steps = 1 + sum(len(steps_of(test, tools[0], setting, parts=parts)) for test, tools in _scripts.TOOLS.items() if test in setting.tests)
    return 60 + steps * setting.step_seconds


def _launcher(run: Runner, setting: Setting, parts: t.Sequence[Part]) -> Launcher:
    if setting.launcher != SLURM:
        return MpirunJob(run, setting, parts)
    return SlurmJob(run, setting, parts, seconds=_length(setting, parts))


def run_job(run: Runner, setting: Setting, parts: t.Sequence[Part]) -> Job:
    """Submit one job, measure, and end it, whatever happens."""
    launcher = _launcher(run, setting, parts)
    job = Job(_hosts(parts))
    left = ""
    try:
        job = launcher.start()
        if not job.code:
            job = _measure_all(launcher, setting, job, parts=parts)
            # A step also fails where the job was ended from outside.
            why = launcher.ended() if job.code or any(each.code for each in job.figures) else ""
            job = job._replace(problem=why, code=Code.JOB_ENDED.value) if why else job
    except RdmaError as exc:
        job = job._replace(problem=exc.msg, code=Code.JOB_FAILED.value)
    finally:
        left = launcher.stop()
    return job._replace(left=left)


def run_jobs(run: Runner, setting: Setting, groups: t.Sequence[t.Sequence[Part]]) -> list[Job]:
    """All jobs at the same time, as far as the queue has nodes for them."""
    with ThreadPoolExecutor(max_workers=_WORKERS) as pool:
        return list(pool.map(lambda parts: run_job(run, setting, parts), groups))


def planned(setting: Setting, parts: t.Sequence[Part]) -> list[str]:
    """The command lines of a job, in words. Which of the tools runs is found in the job."""
    lines = []
    if setting.launcher == SLURM:
        submit = _slurm.submit_command([part.node for part in parts], _length(setting, parts), setting.options)
        lines.append(_scripts.words(submit))
    lines += ["ulimit -l on %s" % ", ".join(_hosts(parts))] if MEMLOCK in setting.tests else []
    lines += [_scripts.words([*setting.container, "sh", "-c", "ulimit -l"])] if setting.container and CONTAINER in setting.tests else []
    for test, tools in _scripts.TOOLS.items():
        for steps in steps_of(test, tools[0], setting, parts=parts) if test in setting.tests else ():
            lines += ["%s on %s" % (tool, ", ".join(_hosts(nodes))) for _test, nodes, tool, _script, _mpi in steps]
    return lines
