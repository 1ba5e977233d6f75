# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module job_test on a simulated host with a simulated Slurm."""

from __future__ import annotations

import pathlib
import shlex
import typing as t

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT, Output
from ansible_collections.rdma.ofed.plugins.module_utils._jobs._node import Node, work
from ansible_collections.rdma.ofed.plugins.module_utils._schema._job_test import OPTIONS
from ansible_collections.rdma.ofed.plugins.modules import job_test
from support.clocks import without_waiting

PARTS = [
    {"host": "node1", "node": "n1", "address": "10.1.0.1", "port": "mlx5_0/1", "gbps": 100},
    {"host": "node2", "node": "n2", "address": "10.1.0.2", "port": "mlx5_0/1", "gbps": 100},
]
BANDWIDTH = " #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n 65536 5000 0.00 97.31 0.18\n"
SAID = {
    "ib_write_bw": BANDWIDTH,
    "osu_latency": "# Size Latency (us)\n8 1.21\n",
    "osu_bw": "# Size Bandwidth (MB/s)\n4194304 12000.0\n",
    "osu_alltoall": "# Size Avg Latency(us)\n1024 9.5\n",
}
USERS = {"alice": 1000, "root": 0}


class Host:
    """A runner that plays Slurm. `states`: what squeue prints or how it fails, the last one for ever."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.states: list[str | Output] = ["PENDING|Priority", "RUNNING|None"]
        self.tools = {"runuser", "sbatch", "squeue", "srun", "scancel", "ib_write_bw"}
        self.said = {name: Output(0, text, "") for name, text in SAID.items()}
        self.submitted = Output(0, "12\n", "")
        self.found = Output(0, "", "")
        self.limits = "8192 unlimited"
        self.hangs: set[str] = set()
        self.cancelling = Output(0, "", "")
        self.calls: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return tool in self.tools

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        assert argv[:3] == ["runuser", "--login", "--shell=/bin/sh"] and argv[-1] == "alice"
        command = shlex.split(argv[3].partition("=")[2])
        self.calls.append(command)
        output = self.answer(command, timeout)
        # Like ModuleRunner.
        if ok is not None and output.rc not in ok:
            raise CommandFailed("%s did not end within %g s" % (command[0], timeout) if output.rc == TIMED_OUT else "%s failed" % command[0])
        return output

    def answer(self, command: list[str], timeout: float) -> Output:
        if command[0] == "sbatch":
            return self.submitted
        if command[0] == "squeue" and "--format=%i" in command:
            return self.found
        if command[0] == "squeue":
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return state if isinstance(state, Output) else Output(0, state, "")
        if command[0] == "scancel":
            return self.cancelling
        if "--mpi=list" in command:
            return Output(0, "", "MPI plugin types are...\n\tnone\n\tpmix\n")
        return self.step(command, timeout)

    def step(self, command: list[str], timeout: float) -> Output:
        script = command[-1]
        if "rdma_job_test" in script:
            nodes = [word.partition("=")[2] for word in command if word.startswith("--nodelist=")] or ["n1"]
            tools = [name for name in self.said if name in script]
            lines = ["soft %s" % self.limits.split()[0], "hard %s" % self.limits.split()[1], *("tool " + name for name in tools), "container limits 64 64"]
            return Output(0, "".join("rdma_job_test %s %s\n" % (node, line) for node in nodes[0].split(",") for line in lines), "")
        if script.startswith("echo limits"):
            return self.said.get("echo") or Output(0, "limits " + self.limits, "")
        tool = next(name for name in self.said if name in script)
        if tool in self.hangs:
            raise CommandFailed("srun did not end within %g s" % timeout)
        return self.said[tool]

    def module(self, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        given = {"role": "run", "user": "alice", **({"groups": [PARTS]} if options.get("role") != "look" else {}), **options}
        checked = ArgumentSpecValidator(OPTIONS).validate(given)
        assert checked.error_messages == []
        return work(Node(self, check, str(self.root), USERS.get), checked.validated_parameters)

    def job(self, **options: t.Any) -> dict[str, t.Any]:
        (job,) = self.module(**options)["jobs"]
        return t.cast("dict[str, t.Any]", job)

    def cancelled(self) -> list[list[str]]:
        return [call for call in self.calls if call[0] == "scancel"]


@pytest.fixture
def host(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    without_waiting(monkeypatch)
    return Host(tmp_path)


def test_a_job_measures_and_is_cancelled(host: Host) -> None:
    job = host.job(environment={"UCX_TLS": "^tcp"})
    assert (job["number"], job["problem"], job["missing"]) == (12, "", {"allreduce": "all_reduce_perf"})
    found = [(figure["test"], figure["hosts"], figure["soft"], figure["gbps"], figure["usec"]) for figure in job["figures"]]
    both = ("node1", "node2")
    assert found == [
        ("memlock", ("node1",), "8192", None, None),
        ("memlock", ("node2",), "8192", None, None),
        ("ib_write_bw", both, "", 97.31, None),
        ("pingpong", both, "", None, 1.21),
        ("pingpong", both, "", 96.0, None),
        ("alltoall", both, "", None, 9.5),
    ]
    assert host.cancelled() == [["scancel", "12"]]
    assert ["--mpi=pmix" in call for call in host.calls if "osu_latency -m" in call[-1]] == [True]


def test_a_job_that_does_not_start_is_cancelled_with_the_reason(host: Host) -> None:
    host.states = ["PENDING|ReqNodeNotAvail, UnavailableNodes:n2"]
    job = host.job(wait=1)
    assert (job["code"], job["problem"]) == ("job_not_started", "PENDING, reason ReqNodeNotAvail, UnavailableNodes:n2")
    assert host.cancelled() == [["scancel", "12"]]


def test_a_refused_job_quotes_slurm(host: Host) -> None:
    host.submitted = Output(1, "", "sbatch: error: Invalid account or account/partition combination specified\n")
    job = host.job()
    assert job["code"] == "job_refused" and "Invalid account" in job["problem"]
    assert host.cancelled() == []


UNTOLD = (Output(TIMED_OUT, "", ""), Output(1, "", "sbatch: error: Socket timed out on send/recv operation\n"), Output(0, "Welcome\n", ""))


@pytest.mark.parametrize("submitted", UNTOLD)
def test_a_job_that_slurm_took_without_saying_so_is_cancelled(host: Host, submitted: Output) -> None:
    host.submitted, host.found = submitted, Output(0, "13\n", "")
    job = host.job()
    assert (job["code"], job["number"], host.cancelled()) == ("job_failed", 13, [["scancel", "13"]])
    (name,) = [word.partition("=")[2] for word in host.calls[0] if word.startswith("--job-name=")]
    assert {"--user=alice", "--name=" + name} <= set(host.calls[1])


@pytest.mark.parametrize("submitted", UNTOLD)
def test_a_job_that_slurm_may_have_taken_is_named(host: Host, submitted: Output) -> None:
    host.submitted, host.found = submitted, Output(TIMED_OUT, "", "")
    job = host.job()
    assert (job["code"], job["number"], host.cancelled()) == ("job_failed", 0, [])
    assert "look for it with 'squeue --noheader --user=alice --name=rdma_job_test_" in job["problem"]


def test_two_jobs_have_two_names(host: Host) -> None:
    host.states = ["RUNNING|None"]
    host.module(groups=[PARTS, PARTS], tests=["memlock"])
    assert len({word for call in host.calls for word in call if word.startswith("--job-name=")}) == 2


def test_a_job_on_another_cluster_is_asked_for_there(host: Host) -> None:
    host.submitted = Output(0, "12;b\n", "")
    job = host.job(tests=["memlock"], options=["--clusters=b"])
    assert (job["number"], job["cluster"], host.cancelled()) == (12, "b", [["scancel", "--clusters=b", "12"]])
    assert all("--clusters=b" in call for call in host.calls if "list" not in call[-1])


def test_a_job_that_waits_is_looked_at_every_five_seconds(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    slept = without_waiting(monkeypatch)
    host.states = ["PENDING|Priority", "PENDING|Priority", "RUNNING|None"]
    host.job(tests=["memlock"])
    assert slept == [5, 5]


def test_a_job_that_somebody_cancelled_is_not_the_fault_of_the_tools(host: Host) -> None:
    host.said["ib_write_bw"] = Output(1, "", "srun: error: Slurm job 12 has expired\n")
    host.states = ["RUNNING|None", "CANCELLED|None"]
    assert (host.job()["code"], host.job()["problem"]) == ("job_ended", "CANCELLED")
    host.states = ["FAILED|NonZeroExitCode"]
    assert host.job()["problem"] == "FAILED, reason NonZeroExitCode"


BUSY = Output(1, "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")
SLOW = Output(TIMED_OUT, "", "")
GONE = Output(1, "", "slurm_load_jobs error: Invalid job id specified\n")


def test_a_job_whose_state_is_not_told_goes_on(host: Host) -> None:
    host.states = ["PENDING|Priority", BUSY, SLOW, "RUNNING|None"]
    assert (host.job(tests=["memlock"])["code"], host.cancelled()) == ("", [["scancel", "12"]])
    for failed in (BUSY, SLOW):
        host.states = ["RUNNING|None", failed]
        host.said["ib_write_bw"] = Output(1, "Couldn't allocate MR\n", "")
        job = host.job(tests=["ib_write_bw"])
        assert (job["code"], job["figures"][0]["code"]) == ("", "job_no_memory"), "what failed in the job is the finding"


@pytest.mark.parametrize(("failed", "words"), [(BUSY, "Unable to contact slurm controller"), (SLOW, "squeue did not end within 60 s")])
def test_a_job_that_slurm_never_told_of_has_not_started(host: Host, failed: Output, words: str) -> None:
    host.states = [failed]
    job = host.job(wait=1)
    assert job["code"] == "job_not_started" and words in job["problem"]


def test_a_job_that_slurm_has_forgotten_has_ended(host: Host) -> None:
    host.states = [GONE]
    assert (host.job()["code"], host.job()["problem"]) == ("job_ended", "no longer in the queue")


@pytest.mark.parametrize(
    ("cancelling", "left"),
    [
        (SLOW, "scancel did not end within 60 s"),
        (Output(1, "", ""), "exit status 1"),
        (Output(1, "", "scancel: error: Kill job error on job id 12\n"), "scancel: error: Kill job error on job id 12"),
    ],
)
def test_a_job_that_was_not_cancelled_is_named(host: Host, cancelling: Output, left: str) -> None:
    host.cancelling = cancelling
    assert host.job(tests=["memlock"])["left"] == left


def test_a_login_that_hangs_fails_the_look(host: Host) -> None:
    host.said["echo"] = SLOW
    with pytest.raises(CommandFailed, match="did not end within 60 s"):
        host.module(role="look")


def test_a_step_that_its_own_limit_ends_has_timed_out(host: Host) -> None:
    host.said["ib_write_bw"] = SLOW
    assert [figure["code"] for figure in host.job(tests=["ib_write_bw"])["figures"]] == ["job_timed_out"]


def test_what_fails_has_a_code_and_the_rest_goes_on(host: Host) -> None:
    host.said["ib_write_bw"] = Output(1, "Couldn't allocate MR\n", "srun: error: n1: task 0: Exited with exit code 1\n")
    host.hangs = {"osu_alltoall"}
    figures = {figure["tool"]: (figure["code"], figure["problem"]) for figure in host.job()["figures"] if figure["tool"]}
    assert figures["ib_write_bw"][0] == "job_no_memory"
    assert figures["osu_alltoall"] == ("job_timed_out", "srun did not end within 120 s")
    assert figures["osu_latency"] == ("", "")


def test_imb_stands_in_for_osu(host: Host) -> None:
    del host.said["osu_latency"], host.said["osu_bw"], host.said["osu_alltoall"]
    host.said["IMB-MPI1"] = Output(0, "#bytes #repetitions t[usec] Mbytes/sec\n1 1000 1.06 0.94\n4194304 10 340.0 12336.19\n", "")
    job = host.job(tests=["pingpong"])
    assert [(figure["tool"], figure["usec"], figure["gbps"]) for figure in job["figures"]] == [("IMB-MPI1", 1.06, 98.69)]


def test_a_container_has_its_own_limit(host: Host) -> None:
    figures = host.job(tests=["container"], container=["apptainer", "exec", "hpc.sif"])["figures"]
    assert [(figure["test"], figure["tool"], figure["soft"]) for figure in figures] == [("container", "apptainer", "64")] * 2


def test_pairs_have_jobs_of_their_own(host: Host) -> None:
    more = [{**part, "host": "m" + str(part["host"]), "node": "m" + str(part["node"])} for part in PARTS]
    host.states = ["RUNNING|None"]
    jobs = host.module(groups=[PARTS, more], tests=["memlock"])["jobs"]
    assert [job["hosts"] for job in jobs] == [("node1", "node2"), ("mnode1", "mnode2")]
    assert len(host.cancelled()) == 2


def test_mpirun_starts_programs_without_slurm(host: Host) -> None:
    job = host.job(launcher="ssh", tests=["memlock", "ib_write_bw", "pingpong"])
    assert [figure["tool"] for figure in job["figures"]] == ["osu_latency", "osu_bw"]
    assert "mpirun -np 2 --host n1,n2 --map-by node /bin/sh -l -c" in host.calls[-1][-1]
    assert not any(call[0] in ("sbatch", "scancel") for call in host.calls)


def test_check_mode_lists_and_submits_nothing(host: Host) -> None:
    result = host.module(True)
    assert result["jobs"] == [] and host.calls == []
    assert result["commands"][0].startswith("sbatch ")
    assert result["commands"][1:] == [
        "ulimit -l on node1, node2",
        "ib_write_bw on node1, node2",
        "osu_latency on node1, node2",
        "osu_bw on node1, node2",
        "osu_alltoall on node1, node2",
        "all_reduce_perf on node1, node2",
    ]


def test_a_host_tells_how_it_can_take_part(host: Host) -> None:
    end = host.module(role="look", node="n1", address="10.1.0.1")["end"]
    assert (end["user_id"], end["slurm"], end["soft"], end["hard"], end["node"], end["address"]) == (1000, True, "8192", "unlimited", "n1", "10.1.0.1")
    assert "no RDMA port is ACTIVE" in end["left_out"]["ib_write_bw"]


def test_users_that_prove_nothing_are_refused(host: Host) -> None:
    with pytest.raises(Refused, match="user bob does not exist on this host"):
        host.module(role="look", user="bob")
    with pytest.raises(Refused, match="user root is root"):
        host.module(role="look", user="root")
    with pytest.raises(InvalidInput, match="user is '--help'; allowed: "):
        host.module(user="--help")
    with pytest.raises(Refused, match="user alice has ID 1000 here, where the job is submitted, and 1001 on its hosts"):
        host.module(user_id=1001)


def test_what_can_not_be_is_refused(host: Host) -> None:
    wrong: t.Sequence[t.Mapping[str, t.Any]] = ({"seconds": 0}, {"wait": 0}, {"environment": {"A;B": "1"}}, {"mpi": "x y"})
    parts: t.Sequence[t.Any] = ("node1", None, {"host": "a"}, {**PARTS[0], "node": "-w"}, {**PARTS[0], "address": "-w"}, {**PARTS[0], "address": ""})
    for options in (*wrong, {"groups": [[]]}, *({"groups": [[part]]} for part in parts)):
        with pytest.raises(InvalidInput, match="allowed: "):
            host.module(**options)
    host.tools -= {"srun"}
    with pytest.raises(Unsupported, match="srun of Slurm is not installed on this host"):
        host.module()


def test_the_module_hands_its_options_over(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[t.Any] = []
    monkeypatch.setattr(job_test, "answer", lambda options, call, root: handed.append((options, root)))
    job_test.main()
    assert handed == [(OPTIONS, True)]
