# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cards that fail: what is said, and that no other card suffers."""

from __future__ import annotations

from firmware import CONNECTX5, CONNECTX6, Host, broken, card, configure, emulation, flash, module, restore, rows

testinfra_hosts = ["ansible://mixed"]


def test_a_busy_card_is_asked_again(host: Host) -> None:
    with broken(host, card(host, CONNECTX5), "busy=once"):
        assert restore(host)["changed"] is False


def test_a_parameter_that_can_only_be_read_is_refused_before_any_card_is_set(host: Host) -> None:
    pci = card(host, CONNECTX5)
    devices = [{"psid": CONNECTX6, "parameters": {"NUM_OF_VFS": 4}}, {"psid": CONNECTX5, "parameters": {"SRIOV_EN": False, "LINK_TYPE_P2": "IB"}}]
    with broken(host, pci, "read-only=LINK_TYPE"):
        result = module(host, "mlxconfig", devices=devices)
    assert result.get("failed") is True
    assert "LINK_TYPE_P2" in result["msg"]
    assert pci in result["msg"]
    assert restore(host)["changed"] is False


def test_a_value_that_the_card_rejects_leaves_the_others_as_it_says(host: Host) -> None:
    pci = card(host, CONNECTX5)
    with broken(host, pci, "rejects=LINK_TYPE"):
        result = configure(host, psid=CONNECTX5, parameters={"SRIOV_EN": False, "LINK_TYPE_P1": "ETH"})
    assert result.get("failed") is True
    for word in (pci, "LINK_TYPE_P1"):
        assert word in result["msg"], result["msg"]
    found = rows(host, pci, "SRIOV_EN", "LINK_TYPE_P1")
    assert found["LINK_TYPE_P1"][2] == "IB(1)"
    # The tool writes one group of parameters after the other: what was written before the refusal stays, and is told.
    assert result["changed"] is (found["SRIOV_EN"][2] == "False(0)")
    assert ("SRIOV_EN: True(1) -> False(0)" in result["msg"]) is result["changed"]
    restore(host)


def test_a_card_that_vanishes_is_named(host: Host) -> None:
    pci = card(host, CONNECTX5)
    with broken(host, pci, "vanishes=1"):
        result = restore(host)
    assert result.get("failed") is True
    assert pci in result["msg"]
    assert restore(host)["changed"] is False


def test_a_burn_that_fails_names_the_card_and_those_not_burned(host: Host) -> None:
    pci = card(host, CONNECTX5)
    images = {CONNECTX5: "/srv/firmware/newer/connectx5.bin"}
    wanted = {"devices": [{"psid": CONNECTX5}], "images": images, "allow_in_container": True}
    with broken(host, pci, "burn-fails"):
        result = module(host, "mstflint", **wanted)
    assert result.get("failed") is True
    assert pci in result["msg"]
    assert result["not_burned"] == [pci]
    burns = int(emulation(host, pci)["burns"], 16)
    assert module(host, "mstflint", **wanted)["changed"] is True
    assert int(emulation(host, pci)["burns"], 16) == burns + 1
    module(host, "mstflint", devices=[{"psid": CONNECTX5}], images="/srv/firmware/wanted", allow_downgrade=True, allow_in_container=True)
    assert flash(host, pci)["FW Version"] == "16.35.3006"
