# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The cards are in the declared state, and the run changed nothing else."""

from __future__ import annotations

import pytest
from firmware import CONNECTX5, CONNECTX6, CONNECTX7, RESTORE, Host, card, emulation, flash, module, rows, run, slot

testinfra_hosts = ["ansible://mixed"]

NEXT = [
    pytest.param(CONNECTX5, {"LINK_TYPE_P1": "IB(1)", "LINK_TYPE_P2": "ETH(2)", "SRIOV_EN": "True(1)", "NUM_OF_VFS": "16"}, id="ConnectX-5"),
    pytest.param(CONNECTX6, {"SRIOV_EN": "True(1)", "NUM_OF_VFS": "8"}, id="ConnectX-6"),
    pytest.param(CONNECTX7, {"ADVANCED_PCI_SETTINGS": "True(1)", "MAX_ACC_OUT_READ": "32"}, id="ConnectX-7"),
]
VERSIONS = {CONNECTX5: ("16.35.3006", "16.35.2000"), CONNECTX6: ("20.39.1002", "20.37.1014"), CONNECTX7: ("28.39.1002", "28.38.1002")}
"""Versions in the flash and running."""


@pytest.mark.parametrize(("psid", "values"), NEXT)
@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_the_next_start_brings_the_declared_values(host: Host, psid: str, values: dict[str, str]) -> None:
    found = rows(host, card(host, psid), *values)
    assert {name: row[2] for name, row in found.items()} == values


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_only_the_second_port_becomes_ethernet(host: Host) -> None:
    found = rows(host, card(host, CONNECTX5), "LINK_TYPE_P1", "LINK_TYPE_P2")
    assert found == {"LINK_TYPE_P1": ("IB(1)", "IB(1)", "IB(1)"), "LINK_TYPE_P2": ("IB(1)", "IB(1)", "ETH(2)")}


@pytest.mark.parametrize("psid", VERSIONS)
@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_the_flash_holds_the_declared_version(host: Host, psid: str) -> None:
    found = flash(host, card(host, psid))
    assert (found["FW Version"], found["FW Version(Running)"]) == VERSIONS[psid]


@pytest.mark.parametrize("psid", [CONNECTX5, CONNECTX6, CONNECTX7])
@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_each_card_was_burned_once(host: Host, psid: str) -> None:
    assert int(emulation(host, card(host, psid))["burns"], 16) == 1


@pytest.mark.proves("firmware", "parameters", debian12="look-alike", debian13="look-alike")
def test_another_run_says_what_is_pending_and_changes_nothing(mixed: list[Host]) -> None:
    pci = slot(mixed, CONNECTX5)
    for image, config in run(mixed, module("mstflint", images="/srv/firmware/wanted"), RESTORE):
        assert (image["changed"], len(image["pending"])) == (False, 3)
        assert (config["changed"], config["changes"]) == (False, [])
        (vfs,) = [entry for entry in config["pending"] if entry["aspect"] == "NUM_OF_VFS" and entry["subject"] == pci]
        assert (vfs["before"], vfs["after"], vfs["needs"]) == ("0", "16", "reboot")


@pytest.mark.proves("verify", debian12="look-alike", debian13="look-alike")
def test_the_check_finds_what_is_pending_and_nothing_else(mixed: list[Host]) -> None:
    names = ("images", "versions", "config")
    declared = {"hca_firmware_" + name: "{{ hca_firmware_%s }}" % name for name in names}
    for (checked,) in run(mixed, module("node_check", firmware=True, subnet_manager=False, fail=False, **declared)):
        found = [(one["code"], one["aspect"], one["found"], one["expected"]) for one in checked["deviations"]]
        assert {code for code, *_rest in found} == {"firmware_pending"}
        assert sorted(row[2:] for row in found if row[1] == "running_version") == sorted((running, burned) for burned, running in VERSIONS.values())
        assert ("firmware_pending", "NUM_OF_VFS", "0", "16") in found and not {row for row in found if row[1] == "LINK_TYPE_P1"}
