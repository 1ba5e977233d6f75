# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions that differ among equal adapters, and among hosts with one vendor's stack."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._table import differences_of, render


def host(*cards: tuple[str, str], kind: str = "", version: str = "") -> dict[str, t.Any]:
    stack = {"kind": kind, "version": version} if kind else {}
    return {"deviations": [], "adapters": [{"pci": "0000:03:00.0", "psid": psid, "firmware": firmware} for psid, firmware in cards], "stack": stack}


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences_of({"node%d" % number: host(("MT_8", "16.35.2000"), kind="doca", version="24.10") for number in range(3)}) == []
    # Other cards have other firmware, a distribution has what it has, and nothing is known of the last one.
    mixed = {
        "node1": host(("MT_8", "16.35.2000"), ("MT_9", "20.31.1014"), kind="inbox", version="44.0"),
        "node2": host(("MT_9", "20.31.1014"), kind="inbox", version="52.0"),
        "node3": host(("", "1.2.3"), ("MT_8", ""), kind="mlnx_ofed", version="5.8"),
        "node4": {"msg": "unreachable"},
    }
    assert differences_of(mixed) == []


def test_each_version_is_shown_with_its_hosts() -> None:
    results = {"node%d" % number: host(("MT_8", "16.35.2000"), kind="mlnx_ofed", version="5.8-1.0.1.1") for number in range(1, 4)}
    results["node4"] = host(("MT_8", "16.31.1014"), ("MT_8", "16.35.2000"), kind="mlnx_ofed", version="5.4-3.1.0.0")
    firmware, stack = differences_of(results)
    assert (firmware["what"], firmware["of"], list(firmware["hosts"])) == ("firmware", "MT_8", ["16.35.2000", "16.31.1014"])
    assert firmware["hosts"]["16.31.1014"] == ["node4"]
    assert stack == {"what": "stack", "of": "mlnx_ofed", "hosts": {"5.8-1.0.1.1": ["node1", "node2", "node3"], "5.4-3.1.0.0": ["node4"]}}
    text = render(results, {}, [firmware, stack])
    assert "Different versions:\n  firmware of adapters with PSID MT_8: 16.35.2000 on node[1-4], 16.31.1014 on node4\n" in text
    assert text.endswith("All 4 hosts are as declared.")
