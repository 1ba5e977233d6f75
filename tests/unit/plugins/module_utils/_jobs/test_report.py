# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The results of a job are judged by limits, and each failure has its cause and next step."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._jobs._report import FORMS, Limits, judge, limits_of, render, rows
from ansible_collections.rdma.ofed.plugins.module_utils._jobs._types import SLURM, SSH, Figure, Job
from hypothesis import given
from hypothesis import strategies as st

HOSTS = ("node1", "node2")
ENDS: t.Mapping[str, t.Mapping[str, t.Any]] = {host: {"gbps": 100, "port": "mlx5_0/1", "left_out": {}} for host in HOSTS}
GOOD = (
    Figure("memlock", ("node1",), soft="unlimited", hard="unlimited"),
    Figure("memlock", ("node2",), soft="unlimited", hard="unlimited"),
    Figure("ib_write_bw", HOSTS, "ib_write_bw", gbps=97.3),
    Figure("pingpong", HOSTS, "osu_latency", usec=1.2),
    Figure("alltoall", HOSTS, "osu_alltoall", usec=9.5),
    Figure("allreduce", HOSTS, "all_reduce_perf", gbps=380, network="IB"),
)


def found(*figures: Figure, launcher: str = SLURM, ends: t.Any = ENDS, job: t.Mapping[str, t.Any] | None = None, **limits: t.Any) -> list[dict[str, t.Any]]:
    return rows(judge([Job(HOSTS, 12, figures=figures, **(job or {}))], Limits(**limits), ends, launcher=launcher), launcher)


def test_a_good_job_has_no_finding() -> None:
    assert found(*GOOD, required=("memlock", "ib_write_bw")) == []


@pytest.mark.parametrize(
    ("soft", "hard", "code", "step"),
    [
        ("64", "64", "job_memlock", "systemctl restart slurmd"),
        ("64", "unlimited", "job_memlock_soft", "PropagateResourceLimitsExcept=MEMLOCK"),
        ("unlimited", "unlimited", "", ""),
    ],
)
def test_a_low_limit_is_blamed_on_what_set_it(soft: str, hard: str, code: str, step: str) -> None:
    findings = found(*(Figure("memlock", (host,), soft=soft, hard=hard) for host in HOSTS))
    assert [finding["code"] for finding in findings] == [code] * bool(code)
    assert all(step in finding["next_step"] and finding["object"] == "node[1-2]" for finding in findings)


def test_limits_of_sessions_and_containers_have_causes_of_their_own() -> None:
    (session,) = found(Figure("memlock", ("node1",), soft="64", hard="64"), launcher=SSH)
    assert "pam_limits" in session["cause"] and "slurmd" not in session["next_step"]
    (container,) = found(Figure("container", ("node1",), soft="64", hard="64"))
    assert "container" in container["cause"]


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 40))
def test_a_limit_in_kib_is_compared_as_a_number(soft: int, wanted: int) -> None:
    findings = found(Figure("memlock", ("node1",), soft=str(soft), hard="unlimited"), memlock=str(wanted))
    assert bool(findings) is (soft < wanted)


def test_what_is_slow_is_compared_with_the_slower_link() -> None:
    assert [finding["expected"] for finding in found(GOOD[2]._replace(gbps=60))] == ["80 Gb/s or more"]
    slower = {**ENDS, "node2": {**ENDS["node2"], "gbps": 50}}
    assert found(GOOD[2]._replace(gbps=60), ends=slower) == []
    unknown = {**ENDS, "node2": {**ENDS["node2"], "gbps": 0}}
    assert found(GOOD[2]._replace(gbps=1), ends=unknown) == []
    assert [finding["code"] for finding in found(*GOOD, gbps=1000, usec=1, alltoall_usec=9)] == [
        "job_slow",
        "job_latency",
        "job_latency",
        "job_slow",
    ]


def test_nccl_over_tcp_is_named() -> None:
    assert [(finding["code"], finding["found"]) for finding in found(GOOD[5]._replace(network="Socket"))] == [("job_over_tcp", "Socket")]


def test_missing_tools_are_errors_where_they_are_required() -> None:
    missing = {"missing": (("ib_write_bw", "ib_write_bw"), ("alltoall", "osu_alltoall or IMB-MPI1"))}
    assert [(finding["code"], finding["test"]) for finding in found(job=missing, required=("ib_write_bw",))] == [("job_tool_missing", "ib_write_bw")]
    without = {**ENDS, "node2": {"gbps": 0, "port": "", "left_out": {"ib_write_bw": "no RDMA port is ACTIVE"}}}
    (finding,) = found(ends=without, required=("ib_write_bw",))
    assert (finding["code"], finding["object"], finding["found"]) == ("job_no_device", "node2", "no RDMA port is ACTIVE")
    bare = {**ENDS, "node2": {**ENDS["node2"], "left_out": {"ib_write_bw": "ib_write_bw of perftest is not installed"}}}
    assert [finding["code"] for finding in found(ends=bare, required=("ib_write_bw",), launcher=SSH)] == ["job_tool_missing"]
    assert found(ends=bare, required=("ib_write_bw",)) == []


def test_a_job_without_result_is_a_finding() -> None:
    (finding,) = found(job={"problem": "PENDING, reason Resources", "code": "job_not_started"})
    assert (finding["test"], finding["found"]) == ("job", "PENDING, reason Resources")


@pytest.mark.parametrize("code", sorted(FORMS))
def test_each_finding_has_cause_and_next_step(code: Code) -> None:
    figure = Figure("memlock", ("node1",), soft="1", hard="1" if code is Code.JOB_MEMLOCK else "unlimited")
    limit = code in (Code.JOB_MEMLOCK, Code.JOB_MEMLOCK_SOFT)
    for launcher in (SLURM, SSH):
        (finding,) = found(figure if limit else Figure("pingpong", HOSTS, problem="x {y} \x1b[2J", code=code.value), launcher=launcher)
        assert finding["code"] == code.value and finding["cause"] and finding["next_step"]
        assert "\x1b" not in str(finding)


def test_the_table_has_a_line_for_equal_hosts() -> None:
    job = Job(HOSTS, 12, figures=GOOD, left="no such job", missing=(("container", "apptainer"),))
    lines = render([job], [], user="alice", notes=["Left out: x"]).split("\n")
    assert lines[:4] == [
        "Left out: x",
        "Not installed for container: apptainer (node[1-2])",
        "Job 12 was not cancelled: no such job; run 'scancel 12'",
        "",
    ]
    assert lines[4] == "Job 12 of alice on node[1-2]:"
    assert [line.split() for line in lines[7:9]] == [["memlock", "-", "node[1-2]", "unlimited"], ["ib_write_bw", "ib_write_bw", "node[1-2]", "97.3", "Gb/s"]]
    assert lines[-1] == "No findings."
    elsewhere = render([job._replace(cluster="b")], [], user="alice", notes=())
    assert "run 'scancel --clusters=b 12'" in elsewhere
    failed = render([Job(HOSTS, figures=(Figure("pingpong", HOSTS, "osu_bw", problem="x"),))], [], user="alice", notes=())
    assert "FAILED" in failed and "Processes of alice on node[1-2]:" in failed


def test_limits_that_can_not_be_are_refused() -> None:
    good = {"memlock": "unlimited", "min_gbps": 0, "min_share": 0.8, "max_usec": 0, "max_alltoall_usec": 0, "required": []}
    assert limits_of(good) == Limits()
    for name, value in (("memlock", "much"), ("min_share", 2), ("min_gbps", -1)):
        with pytest.raises(InvalidInput, match="%s is .*; allowed: " % name):
            limits_of({**good, name: value})
