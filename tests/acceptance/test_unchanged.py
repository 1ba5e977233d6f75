# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A second run changes nothing and takes few round trips."""

from __future__ import annotations

import budget
import pytest
import records
from cluster import Cluster
from conftest import converge
from proofs import REAL


@pytest.mark.quick
@pytest.mark.proves("unchanged", debian12=REAL)
def test_a_second_run_changes_nothing_within_the_budget(lab: Cluster) -> None:
    run = converge(lab)
    assert records.changes(run.events) == {}
    executions, managers = records.executions(run.events), budget.managers(lab.inventory)
    assert set(executions) == {"node1", "node2", "node3"}
    assert budget.exceeded(executions, managers) == []
    tasks = budget.tasks(run.output)
    *others, waits = sorted(tasks[host] for host in executions if host not in managers)
    assert max(others) <= budget.TASKS and waits <= budget.TASKS + budget.WAITING, tasks


@pytest.mark.quick
@pytest.mark.proves("check_mode", "unchanged", debian12=REAL)
def test_check_mode_of_an_unchanged_site_predicts_nothing(lab: Cluster) -> None:
    run = converge(lab, "--check", "--diff")
    assert records.changes(run.events) == {}
    assert budget.exceeded(records.executions(run.events), budget.managers(lab.inventory)) == []


@pytest.mark.proves("unchanged", debian12=REAL)
def test_with_limit_nothing_changes_elsewhere(lab: Cluster) -> None:
    run = converge(lab, "--limit", "node2")
    assert records.changes(run.events) == {}
    assert set(records.executions(run.events)) == {"node2"}
    assert "SMINFO_MASTER" in lab.shell("node1", "sminfo -P 1 || sminfo").stdout
    assert lab.shell("node2", "pgrep -x opensm").returncode == 1
    assert lab.play("verify").status == 0


@pytest.mark.proves("opensm", debian12=REAL)
def test_with_limit_a_disturbed_node_is_mended_and_no_second_master_comes_up(lab: Cluster) -> None:
    lab.shell("node2", "ip addr flush dev ib0; rm -f /etc/modules-load.d/*rdma*")
    run = converge(lab, "--limit", "node2")
    assert {host for _play, _task, host in records.changes(run.events)} == {"node2"}
    assert lab.shell("node2", "pgrep -x opensm").returncode == 1
    assert lab.play("verify").status == 0
