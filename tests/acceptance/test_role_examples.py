# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first example of each role's README, verbatim, in check mode on the nodes of the lab.

The role soft_rdma needs a kernel with its driver: tests/acceptance_vm/test_soft_rdma.py runs its example.
"""

from __future__ import annotations

import pathlib

import pytest
from cluster import Cluster
from common import ROOT

ROLES = sorted({path.parent.name for path in ROOT.glob("roles/*/README.md")} - {"soft_rdma"})
# The lab's nodes are in no workload manager, and their inventory has no numbers for addresses.
BESIDE = ["-e", '{"rdma_drain_tasks": "", "rdma_undrain_tasks": "", "ib_number": "{{ groups[\'rdma\'].index(inventory_hostname) + 1 }}"}']


@pytest.mark.parametrize("role", ROLES)
def test_the_example_of_a_readme_runs(lab: Cluster, tmp_path: pathlib.Path, role: str) -> None:
    section = (ROOT / "roles" / role / "README.md").read_text(encoding="utf-8").partition("\n## Example\n")[2]
    play = tmp_path / "play.yml"
    play.write_text(section.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    # IPv6 is permanently disabled on node3.
    run = lab.play(str(play), "--check", "--limit", "node1,node2", *BESIDE)
    assert run.status == 0, run.output
    assert "rdma.ofed.%s : " % role in run.output
