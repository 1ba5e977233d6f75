# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A card whose semaphore is never given back. The tools wait long for it, so one node has to do."""

from __future__ import annotations

from firmware import CONNECTX5, Host, broken, card, restore

testinfra_hosts = ["ansible://node2"]


def test_a_card_that_stays_busy_is_named(host: Host) -> None:
    pci = card(host, CONNECTX5)
    with broken(host, pci, "busy"):
        result = restore(host)
    assert result.get("failed") is True
    assert pci in result["msg"]
    assert "semaphore" in result["msg"].lower()
