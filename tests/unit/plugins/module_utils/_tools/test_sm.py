# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery
from support.runners import Says

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus"


def recorded(name: str) -> str:
    return (CORPUS / name).read_text()


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ibsim_prio14", _sminfo.SmInfo(1, "0x0000000000100001", 506, 14, 3)),
        ("master_prio14", _sminfo.SmInfo(37, "0x7cfe90030016aef1", 4484381, 14, 3)),
        ("master_prio15_oracle", _sminfo.SmInfo(25, "0x0021283a8620b0f0", 25950, 15, 3)),
        ("sim_master_prio0", _sminfo.SmInfo(1, "0x0000000000100001", 120, 0, 3)),
        ("sim_standby_prio5", _sminfo.SmInfo(1, "0x0000000000100001", 178, 5, 2)),
    ],
)
def test_sminfo_reads_recorded_output(name: str, wanted: _sminfo.SmInfo) -> None:
    assert _sminfo.parse(recorded("sminfo/%s.txt" % name)) == wanted


def test_sminfo_names_states() -> None:
    info = _sminfo.parse(recorded("sminfo/sim_standby_prio5.txt"))
    assert (info.state_name, info.is_master) == ("STANDBY", False)
    assert info._replace(state=9).state_name == "unknown state 9"


@pytest.mark.parametrize("name", ["sminfo_error/sim_no_sm.txt", "sminfo/error_query_failed.txt"])
def test_sminfo_without_a_subnet_manager_is_an_answer(name: str) -> None:
    assert _sminfo.query(Says(255, recorded(name)), "mlx5_0", 1) is None


def test_sminfo_without_umad_is_a_failure() -> None:
    with pytest.raises(CommandFailed, match="is ib_umad module loaded"):
        _sminfo.query(Says(255, "", recorded("sminfo_error/local_no_devices.txt")), "mlx5_0", 1)


def test_sminfo_quotes_what_it_does_not_know() -> None:
    with pytest.raises(UnexpectedOutput, match="sminfo printed 'hello'"):
        _sminfo.parse("hello\n")


def test_sminfo_asks_a_port_or_a_lid() -> None:
    says = Says(0, recorded("sminfo/master_prio14.txt"))
    _sminfo.query(says, "mlx5_1", 2)
    assert says.argv == ["sminfo", "-C", "mlx5_1", "-P", "2"]
    _sminfo.query(says, "mlx5_1", 2, lid=37)
    assert says.argv[-1] == "37"


def test_saquery_reads_all_subnet_managers() -> None:
    records = _saquery.parse_sm_records(recorded("saquery/sim_sminfo_records_two.txt"))
    assert [(record.lid, record.guid, record.priority, record.state_name) for record in records] == [
        (1, "0x0000000000100001", 5, "STANDBY"),
        (5, "0x0000000000100007", 14, "MASTER"),
    ]
    assert _saquery.parse_sm_records("") == ()


@pytest.mark.parametrize("name", ["sim_no_sm", "sim_sm_gone_timeout"])
def test_saquery_without_a_master_is_an_answer(name: str) -> None:
    assert _saquery.sm_records(Says(255, "", recorded("saquery_error/%s.txt" % name)), "mlx5_0", 1) is None


def test_saquery_other_failures_are_failures() -> None:
    with pytest.raises(CommandFailed, match="SMIR failed with exit status 1: no way"):
        _saquery.sm_records(Says(1, "", "no way"), "mlx5_0", 1)


@pytest.mark.parametrize("text", ["NodeRecord dump:\n", "SMInfoRecord dump:\n\t\tLID.....1\n", "SMInfoRecord dump:\n\t\tLID.....x\n"])
def test_saquery_refuses_what_it_does_not_know(text: str) -> None:
    with pytest.raises(UnexpectedOutput):
        _saquery.parse_sm_records(text)


def test_smpquery_reads_node_descriptions() -> None:
    assert _smpquery.parse_node_description(recorded("smpquery/sim_nodedesc_hca.txt")) == "node2 mlx5_0"
    assert _smpquery.parse_node_description(recorded("smpquery/sim_nodedesc_switch.txt")) == "sw1"
    assert _smpquery.answer(Says(255, recorded("smpquery_error/sim_no_such_lid.txt")), "mlx5_0", 1, lid=99) is None
