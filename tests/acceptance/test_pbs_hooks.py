# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hooks for PBS, with a stand-in for pbsnodes on node1."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from proofs import LOOK_ALIKE

HOST, NODE = "node1", "node2"
STANDIN = pathlib.Path(__file__).with_name("pbsnodes.sh").read_text(encoding="utf-8")
STATE = "/var/lib/pbs-standin/%s" % NODE
OURS = "rdma.ofed upgrade"
DRAIN, UNDRAIN = "take_out_of_service", "bring_back_into_service"


class Pbs(t.NamedTuple):
    lab: Cluster
    playbook: pathlib.Path

    def do(self, script: str) -> str:
        done = self.lab.shell(HOST, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def node(self) -> tuple[bool, str]:
        """Return whether the node is offline, and its comment."""
        return self.do("test -e %s/offline && echo yes || true" % STATE) != "", self.do("cat %s/comment 2>/dev/null || true" % STATE)

    def play(self, *arguments: str, hooks: tuple[str, ...] = (DRAIN, UNDRAIN), **variables: t.Any) -> Run:
        names = ("check_hooks", *hooks)
        tasks = [{"ansible.builtin.include_role": {"name": "rdma.ofed.node_service", "tasks_from": name}} for name in names]
        self.playbook.write_text(yaml.safe_dump([{"hosts": NODE, "gather_facts": False, "tasks": tasks}]), encoding="utf-8")
        given = {"rdma_drain_tasks": "pbs", "rdma_undrain_tasks": "pbs", "rdma_pbs_host": HOST, "node_service_purpose": "upgrade", **variables}
        return self.lab.play(str(self.playbook), *arguments, "-e", json.dumps(given))


@pytest.fixture
def pbs(lab: Cluster, tmp_path: pathlib.Path) -> collections.abc.Iterator[Pbs]:
    """Yield a host that is online and has no jobs."""
    found = Pbs(lab, tmp_path / "hooks.yml")
    found.do("cat >/usr/local/bin/pbsnodes <<'END'\n%sEND\nchmod +x /usr/local/bin/pbsnodes; rm -rf %s; mkdir -p %s" % (STANDIN, STATE, STATE))
    yield found
    found.do("rm -rf /usr/local/bin/pbsnodes /var/lib/pbs-standin")


def changed(run: Run) -> set[str]:
    return {task.split(" : ")[-1] for _play, task, _host in records.changes(run.events)}


def failures(run: Run) -> str:
    return " ".join(str(event["msg"]) for event in records.failures(run.events))


@pytest.mark.proves("drain", debian12=LOOK_ALIKE)
def test_out_of_service_and_back_and_check_mode_foresees_it(pbs: Pbs) -> None:
    predicted = pbs.play("--check")
    assert predicted.status == 0, predicted.output
    assert pbs.node() == (False, "")
    assert pbs.play(hooks=(DRAIN,)).status == 0
    assert pbs.node() == (True, OURS)
    done = pbs.play(hooks=(UNDRAIN,))
    assert done.status == 0, done.output
    assert pbs.node() == (False, "")
    assert changed(predicted) == {"Drain the node in PBS", "Resume the node in PBS"}
    assert changed(done) == {"Resume the node in PBS"}


@pytest.mark.proves("drain", debian12=LOOK_ALIKE)
def test_a_job_that_does_not_end_stops_the_run(pbs: Pbs) -> None:
    pbs.do("echo '12.pbs1/0, 12.pbs1/1' >%s/jobs" % STATE)
    stopped = pbs.play(rdma_pbs_timeout=2)
    assert stopped.status != 0
    for word in ("12.pbs1/0", NODE, "after 2 s", "rdma_pbs_timeout"):
        assert word in failures(stopped)
    assert pbs.node() == (True, OURS)
    pbs.do("rm %s/jobs" % STATE)
    assert changed(pbs.play()) == {"Resume the node in PBS"}


@pytest.mark.proves("drain", debian12=LOOK_ALIKE)
def test_a_node_that_somebody_else_took_out_stays_out(pbs: Pbs) -> None:
    pbs.do("pbsnodes -o -C 'disk replaced on Monday' %s" % NODE)
    run = pbs.play()
    assert run.status == 0, run.output
    assert changed(run) == set()
    assert pbs.node() == (True, "disk replaced on Monday")


@pytest.mark.proves("drain", debian12=LOOK_ALIKE)
def test_a_node_that_pbs_does_not_know_is_found_before_anything_changes(pbs: Pbs) -> None:
    run = pbs.play(rdma_pbs_node="nosuch")
    assert run.status != 0
    assert changed(run) == set()
    for word in ("nosuch", HOST, "rdma_pbs_node"):
        assert word in failures(run)
