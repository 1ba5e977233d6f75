# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The scripts of a job run in a real shell, and what they print is read."""

from __future__ import annotations

import os
import pathlib
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._jobs import _scripts
from ansible_collections.rdma.ofed.plugins.module_utils._jobs._reasons import reason_of
from ansible_collections.rdma.ofed.plugins.module_utils._jobs._types import Part, Setting
from hypothesis import given
from hypothesis import strategies as st

SERVER, CLIENT = Part("node1", "n1", "10.1.0.1", "mlx5_0/1", 100), Part("node2", "n2", "10.1.0.2", "mlx5_2/1", 100)
SETTING = Setting("alice", "slurm", step_seconds=20)


def run(script: str, node: str = "n1", path: pathlib.Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "%s:%s" % (path, os.defpath) if path else os.defpath, "SLURMD_NODENAME": node, **environment}
    return subprocess.run(["/bin/sh", "-c", script], env=env, capture_output=True, encoding="utf-8", check=False)


def tool(folder: pathlib.Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(0o755)


def test_a_node_tells_its_limits_and_tools(tmp_path: pathlib.Path) -> None:
    tool(tmp_path, "osu_latency", "")
    done = run("ulimit -S -l 64\n" + _scripts.probe(SETTING), path=tmp_path)
    told = _scripts.parse_probe("Welcome\n" + done.stdout, ["n1", "n2"])
    assert (done.returncode, done.stderr) == (0, "")
    assert told["n1"].soft == "64" and told["n1"].hard
    assert told["n1"].tools == {"osu_latency"}
    assert told["n2"] == _scripts.Told()


def test_a_container_tells_its_limits_or_why_it_does_not_run(tmp_path: pathlib.Path) -> None:
    tool(tmp_path, "runtime", 'ulimit -S -l 32; shift; exec "$@"\n')
    setting = SETTING._replace(container=("runtime", "my image"))
    told = _scripts.parse_probe(run(_scripts.probe(setting), path=tmp_path).stdout, ["n1"])["n1"]
    assert told.contained[0] == "32"
    tool(tmp_path, "runtime", "echo no such image >&2; exit 1\n")
    told = _scripts.parse_probe(run(_scripts.probe(setting), path=tmp_path).stdout, ["n1"])["n1"]
    assert (told.contained, told.container) == (("", ""), ("no such image",))


def test_values_are_no_shell(tmp_path: pathlib.Path) -> None:
    hostile = "'; touch %s; '$(touch %s)" % (tmp_path / "one", tmp_path / "two")
    setting = SETTING._replace(environment=(("A", hostile),), container=(hostile,))
    run(_scripts.probe(setting, hostile))
    run(_scripts.write(SERVER._replace(node=hostile), CLIENT, setting))
    run(_scripts.program([hostile], setting))
    assert not list(tmp_path.iterdir())


def test_setup_and_environment_come_before_the_program(tmp_path: pathlib.Path) -> None:
    tool(tmp_path, "osu_latency", 'echo "$UCX_TLS $LOADED $*"\n')
    setting = SETTING._replace(setup="export LOADED=yes", environment=(("UCX_TLS", "^tcp"),))
    assert run(_scripts.program(["osu_latency", "-m", "8:8"], setting), path=tmp_path).stdout == "^tcp yes -m 8:8\n"


def test_the_client_waits_for_its_server_and_both_use_their_own_device(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    tool(tmp_path, "sleep", "")
    late = 'echo "$*" >>%s; [ $(wc -l <%s) -gt 2 ] || { echo "Couldn\'t connect to 10.1.0.1:18600" >&2; exit 1; }; echo done' % (log, log)
    tool(tmp_path, "ib_write_bw", late)
    client = run(_scripts.write(SERVER, CLIENT, SETTING), "n2", tmp_path)
    assert (client.returncode, client.stdout) == (0, "done\n")
    assert set(log.read_text().splitlines()) == {
        "--ib-dev mlx5_2 --ib-port 1 --port 18600 --CPU-freq --size 65536 --duration 5 --report_gbits 10.1.0.1",
    }
    # The server is silent, unless it fails.
    assert run(_scripts.write(SERVER, CLIENT, SETTING), "n1", tmp_path).stdout == ""
    assert log.read_text().splitlines()[-1].endswith("--ib-dev mlx5_0 --ib-port 1 --port 18600 --CPU-freq --size 65536 --duration 5 --report_gbits")
    tool(tmp_path, "ib_write_bw", "echo Couldn\\'t allocate MR; exit 1\n")
    failed = run(_scripts.write(SERVER, CLIENT, SETTING), "n1", tmp_path)
    assert (failed.returncode, failed.stdout) == (1, "the server said: Couldn't allocate MR\n")


@given(st.text())
def test_any_text_of_a_job_is_data(text: str) -> None:
    for told in _scripts.parse_probe("rdma_job_test n1 soft %s\nrdma_job_test n1 container limits %s\n%s" % (text, text, text), ["n1"]).values():
        for value in (told.soft, told.hard, *told.contained):
            assert value in ("", "unlimited") or value.isdigit()


@pytest.mark.parametrize(
    ("status", "said", "code"),
    [
        (1, "Couldn't allocate MR\n failed to create mr\n", Code.JOB_NO_MEMORY),
        (1, "[n1] ucx  ERROR ibv_create_cq(cqe=4096) failed: Cannot allocate memory", Code.JOB_NO_MEMORY),
        (1, " IB device mlx5_0 not found\n", Code.JOB_NO_DEVICE),
        (255, "alice@node2: Permission denied (publickey,password).", Code.JOB_NO_LOGIN),
        (1, "Host key verification failed.", Code.JOB_NO_LOGIN),
        (1, "The application appears to have been direct launched using srun, but OMPI was not built with SLURM's PMI support", Code.JOB_NO_PMI),
        (1, "PML ucx cannot be selected", Code.JOB_NO_TRANSPORT),
        (124, "", Code.JOB_TIMED_OUT),
        (2, "Couldn't connect to 10.1.0.1:18600", Code.JOB_FAILED),
    ],
)
def test_a_failure_has_the_reason_that_is_known(status: int, said: str, code: Code) -> None:
    assert reason_of(status, said) is code


@given(st.integers(-10, 255), st.text())
def test_each_failure_has_a_reason(status: int, said: str) -> None:
    assert isinstance(reason_of(status, said), Code)


def test_limits_are_read_or_empty() -> None:
    cases: t.Mapping[str, tuple[str, str]] = {
        "limits 64 unlimited\n": ("64", "unlimited"),
        "motd\nlimits 64 128\n": ("64", "128"),
        "limits -1 x": ("", ""),
        "": ("", ""),
    }
    assert {text: _scripts.parse_limits(text) for text in cases} == cases
