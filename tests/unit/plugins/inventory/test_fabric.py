# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory as shown by ansible-inventory, from a baseline with two hosts on two leaves and a gateway."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Node, Pace, Picture, cable, written
from support import playbook_runs

LEAF1, LEAF2, NODE1, NODE2, GATEWAY = ("0x%016x" % number for number in range(1, 6))


def node(guid: str, name: str) -> Node:
    if name.startswith("leaf"):
        return Node(guid, "switch", name, name, 36)
    return Node(guid, "ca", name, name, 1, device_id="0x1017", psid="MT_0000000008", firmware="16.35.3006")


BASELINE = Picture(
    {guid: node(guid, name) for guid, name in ((LEAF1, "leaf1"), (LEAF2, "leaf2"), (NODE1, "node1 mlx5_0"), (NODE2, "node2 mlx5_0"), (GATEWAY, "gw"))},
    {
        cable((LEAF1, 1), (NODE1, 1)): Pace("4X", "EDR"),
        cable((LEAF2, 1), (NODE2, 1)): Pace("4X", "EDR"),
        cable((LEAF1, 2), (NODE2, 2)): Pace("4X", "EDR"),
        cable((LEAF2, 3), (GATEWAY, 1)): Pace("4X", "EDR"),
    },
)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "fabric-ib.json").write_text(written(BASELINE, "2026-11-24T12:00:00Z"), encoding="utf-8")
    (tmp_path / "hosts.ini").write_text("[rdma]\nnode1.example.org\nnode2.example.org\nnode3.example.org\n", encoding="utf-8")
    return tmp_path


def inventory(folder: pathlib.Path, *lines: str, sources: t.Sequence[str] = ("hosts.ini", "fabric.yml")) -> tuple[dict[str, t.Any], str]:
    """Return the combined inventory of the sources, and the messages."""
    (folder / "fabric.yml").write_text("\n".join(["plugin: rdma.ofed.fabric", *lines, ""]), encoding="utf-8")
    arguments = [word for source in sources for word in ("-i", source)]
    settings = {"ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true", "COLUMNS": "10000"}
    done = playbook_runs.run("inventory", "--list", *arguments, folder=folder, **settings)
    return (json.loads(done.shown) if done.status == 0 else {}), " ".join(done.errors.split())


def plain(value: t.Any) -> str:
    """Remove the marks that some releases of ansible-inventory put on values from plugins."""
    return str(value["__ansible_unsafe"] if isinstance(value, dict) else value)


def test_hosts_of_other_sources_are_grouped(folder: pathlib.Path) -> None:
    found, _said = inventory(folder)
    groups = {name: sorted(group["hosts"]) for name, group in found.items() if "hosts" in group and name not in ("rdma", "ungrouped")}
    both = ["node1.example.org", "node2.example.org"]
    assert groups == {
        "fabric_ib": both,
        "leaf_leaf1": both,
        "leaf_leaf2": ["node2.example.org"],
        "hca_ConnectX5": both,
        "psid_MT_0000000008": both,
        "firmware_16_35_3006": both,
    }
    variables = found["_meta"]["hostvars"]["node2.example.org"]
    assert {name: list(map(plain, values)) for name, values in variables.items() if name.startswith("fabric_")} == {
        "fabric_leaves": ["leaf1", "leaf2"],
        "fabric_hca_models": ["ConnectX5"],
        "fabric_node_guids": [NODE2],
    }


def test_hosts_are_added_on_request(folder: pathlib.Path) -> None:
    alone, _said = inventory(folder, "add_hosts: true", sources=["fabric.yml"])
    assert sorted(alone["fabric_ib"]["hosts"]) == ["gw", "node1", "node2"]
    beside, _said = inventory(folder, "add_hosts: true")
    assert sorted(beside["fabric_ib"]["hosts"]) == ["gw", "node1.example.org", "node2.example.org"]


def test_groups_of_ones_own(folder: pathlib.Path) -> None:
    keyed = "  - {prefix: leaves, key: fabric_leaves | length | string}"
    found, _said = inventory(folder, "groups:", "  dual_rail: fabric_leaves | length > 1", "keyed_groups:", keyed)
    assert found["dual_rail"]["hosts"] == ["node2.example.org"]
    assert found["leaves_1"]["hosts"] == ["node1.example.org"]


def test_without_hosts_it_says_what_to_do(folder: pathlib.Path) -> None:
    _found, said = inventory(folder, sources=["fabric.yml"])
    assert "no host of the inventory is in this fabric" in said and "add_hosts: true" in said


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["baselines: {ib: nowhere.json}"], ["can't be read", "fabric_save_baseline=true"]),
        (["baselines: {ib: hosts.ini}"], ["is not a baseline of a fabric", "fabric_save_baseline=true"]),
        (["baselines: {ib: 7}"], ["allowed: a mapping of names of fabrics to files"]),
    ],
)
def test_what_is_no_baseline(folder: pathlib.Path, lines: t.Sequence[str], words: t.Sequence[str]) -> None:
    found, said = inventory(folder, *lines)
    assert not found
    assert all(word in said for word in words), said
    assert "Traceback" not in said
