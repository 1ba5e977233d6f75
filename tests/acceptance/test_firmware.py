# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A firmware parameter on one card: predicted, set and pending, in use after a reset. molecule/firmware covers all failures."""

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

NODE, PCI = "node2", "0000:03:00.0"
PARAMETERS = {"NUM_OF_VFS": 4, "SRIOV_EN": True}


@pytest.fixture
def node(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    """Yield a node whose card has its defaults, before and after the test."""
    yield lab
    lab.shell(NODE, "mstconfig -y -d %s reset; cxemu-ctl %s powercycle; apt-get purge -qq -y mstflint pciutils >/dev/null" % (PCI, PCI))
    lab.wait_until_green(300)


def firmware(lab: Cluster, *arguments: str, **variables: t.Any) -> Run:
    wanted = {"rdma_allow_container": True, "hca_firmware_config": [{"all": True, "parameters": PARAMETERS}], **variables}
    run = lab.play("firmware", "--limit", NODE, *arguments, "-e", json.dumps(wanted))
    assert run.status == 0, run.output
    return run


def values(lab: Cluster) -> dict[str, list[str]]:
    """Return the current values and those after the next start."""
    shown = lab.shell(NODE, "mstconfig -d %s -e query %s" % (PCI, " ".join(PARAMETERS))).stdout
    rows = [line.replace("*", " ").split() for line in shown.splitlines()]
    return {row[0]: row[2:4] for row in rows if row and row[0] in PARAMETERS}


@pytest.mark.quick
@pytest.mark.proves("firmware", debian12=LOOK_ALIKE)
def test_a_parameter_is_foreseen_set_and_in_use_after_a_reset_that_is_allowed(node: Cluster) -> None:
    # Check mode cannot predict card changes before the tools are installed.
    assert node.shell(NODE, "DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mstflint pciutils >/dev/null").returncode == 0
    predicted = firmware(node, "--check")
    done = firmware(node)
    assert records.changes(done.events)
    assert records.differences(predicted.events, done.events) == []
    assert values(node) == {"NUM_OF_VFS": ["0", "4"], "SRIOV_EN": ["False(0)", "True(1)"]}
    for line in ("NUM_OF_VFS: 0 -> 4 (needs ", "SRIOV_EN: False(0) -> True(1) (needs "):
        assert line in done.output
    activated = firmware(node, rdma_allow_reset=True, rdma_allow_reboot=True)
    assert records.changes(activated.events)
    assert values(node) == {"NUM_OF_VFS": ["4", "4"], "SRIOV_EN": ["True(1)", "True(1)"]}
    assert records.changes(firmware(node).events) == {}


@pytest.mark.proves("discovered", debian12=LOOK_ALIKE)
def test_what_was_set_by_hand_is_discovered_and_changes_nothing(node: Cluster, tmp_path: pathlib.Path) -> None:
    tools = "DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mstflint pciutils >/dev/null"
    done = node.shell(NODE, "%s && mstconfig -y -d %s set NUM_OF_VFS=4 SRIOV_EN=1" % (tools, PCI))
    assert done.returncode == 0, done.stdout + done.stderr
    before = values(node)
    found = tmp_path / "found"
    run = node.play("discover", "--limit", NODE, "-e", "discover_output=%s" % found)
    assert run.status == 0 and not records.changes(run.events), run.output
    declared = yaml.safe_load((found / "host_vars" / (NODE + ".yml")).read_text(encoding="utf-8"))
    (board,) = declared["hca_firmware_versions"]
    assert declared["hca_firmware_config"] == [{"psid": board, "parameters": PARAMETERS}]
    # The card still runs with the former value.
    assert "NUM_OF_VFS is 0 now, and 4 after the next start of the adapter" in (found / "report.txt").read_text(encoding="utf-8")
    run = node.play("firmware", "--check", "--limit", NODE, "-i", str(found), "-e", '{"rdma_allow_container": true}')
    assert run.status == 0 and records.changes(run.events) == {}, run.output
    assert values(node) == before
