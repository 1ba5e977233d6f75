# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every kind of parameter in every spelling, changed one at a time, and values that are refused."""

from __future__ import annotations

import typing as t

import pytest
from firmware import CONNECTX5, CONNECTX7, RESTORE, Host, Task, configure, module, parsed, query, run, slot

SPELLINGS = [("ETH", True, 16), ("eth", "true", "16"), (2, 1, "0x10"), ("2", "True", "0x0010"), ("0x2", "1", 16)]


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_every_spelling_means_the_same(mixed: list[Host]) -> None:
    names = ("LINK_TYPE_P2", "SRIOV_EN", "NUM_OF_VFS")
    steps = [configure(psid=CONNECTX5, parameters=dict(zip(names, values))) for values in SPELLINGS]
    for results in run(mixed, *steps):
        assert [(result["failed"], result["changed"]) for result in results] == [(False, False)] * len(SPELLINGS), results


CHANGES = [
    pytest.param({"SRIOV_EN": True, "NUM_OF_VFS": 8}, ["NUM_OF_VFS: 16 -> 8"], id="number"),
    pytest.param({"SRIOV_EN": False, "NUM_OF_VFS": 16}, ["SRIOV_EN: True(1) -> False(0)"], id="boolean"),
    pytest.param({"LINK_TYPE_P1": "ETH", "LINK_TYPE_P2": "ETH"}, ["LINK_TYPE_P1: IB(1) -> ETH(2)"], id="enumeration"),
]


@pytest.mark.parametrize(("parameters", "changes"), CHANGES)
@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_another_value_shows_alone_and_check_mode_says_so(mixed: list[Host], parameters: dict[str, t.Any], changes: list[str]) -> None:
    pci = slot(mixed, CONNECTX5)
    steps = (configure(check=True, psid=CONNECTX5, parameters=parameters), configure(psid=CONNECTX5, parameters=parameters), RESTORE)
    for predicted, done, back in run(mixed, *steps):
        assert done["changes"] == ["%s %s" % (pci, change) for change in changes], done
        assert {name: predicted[name] for name in ("changed", "changes", "diff", "pending", "devices")} == {
            name: done[name] for name in ("changed", "changes", "diff", "pending", "devices")
        }
        assert len(back["changes"]) == len(changes)


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_a_default_comes_back_alone(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    for done, left, back in run(mixed, configure(psid=CONNECTX5, state="default", names=["NUM_OF_VFS"]), query(pci, "NUM_OF_VFS", "SRIOV_EN"), RESTORE):
        assert done["changes"] == ["%s NUM_OF_VFS: 16 -> 0" % pci]
        assert parsed(left["stdout"])["SRIOV_EN"][2] == "True(1)"
        assert back["changes"] == ["%s NUM_OF_VFS: 0 -> 16" % pci]


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_all_defaults_come_back(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    wanted = ["LINK_TYPE_P2: ETH(2) -> IB(1)", "NUM_OF_VFS: 16 -> 0", "SRIOV_EN: True(1) -> False(0)"]
    defaults = configure(psid=CONNECTX5, state="default")
    for predicted, done, again, back in run(mixed, configure(check=True, psid=CONNECTX5, state="default"), defaults, defaults, RESTORE):
        assert sorted(done["changes"]) == ["%s %s" % (pci, change) for change in wanted]
        assert predicted["changes"] == done["changes"]
        assert again["changed"] is False
        assert len(back["changes"]) == len(wanted)


REFUSED: dict[str, tuple[dict[str, t.Any], list[str]]] = {
    "unknown": ({"NUM_OF_VF": 8}, ["NUM_OF_VF", "did you mean NUM_OF_VFS"]),
    "without its port": ({"LINK_TYPE": "IB"}, ["LINK_TYPE", "LINK_TYPE_P1", "LINK_TYPE_P2"]),
    "no such value": ({"LINK_TYPE_P1": "VPI"}, ["LINK_TYPE_P1", "VPI", "IB", "ETH"]),
    "no boolean": ({"SRIOV_EN": "perhaps"}, ["SRIOV_EN", "perhaps"]),
    "exists only with another": ({"MAX_ACC_OUT_READ": 32}, ["MAX_ACC_OUT_READ", "ADVANCED_PCI_SETTINGS=1"]),
}


def beside_another_card(parameters: dict[str, t.Any]) -> Task:
    return module(
        "mlxconfig",
        allow_container=True,
        devices=[{"psid": CONNECTX7, "parameters": {"ADVANCED_PCI_SETTINGS": False}}, {"psid": CONNECTX5, "parameters": parameters}],
    )


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_what_is_refused_changes_nothing_on_any_card(mixed: list[Host]) -> None:
    disagreeing = [{"psid": CONNECTX5, "parameters": {"NUM_OF_VFS": 4}}, {"type": "ConnectX-5", "parameters": {"NUM_OF_VFS": 5}}]
    steps = [beside_another_card(parameters) for parameters, _words in REFUSED.values()]
    words = [*(words for _parameters, words in REFUSED.values()), [slot(mixed, CONNECTX5)]]
    for *refused, after in run(mixed, *steps, module("mlxconfig", allow_container=True, devices=disagreeing), RESTORE):
        for result, expected in zip(refused, words):
            assert (result["failed"], result["changed"]) == (True, False), result
            assert [word for word in expected if word not in result["msg"]] == [], result["msg"]
        assert (after["failed"], after["changed"]) == (False, False), after
