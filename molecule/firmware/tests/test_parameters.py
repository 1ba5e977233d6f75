# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every kind of parameter in every spelling, one change at a time, and what is refused."""

from __future__ import annotations

import typing as t

import pytest
from firmware import CONNECTX5, CONNECTX7, Host, card, configure, module, restore, rows

testinfra_hosts = ["ansible://mixed"]

SPELLINGS = [("ETH", True, 16), ("eth", "true", "16"), (2, 1, "0x10"), ("2", "True", "0x0010"), ("0x2", "1", 16)]


@pytest.mark.parametrize(("link_type", "sriov", "functions"), SPELLINGS)
def test_every_spelling_means_the_same(host: Host, link_type: t.Any, sriov: t.Any, functions: t.Any) -> None:
    result = configure(host, psid=CONNECTX5, parameters={"LINK_TYPE_P2": link_type, "SRIOV_EN": sriov, "NUM_OF_VFS": functions})
    assert result["changed"] is False, result


CHANGES = [
    pytest.param({"SRIOV_EN": True, "NUM_OF_VFS": 8}, ["NUM_OF_VFS: 16 -> 8"], id="number"),
    pytest.param({"SRIOV_EN": False, "NUM_OF_VFS": 16}, ["SRIOV_EN: True(1) -> False(0)"], id="boolean"),
    pytest.param({"LINK_TYPE_P1": "ETH", "LINK_TYPE_P2": "ETH"}, ["LINK_TYPE_P1: IB(1) -> ETH(2)"], id="enumeration"),
]


@pytest.mark.parametrize(("parameters", "changes"), CHANGES)
def test_another_value_shows_alone_and_check_mode_says_so(host: Host, parameters: dict[str, t.Any], changes: list[str]) -> None:
    pci = card(host, CONNECTX5)
    predicted = configure(host, check=True, psid=CONNECTX5, parameters=parameters)
    done = configure(host, psid=CONNECTX5, parameters=parameters)
    assert done["changes"] == ["%s %s" % (pci, change) for change in changes], done
    assert {name: predicted[name] for name in ("changed", "changes", "diff", "pending", "devices")} == {
        name: done[name] for name in ("changed", "changes", "diff", "pending", "devices")
    }
    back = restore(host)
    assert len(back["changes"]) == len(changes)


def test_a_default_comes_back_alone(host: Host) -> None:
    pci = card(host, CONNECTX5)
    result = configure(host, psid=CONNECTX5, state="default", names=["NUM_OF_VFS"])
    assert result["changes"] == ["%s NUM_OF_VFS: 16 -> 0" % pci]
    assert rows(host, pci, "NUM_OF_VFS", "SRIOV_EN")["SRIOV_EN"][2] == "True(1)"
    assert restore(host)["changes"] == ["%s NUM_OF_VFS: 0 -> 16" % pci]


def test_all_defaults_come_back(host: Host) -> None:
    pci = card(host, CONNECTX5)
    predicted = configure(host, check=True, psid=CONNECTX5, state="default")
    result = configure(host, psid=CONNECTX5, state="default")
    wanted = ["LINK_TYPE_P2: ETH(2) -> IB(1)", "NUM_OF_VFS: 16 -> 0", "SRIOV_EN: True(1) -> False(0)"]
    assert sorted(result["changes"]) == ["%s %s" % (pci, change) for change in wanted]
    assert predicted["changes"] == result["changes"]
    assert configure(host, psid=CONNECTX5, state="default")["changed"] is False
    assert len(restore(host)["changes"]) == len(wanted)


REFUSED = [
    pytest.param({"NUM_OF_VF": 8}, ["NUM_OF_VF", "did you mean NUM_OF_VFS"], id="unknown"),
    pytest.param({"LINK_TYPE": "IB"}, ["LINK_TYPE", "LINK_TYPE_P1", "LINK_TYPE_P2"], id="without its port"),
    pytest.param({"LINK_TYPE_P1": "VPI"}, ["LINK_TYPE_P1", "VPI", "IB", "ETH"], id="no such value"),
    pytest.param({"SRIOV_EN": "perhaps"}, ["SRIOV_EN", "perhaps"], id="no boolean"),
    pytest.param({"MAX_ACC_OUT_READ": 32}, ["MAX_ACC_OUT_READ", "ADVANCED_PCI_SETTINGS=1"], id="exists only with another"),
]


@pytest.mark.parametrize(("parameters", "words"), REFUSED)
def test_what_is_refused_changes_nothing_on_any_card(host: Host, parameters: dict[str, t.Any], words: list[str]) -> None:
    devices = [{"psid": CONNECTX7, "parameters": {"ADVANCED_PCI_SETTINGS": False}}, {"psid": CONNECTX5, "parameters": parameters}]
    result = module(host, "mlxconfig", devices=devices)
    assert result.get("failed") is True
    assert result.get("changed") is not True
    for word in words:
        assert word in result["msg"], result["msg"]
    assert restore(host)["changed"] is False


def test_selectors_that_disagree_are_refused(host: Host) -> None:
    devices = [{"psid": CONNECTX5, "parameters": {"NUM_OF_VFS": 4}}, {"type": "ConnectX-5", "parameters": {"NUM_OF_VFS": 5}}]
    result = module(host, "mlxconfig", devices=devices)
    assert result.get("failed") is True
    assert card(host, CONNECTX5) in result["msg"]
