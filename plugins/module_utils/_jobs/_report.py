# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a job test: its findings, their words, and the table for the terminal. Pure."""

from __future__ import annotations

import typing as t

from .._errors import Problem, require_none
from .._finding import SEVERITIES, Code, End, Finding, Form, Measure, Topic
from .._foreign import decimal, shown
from .._hosts import fold, natural
from .._tools import _slurm
from .._words import columns, finding_lines
from ._types import ALLTOALL, CONTAINER, MEMLOCK, SLURM, TESTS, WRITE, Figure, Job

UNLIMITED, KEEP = "unlimited", "keep"
_BY_HAND = "run the command of 'ansible-playbook ... rdma.ofed.job_test --check' by hand, as the user"
_RAISE = "set kernel_modules_memlock: unlimited, run rdma.ofed.site, then "
FORMS: t.Mapping[Code, Form] = {
    Code.JOB_REFUSED: Form(
        "{detail}",
        "a job ID",
        "the user has no account in Slurm, or the partition does not have these nodes",
        "set job_test_slurm_options, such as --account and --partition, and rdma_slurm_node where Slurm has other names for the nodes",
    ),
    Code.JOB_NOT_STARTED: Form(
        "{detail}",
        "a job that runs within job_test_wait seconds",
        "the nodes are busy, drained or reserved, as the reason says; the job was cancelled",
        "see 'sinfo --list-reasons' and 'squeue'; return the nodes to service, set job_test_wait, or choose idle nodes with --limit",
    ),
    Code.JOB_ENDED: Form(
        "{detail}",
        "a job that runs until the end of the test",
        "the job was cancelled, a node failed, or the prolog failed",
        "see 'scontrol show job' for its ID, 'scontrol show node', and the log of slurmd on these nodes",
    ),
    Code.JOB_MEMLOCK: Form("hard limit {detail} KiB", "{wanted}", "{cause}", "{remedy}"),
    Code.JOB_MEMLOCK_SOFT: Form("soft limit {detail} KiB", "{wanted}", "{cause}", "{remedy}"),
    Code.JOB_TOOL_MISSING: Form(
        "{detail}: not found",
        "a tool for each test in job_test_required",
        "it is not installed on all nodes, or not in PATH of the user",
        "install it, name the line that adds it to PATH in job_test_setup, or take the test out of job_test_required",
    ),
    Code.JOB_FAILED: Form("{detail}", "a result", "no known message tells", _BY_HAND),
    Code.JOB_TIMED_OUT: Form(
        "{detail}",
        "an end within job_test_step_seconds",
        "a firewall between the nodes, or a process that waits for another one",
        "see 'ibv_devinfo' and the routes on both nodes; set job_test_step_seconds if the tool needs more time",
    ),
    Code.JOB_NO_MEMORY: Form(
        "{detail}",
        "memory that the adapter can use",
        "the limit of locked memory of the job, or no free memory",
        "compare with test memlock; " + _RAISE + "restart slurmd",
    ),
    Code.JOB_NO_DEVICE: Form(
        "{detail}",
        "a port that is ACTIVE, and that the user may open",
        "the link is down, the device was renamed, or /dev/infiniband has other permissions than 0666",
        "see 'ls -l /dev/infiniband' and 'rdma link' on these nodes, and run rdma.ofed.verify",
    ),
    Code.JOB_NO_LOGIN: Form(
        "{detail}",
        "a login from node to node without a password",
        "the user has no key for the other nodes, or their host keys are not known",
        "let 'ssh -o BatchMode=yes NODE true' succeed as the user, or use Slurm",
    ),
    Code.JOB_NO_PMI: Form(
        "{detail}",
        "an MPI library that srun can start",
        "the MPI library and Slurm have no version of PMIx or PMI-2 in common, or its library is not installed on all nodes",
        "compare 'srun --mpi=list' with 'ompi_info | grep pmix'; set job_test_mpi",
    ),
    Code.JOB_NO_TRANSPORT: Form(
        "{detail}",
        "a transport over RDMA",
        "UCX was built without verbs, finds no device, or was told to use none",
        "see 'ucx_info -d' as the user on these nodes; job_test_environment has what the test sets",
    ),
    Code.JOB_OVER_TCP: Form(
        "{detail}",
        "IB",
        "NCCL found no adapter, or its plug-in is missing",
        "set NCCL_DEBUG: INFO in job_test_environment, see the lines with NET/IB, and check GPUDirect with rdma.ofed.verify",
    ),
    Code.JOB_WRONG_DATA: Form(
        "{detail}", "no wrong value", "a faulty GPU, adapter, driver, or ACS in the way of peer-to-peer traffic", "test each pair of nodes"
    ),
    Code.JOB_SLOW: Form(
        "{value:g} Gb/s",
        "{limit:g} Gb/s or more",
        "a slow link, other jobs on the nodes, or a program that does not use the adapter near to it",
        "measure the same nodes with rdma.ofed.pair_test, see both links with rdma.ofed.fabric, and bind tasks to NUMA nodes",
    ),
    Code.JOB_LATENCY: Form(
        "{value:g} us",
        "{limit:g} us or less",
        "power saving, other jobs on the nodes, or traffic that does not use RDMA",
        "compare with ib_write_lat of rdma.ofed.pair_test",
    ),
}
_DAEMON = "slurmd was started with this limit, or slurm.conf or its prolog sets it"
_CAUSES: t.Mapping[tuple[Code, bool], tuple[str, str]] = {
    (Code.JOB_MEMLOCK, True): (_DAEMON, _RAISE + "'systemctl restart slurmd' on these nodes"),
    (Code.JOB_MEMLOCK, False): ("pam_limits or sshd gives this limit to sessions of the user", _RAISE + "log in again"),
    (Code.JOB_MEMLOCK_SOFT, True): (
        "Slurm passes on the soft limit of the session in which the job was submitted",
        "set PropagateResourceLimitsExcept=MEMLOCK in slurm.conf, or " + _RAISE.replace(", then ", " on the host where jobs are submitted"),
    ),
    (Code.JOB_MEMLOCK_SOFT, False): ("a file of pam_limits sets the soft limit alone", _RAISE + "log in again"),
}
_IN_CONTAINER = (
    "the runtime of the container sets a limit of its own, or passes a low one on",
    "raise it in the settings of the runtime, such as --ulimit memlock=-1",
)


class Limits(t.NamedTuple):
    """The expected values. 0 means no limit."""

    memlock: str = UNLIMITED
    """KiB, UNLIMITED, or KEEP for no limit."""
    gbps: float = 0
    """If unset, `share` of the data rate of the slowest link is expected."""
    share: float = 0.8
    usec: float = 0
    """Of a ping-pong."""
    alltoall_usec: float = 0
    required: tuple[str, ...] = ()
    """Tests that must have a tool."""


Ends = t.Mapping[str, t.Mapping[str, t.Any]]
"""By host, the `end` that the role `look` of job_test returned."""


def limits_of(options: t.Mapping[str, t.Any]) -> Limits:
    """Parse the options. Raises InvalidInput."""
    limits = Limits(
        options["memlock"], options["min_gbps"], options["min_share"], options["max_usec"], options["max_alltoall_usec"], tuple(options["required"])
    )
    wrong = [Problem(name, options[name], "0 or more, 0 for no limit") for name in ("min_gbps", "max_usec", "max_alltoall_usec") if options[name] < 0]
    wrong += [] if 0 <= limits.share <= 1 else [Problem("min_share", limits.share, "a share from 0 to 1, 0 for no limit")]
    if limits.memlock not in (UNLIMITED, KEEP) and decimal(limits.memlock) is None:
        wrong.append(Problem("memlock", limits.memlock, "unlimited, keep, or a number of KiB"))
    require_none(wrong)
    return limits


def _reaches(found: str, wanted: str) -> bool:
    if wanted == KEEP or found == UNLIMITED:
        return True
    return wanted != UNLIMITED and decimal(found, 0) >= decimal(wanted, 0)


def _of_limit(figure: Figure, limits: Limits) -> tuple[Code, str] | None:
    for code, value in ((Code.JOB_MEMLOCK, figure.hard), (Code.JOB_MEMLOCK_SOFT, figure.soft)):
        if not _reaches(value, limits.memlock):
            return code, value
    return None


def _finding(code: Code, hosts: t.Iterable[str], test: str, **fields: t.Any) -> Finding:
    return Finding(code, Topic.JOB, aspect=test, ends=tuple(End("", host) for host in hosts), **fields)


def _of_figure(figure: Figure, limits: Limits, ends: Ends) -> Finding | None:
    """The finding about one result."""
    if figure.code:
        return _finding(Code(figure.code), figure.hosts, figure.test, detail=figure.problem)
    if figure.test in (MEMLOCK, CONTAINER):
        low = _of_limit(figure, limits)
        return _finding(low[0], figure.hosts, figure.test, wanted=limits.memlock, detail=low[1]) if low else None
    if figure.network and not figure.network.upper().startswith("IB"):
        return _finding(Code.JOB_OVER_TCP, figure.hosts, figure.test, detail=figure.network)
    rate = min((ends[host]["gbps"] for host in figure.hosts if host in ends), default=0.0)
    least = limits.gbps or round(limits.share * rate, 2)
    if figure.gbps is not None and figure.gbps < least:
        return _finding(Code.JOB_SLOW, figure.hosts, figure.test, measure=Measure(figure.gbps, least))
    most = limits.alltoall_usec if figure.test == ALLTOALL else limits.usec
    if figure.usec is not None and 0 < most < figure.usec:
        return _finding(Code.JOB_LATENCY, figure.hosts, figure.test, measure=Measure(figure.usec, most))
    return None


def judge(jobs: t.Sequence[Job], limits: Limits, ends: Ends, *, launcher: str) -> list[Finding]:
    """All findings: at most one of each result, and those of jobs and tests without any."""
    found: list[Finding] = []
    for job in jobs:
        if job.code:
            found.append(_finding(Code(job.code), job.hosts, "", detail=job.problem))
        found += [_finding(Code.JOB_TOOL_MISSING, job.hosts, test, detail=tools) for test, tools in job.missing if test in limits.required]
        found += [finding for figure in job.figures for finding in [_of_figure(figure, limits, ends)] if finding]
    for host, end in ends.items() if WRITE in limits.required else ():
        why = str(end["left_out"].get(WRITE, ""))
        # Such a host is in no pair. A job of Slurm looks for the tool itself.
        if not end["port"]:
            found.append(_finding(Code.JOB_NO_DEVICE, (host,), WRITE, detail=why))
        elif why and launcher != SLURM:
            found.append(_finding(Code.JOB_TOOL_MISSING, (host,), WRITE, detail=WRITE))
    return found


def row(finding: Finding, *, slurm: bool) -> dict[str, t.Any]:
    """The finding in the shape of an entry of `findings`."""
    value, limit = finding.measure or (0.0, 0.0)
    cause, remedy = _IN_CONTAINER if finding.aspect == CONTAINER else _CAUSES.get((finding.code, slurm), ("", ""))
    fields = {"detail": shown(finding.detail), "value": value, "limit": limit, "wanted": finding.wanted, "cause": cause, "remedy": remedy}
    hosts = [end.name for end in finding.ends]
    names = {"object": fold(hosts), "hosts": hosts, "test": finding.aspect or "job"}
    return {"severity": finding.severity.value, "code": finding.code.value, **names, **FORMS[finding.code].filled(fields)._asdict()}


def _merged(findings: t.Iterable[Finding]) -> list[Finding]:
    """Findings about single hosts that differ in the host alone become one."""
    same: dict[Finding, list[End]] = {}
    for finding in findings:
        alone = len(finding.ends) == 1
        same.setdefault(finding._replace(ends=()) if alone else finding, []).extend(finding.ends if alone else ())
    return [finding._replace(ends=tuple(ends)) if ends else finding for finding, ends in same.items()]


def rows(findings: t.Iterable[Finding], launcher: str) -> list[dict[str, t.Any]]:
    """The findings as rows, worst first, then in the order of the tests."""

    def rank(finding: Finding) -> tuple[t.Any, ...]:
        test = TESTS.index(finding.aspect) if finding.aspect in TESTS else -1
        return SEVERITIES.index(finding.severity), test, finding.code.value, [natural(end.name) for end in finding.ends]

    return [row(finding, slurm=launcher == SLURM) for finding in sorted(_merged(findings), key=rank)]


def _value(figure: Figure) -> str:
    if figure.problem:
        return "FAILED"
    if figure.test in (MEMLOCK, CONTAINER):
        return figure.soft if figure.soft == figure.hard else "%s, hard limit %s" % (figure.soft, figure.hard)
    values = ["%.4g us" % figure.usec if figure.usec is not None else "", "%.4g Gb/s" % figure.gbps if figure.gbps is not None else "", figure.network]
    return ", ".join(filter(None, values)) or "-"


def _section(job: Job, what: str) -> list[str]:
    """The table of one job. Hosts with equal limits share a line."""
    lines: dict[tuple[str, str, str], list[str]] = {}
    for figure in job.figures:
        alone = figure.test in (MEMLOCK, CONTAINER)
        key = (figure.test, figure.tool or "-", _value(figure)) if alone else (figure.test, figure.tool, _value(figure) + "\0" + "\0".join(figure.hosts))
        lines.setdefault(key, []).extend(figure.hosts)
    table = [("test", "tool", "hosts", "result"), *((test, tool, fold(hosts), value.partition("\0")[0]) for (test, tool, value), hosts in lines.items())]
    return ["", "%s on %s:" % (what, fold(job.hosts)), *(columns(table) if lines else ["nothing was measured"])]


def render(jobs: t.Sequence[Job], findings: t.Sequence[t.Mapping[str, t.Any]], *, user: str, notes: t.Iterable[str]) -> str:
    """The report. `notes`: lines about what was not measured."""
    lines = [*notes]
    for job in jobs:
        lines += ["Not installed for %s: %s (%s)" % (test, tools, fold(job.hosts)) for test, tools in job.missing]
        cancel = " ".join(_slurm.cancel_command(_slurm.JobId(job.number, job.cluster)))
        lines += ["Job %d was not cancelled: %s; run '%s'" % (job.number, shown(job.left), cancel)] if job.left else []
    for job in jobs:
        lines += _section(job, "Job %d of %s" % (job.number, user) if job.number else "Processes of %s" % user)
    if not findings:
        return "\n".join([*lines, "", "No findings." if any(job.figures for job in jobs) else "Nothing was measured."])
    return "\n".join([*lines, *finding_lines(findings)])
