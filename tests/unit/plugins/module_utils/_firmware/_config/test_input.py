# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._input import entry_problems, wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config._wanted import Setting, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import Device
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._input import problems

ONE = Device("0000:03:00.0", ("0000:03:00.0", "0000:03:00.1"), ("mlx5_0",), ("ib0",), "MT4119", "ConnectX5", "MT_0000000008")
TWO = Device("0000:81:00.0", ("0000:81:00.0",), ("mlx5_2",), (), "MT4123", "ConnectX6", "MT_0000000223")
NUMBER = {"A": 1}


@pytest.mark.parametrize(
    ("entry", "variable"),
    [
        (3, "x[0]"),
        ({"parameters": NUMBER}, "x[0]"),
        ({"all": True}, "x[0]"),
        ({"all": True, "pci": "03:00.0", "parameters": NUMBER}, "x[0]"),
        ({"all": "maybe", "parameters": NUMBER}, "x[0].all"),
        ({"pci": "3", "parameters": NUMBER}, "x[0].pci"),
        ({"all": True, "state": "gone", "parameters": NUMBER}, "x[0].state"),
        ({"all": True, "names": ["A"]}, "x[0]"),
        ({"all": True, "state": "default", "names": ["A"], "parameters": NUMBER}, "x[0]"),
        ({"all": True, "state": "default", "names": ["A B"]}, "x[0].names[0]"),
        ({"all": True, "state": "default", "names": 3}, "x[0].names"),
        ({"all": True, "parameters": [1]}, "x[0].parameters"),
        ({"all": True, "parameters": {"A=1": 1}}, "x[0].parameters"),
        ({"all": True, "parameters": {"A": None}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": 1.5}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": -1}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": ""}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": 2**64}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": "\0"}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": "٣"}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A[٣]": 1}}, "x[0].parameters"),
        ({"all": True, "parameters": {"A\n": 1}}, "x[0].parameters"),
        ({"all": True, "parameters": {"A": "1 B=2"}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": "0xffffffff"}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A": [1, 2]}}, "x[0].parameters.A"),
        ({"all": True, "parameters": {"A[0..2]": [1, 2]}}, "x[0].parameters.A[0..2]"),
        ({"all": True, "parameters": {"A[0..1]": [1, {}]}}, "x[0].parameters.A[0..1][1]"),
        ({"all": True, "parameters": {"A[0..3]": 1, "A[2]": 5}}, "x[0].parameters.A[2]"),
        ({"all": True, "parameters": NUMBER, "colour": "red"}, "x[0].colour"),
    ],
)
def test_what_can_not_be_meant(entry: t.Any, variable: str) -> None:
    (problem,) = entry_problems("x", [entry])
    assert problem.variable == variable


def test_all_that_is_wrong_is_told() -> None:
    assert len(entry_problems("x", [{}])) == 2, "chooses nothing, and sets nothing"
    assert len(entry_problems("x", [{"pci": "3", "parameters": {"A": -1, "B[2": 1}}, 7])) == 4


def test_what_can() -> None:
    entries = [
        {"all": True, "parameters": {"A": "ETH", "B[0..2]": [1, "0x2", True], "C[4]": 5}},
        {"pci": "03:00.0", "psid": "MT_1", "all": False, "state": "default", "names": ["A[0..7]"], "parameters": {}},
        {"guid": "0c42:a103:0000:0010", "state": "default", "parameters": {"A": 1}, "names": [], "netdev": None},
    ]
    assert entry_problems("x", entries) == []
    assert problems({"hca_firmware_config": entries}) == [] and problems({}) == []
    assert problems({"hca_firmware_config": "all"})[0].variable == "hca_firmware_config"


def test_entries_that_mean_one_card_are_merged() -> None:
    entries = [
        {"all": True, "parameters": {"SRIOV_EN": True, "A[0..1]": 7}},
        {"type": "ConnectX-5", "parameters": {"SRIOV_EN": "yes", "LINK_TYPE_P1": 2}},
        {"rdma": "mlx5_2", "state": "default"},
    ]
    found, wrong = wanted_of("x", entries, [ONE, TWO], missing="fail")
    everywhere = {
        "SRIOV_EN": Setting("True", "x[0].parameters.SRIOV_EN", True, "SRIOV_EN", "x[0].parameters"),
        "A[0]": Setting("7", "x[0].parameters.A[0..1]", False, "A[0..1]", "x[0].parameters"),
        "A[1]": Setting("7", "x[0].parameters.A[0..1]", False, "A[0..1]", "x[0].parameters"),
    }
    assert wrong == []
    assert found == [
        Wanted(ONE, {**everywhere, "LINK_TYPE_P1": Setting("2", "x[1].parameters.LINK_TYPE_P1", False, "LINK_TYPE_P1", "x[1].parameters")}),
        Wanted(TWO, everywhere, reset_all=True),
    ]


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (
            [{"pci": "03:00.1", "parameters": {"A": 1}}, {"rdma": "mlx5_0", "parameters": {"A": 2}}],
            "x[0].parameters.A sets it to 1, and both select 0000:03:00.0",
        ),
        ([{"pci": "03:00.1", "parameters": {"A": 1}}, {"all": True, "state": "default", "names": ["A"]}], "one value for A"),
        ([{"pci": "03:00.0", "psid": "MT_0000000223", "parameters": {"A": 1}}], "selectors that agree"),
        ([{"netdev": "ib7", "parameters": {"A": 1}}], "this node has: 0000:03:00.0 ConnectX5"),
    ],
)
def test_selectors_that_disagree_or_choose_nothing(entries: t.Any, text: str) -> None:
    assert entry_problems("x", entries) == []
    _found, wrong = wanted_of("x", entries, [ONE, TWO], missing="fail")
    (problem,) = wrong
    assert text in str(problem)


def test_missing_adapters_can_be_ignored_and_contradictions_can_not() -> None:
    assert wanted_of("x", [{"psid": "MT_1", "parameters": NUMBER}], [ONE], missing="ignore") == ([], [])
    _found, wrong = wanted_of("x", [{"psid": "MT_1", "rdma": "mlx5_0", "parameters": NUMBER}], [ONE], missing="ignore")
    assert len(wrong) == 1
