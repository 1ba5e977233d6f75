# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pending settings are in effect after one reset of each card or one reboot of the node, and only with permission."""

from __future__ import annotations

import pytest
from firmware import CONNECTX5, CONNECTX6, CONNECTX7, RESTORE, Host, card, declared, emulation, flash, module, rows, run

testinfra_hosts = ["ansible://rdma"]

RUNNING = {CONNECTX5: "16.35.3006", CONNECTX6: "20.39.1002", CONNECTX7: "28.39.1002"}


def psids(host: Host) -> list[str]:
    return sorted(RUNNING) if "mixed" in declared(host)["group_names"] else [CONNECTX7]


@pytest.mark.proves("firmware", debian12="look-alike", debian13="look-alike")
def test_the_burned_firmware_runs(host: Host) -> None:
    for psid in psids(host):
        found = flash(host, card(host, psid))
        assert found["FW Version"] == RUNNING[psid]
        assert "FW Version(Running)" not in found
        assert int(emulation(host, card(host, psid))["resets"], 16) == 1


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_the_declared_values_are_in_use(host: Host) -> None:
    found = rows(host, card(host, CONNECTX7), "ADVANCED_PCI_SETTINGS", "MAX_ACC_OUT_READ")
    assert {name: row[1:] for name, row in found.items()} == {"ADVANCED_PCI_SETTINGS": ("True(1)", "True(1)"), "MAX_ACC_OUT_READ": ("32", "32")}


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_nothing_is_pending(mixed: list[Host], dense: list[Host]) -> None:
    for reset, config in run([*mixed, *dense], module("mlxfwreset", state="query"), RESTORE):
        assert reset["pending"] == []
        assert (config["changed"], config["pending"]) == (False, [])


@pytest.mark.proves("batches", debian12="look-alike", debian13="look-alike")
def test_the_node_was_drained_and_came_back(host: Host) -> None:
    assert host.file("/srv/service").content_string == "drained\nback\n"


@pytest.mark.proves("batches", debian12="look-alike", debian13="look-alike")
def test_only_nodes_that_were_to_reboot_did(host: Host) -> None:
    boot = host.file("/proc/sys/kernel/random/boot_id").content_string.strip()
    before = host.file("/srv/boot_id").content_string.strip()
    assert (boot != before) is ("dense" in declared(host)["group_names"])
