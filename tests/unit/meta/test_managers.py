# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the role node_service finds in the output of workload managers."""

from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

import patterns

FOUND = {expression.where: expression.pattern for expression in patterns.of_managers()}
SLURM = "NodeName=n1 Arch=x86_64\n   State=IDLE+DRAIN ThreadsPerCore=1\n   Partitions=all\n\n   %s\n\n"
PBS = "n1\n     Mom = n1\n     state = offline,job-busy \n\n     jobs = 12.server/0, 12.server/1\n%s"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Reason=rdma.ofed reload [root@2026-11-23T10:00:00]", "rdma.ofed reload"),
        ("Reason=rdma.ofed reload", "rdma.ofed reload"),
        ("Reason=disk  [sda] of a@b   [root@2026-11-23T10:00:00]  ", "disk  [sda] of a@b"),
        ("Reason=memory [root@x] again [root@2026-11-23T10:00:00]", "memory [root@x] again"),
        ("Reason=[root@2026]", "[root@2026]"),
        ("Reason=", ""),
    ],
)
def test_the_reason_that_slurm_shows(line: str, reason: str) -> None:
    text = SLURM % line
    assert FOUND["slurm:given"].findall(text) == [reason]
    assert FOUND["slurm:states"].findall(text) == ["IDLE+DRAIN"]


@pytest.mark.parametrize(("line", "comment"), [("     comment = rdma.ofed  reload \n", ["rdma.ofed  reload"]), ("     comment = \n", [""]), ("", [])])
def test_what_pbs_shows(line: str, comment: list[str]) -> None:
    text = PBS % line
    assert FOUND["pbs:given"].findall(text) == comment
    assert FOUND["pbs:states"].findall(text) == ["offline,job-busy"]
    assert FOUND["pbs:job"].findall(text) == ["12.server/0, 12.server/1"]
    assert FOUND["pbs:silent"].findall(text) == []
