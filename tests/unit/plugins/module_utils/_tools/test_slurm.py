# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The commands of Slurm, and what they print."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _slurm as slurm
from hypothesis import given
from hypothesis import strategies as st

# From Slurm 22.05.8 of Debian 12.
MPI_LIST = "MPI plugin types are...\n\tcray_shasta\n\tnone\n\tpmi2\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"


def test_a_job_ends_by_itself_and_writes_nothing() -> None:
    command = slurm.submit_command(["node1", "node2"], 90, ["--partition=debug"])
    assert {"--nodes=2", "--nodelist=node1,node2", "--time=2", "--output=/dev/null", "--partition=debug"} <= set(command)
    assert command[-1] == "--wrap=exec sleep 90"


def test_the_job_id() -> None:
    assert slurm.parse_submitted("Welcome\n123\n") == slurm.JobId(123)
    assert slurm.parse_submitted("123;cluster2\n") == slurm.JobId(123, "cluster2")
    with pytest.raises(UnexpectedOutput, match="no job ID; it said: Welcome"):
        slurm.parse_submitted("Welcome\n")


def test_the_state_of_a_job() -> None:
    assert slurm.parse_state("PENDING|ReqNodeNotAvail, UnavailableNodes:node2\n") == ("PENDING", "ReqNodeNotAvail, UnavailableNodes:node2")
    assert slurm.parse_state("RUNNING|None\n") == (slurm.RUNNING, "")
    assert slurm.parse_state("slurm_load_jobs error: Invalid job id specified\n") == ("", "")
    assert [slurm.State(name, "").waits for name in ("PENDING", "CONFIGURING", "RUNNING", "CANCELLED", "")] == [True, True, False, False, False]


def test_a_step_has_one_process_on_each_node() -> None:
    command = slurm.step_command(slurm.JobId(7), ["node1", "node2"], ("/bin/sh", "-c", "true"), mpi="pmix")
    assert {"--jobid=7", "--ntasks=2", "--nodelist=node1,node2", "--mpi=pmix"} <= set(command)
    assert command[-3:] == ("/bin/sh", "-c", "true")


def test_each_command_asks_the_cluster_of_the_job() -> None:
    job = slurm.JobId(7, "b")
    for command in (slurm.state_command(job), slurm.step_command(job, ["node1"], ("true",), mpi="none"), slurm.cancel_command(job)):
        assert command[1] == "--clusters=b"
    assert slurm.cancel_command(slurm.JobId(7)) == ("scancel", "7")


def test_a_job_is_found_by_its_name() -> None:
    assert slurm.parse_found("CLUSTER: b\n11\n12\n") == slurm.JobId(12)
    assert slurm.parse_found("") == slurm.parse_found("slurm_load_jobs error: x\n") == slurm.JobId(0)


def test_the_best_type_of_mpi() -> None:
    assert slurm.parse_mpi_types(MPI_LIST) == "pmix"
    assert slurm.parse_mpi_types("MPI types are...\npmi2\nnone\n") == "pmi2"
    assert slurm.parse_mpi_types("") == "none"


@given(st.text())
def test_any_text_is_a_state_or_none(text: str) -> None:
    state = slurm.parse_state(text)
    assert state.name == "" or state.name in text
    assert state.reason.isprintable()
