# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a discovery reads of the adapters, and what becomes of it where an adapter answers badly or not at all."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._firmware import _look
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._discovery import join, read
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._found import Seen, SeenAdapter
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._look import LEAST, LIMIT, Limited, seen
from ansible_collections.rdma.ofed.plugins.module_utils._host import _node
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from support.firmware_node import Node
from support.flint_cards import Cards
from support.mlxconfig_runs import converge, verbs

SLOT, OTHER = "0000:03:00.0", "0000:41:00.0"
WANTED = {
    "LINK_TYPE_P2": "ETH",
    "NUM_OF_VFS": 0,
    "SRIOV_EN": False,
    "ADVANCED_PCI_SETTINGS": True,
    "MAX_ACC_OUT_READ": 4,
    "HOST_CHAINING_DESCRIPTORS[1..3]": [5, 3, 5],
    "HOST_CHAINING_DESCRIPTORS[4..7]": 9,
}


@pytest.fixture
def node(tmp_path: pathlib.Path) -> Node:
    node = Node(tmp_path)
    for pci, name in ((SLOT, "mlx5_0"), (OTHER, "mlx5_1")):
        node.add(pci, name)
        node.write("sys/class/infiniband/%s/fw_ver" % name, "16.35.2000\n")
    return node


def look(node: Node, run: t.Any = None) -> Seen:
    return seen(_node.Node(run or node, "6.1.0", {}, str(node.root)), {})


def declared(found: Seen) -> dict[str, t.Any]:
    return {value.variable: value.value for value in join([Subject("node1", found=found)]).values["node1"]}


def names(adapter: SeenAdapter) -> list[str]:
    return [row.name for row in adapter.parameters or ()]


def test_what_was_set_is_declared_and_changes_nothing(node: Node) -> None:
    converge(node, [{"all": True, "parameters": WANTED}])
    for card in node.cards.values():
        card.restart()
    node.calls.clear()
    found = look(node)
    assert set(verbs(node)) == {"query"}
    # Values that are the default are not declared. Elements of arrays are found one by one.
    parameters = {
        **{name: WANTED[name] for name in ("ADVANCED_PCI_SETTINGS", "LINK_TYPE_P2", "MAX_ACC_OUT_READ")},
        "HOST_CHAINING_DESCRIPTORS[1]": 5,
        "HOST_CHAINING_DESCRIPTORS[3..7]": [5, 9, 9, 9, 9],
    }
    config = declared(found)["hca_firmware_config"]
    assert config == [{"psid": "MT_0000000008", "parameters": parameters}]
    assert converge(node, config)["changed"] is False and "set" not in verbs(node)
    # The tool for the flash is not installed.
    assert declared(found)["hca_firmware_versions"] == {}
    ((what, why),) = read(Subject("node1", found=found)).left
    assert (what, "install mstflint" in why) == ("firmware of the adapters (MT_0000000008 16.35.2000)", True)


def test_cards_of_one_board_that_differ_are_declared_by_address(node: Node) -> None:
    converge(node, [{"pci": OTHER, "parameters": {"NUM_OF_VFS": 4}}])
    config = declared(look(node))["hca_firmware_config"]
    assert [(entry["pci"], entry["parameters"]["NUM_OF_VFS"]) for entry in config] == [(SLOT, 8), (OTHER, 4)]
    assert converge(node, config)["changed"] is False
    (danger,) = join([Subject("node1", found=look(node))]).dangers
    assert danger == "adapters with PSID MT_0000000008 have different values of NUM_OF_VFS: 4 on node1; 8 on node1"


def test_what_waits_for_the_next_start_is_declared_and_named(node: Node) -> None:
    converge(node, [{"pci": SLOT, "parameters": {"NUM_OF_VFS": 4}}])
    # Back to the default at the next start.
    converge(node, [{"pci": OTHER, "parameters": {"NUM_OF_VFS": 0}}])
    found = look(node)
    assert [(entry["pci"], entry["parameters"].get("NUM_OF_VFS")) for entry in declared(found)["hca_firmware_config"]] == [(SLOT, 4), (OTHER, None)]
    assert read(Subject("node1", found=found)).dangers == [
        "adapter %s (MT_0000000008): NUM_OF_VFS is 8 now, and 4 after the next start of the adapter" % SLOT,
        "adapter %s (MT_0000000008): NUM_OF_VFS is 8 now, and 0 after the next start of the adapter" % OTHER,
    ]


def test_an_adapter_that_does_not_answer_is_named_and_the_others_are_declared(node: Node) -> None:
    node.cards[SLOT].refusals = ["Failed to open the device"] * 9
    found = look(node)
    (_versions, left) = read(Subject("node1", found=found)).left
    assert "adapter %s (MT_0000000008)" % SLOT in left.what and "Failed to open the device" in left.what
    assert [entry["pci"] for entry in declared(found)["hca_firmware_config"]] == [OTHER]


def test_elements_that_can_not_be_read_leave_the_rest(node: Node) -> None:
    def run(argv: t.Sequence[str], ok: t.Any = (0,), timeout: float = 60) -> Output:
        return Output(3, "-E- Index is out of range\n", "") if argv[-1].endswith("]") else node(argv, ok, timeout)

    broken: t.Any = run
    broken.has = node.has
    found = look(node, broken)
    assert all("elements of arrays" in adapter.errors[0] and "NUM_OF_VFS" in names(adapter) for adapter in found.adapters)


def test_firmware_that_reports_no_defaults(node: Node) -> None:
    for card in node.cards.values():
        card.knows_states = False
    found = look(node)
    assert declared(found)["hca_firmware_config"] == []
    reasons = {left.why for left in read(Subject("node1", found=found)).left if left.what.startswith("parameters of")}
    assert reasons == {"its firmware does not report their defaults, so it is not known which were set"}


def test_read_only_parameters_are_left_out(node: Node) -> None:
    for card in node.cards.values():
        card.parameters["SAFE_MODE_ENABLE"].next = card.parameters["SAFE_MODE_ENABLE"].current = 0
    assert all("SAFE_MODE_ENABLE" not in names(adapter) for adapter in look(node).adapters)


def test_a_node_without_tools_and_one_without_adapters(node: Node, tmp_path: pathlib.Path) -> None:
    node.tools = set()
    found = look(node)
    (versions, left) = read(Subject("node1", found=found)).left
    assert left.what == "parameters of the adapters" and "install mstflint" in left.why
    assert versions.what == "firmware of the adapters (MT_0000000008 16.35.2000)"
    assert declared(found) == {"hca_firmware_versions": {}, "hca_firmware_config": []}
    bare = look(Node(tmp_path / "bare"))
    assert (bare.adapters, read(Subject("node1", found=bare))) == ((), ([], [], []))


def test_the_tools_of_mft_are_not_joined_by_others(node: Node) -> None:
    node.tools = {"mlxconfig"}
    assert [(value.variable, value.value) for value in read(Subject("node1", found=look(node))).values] == [("hca_firmware_install_tools", False)]
    node.tools = {"mlxconfig", "mstconfig"}
    assert read(Subject("node1", found=look(node))).values == []


def test_firmware_that_waits_in_the_flash(node: Node) -> None:
    cards = Cards(SLOT, OTHER)
    cards.flash[SLOT] = ["MT_1", "16.35.3006"]
    cards.flash[OTHER] = ["MT_1", "16.35.3006"]
    found = look(node, cards)
    assert declared(found)["hca_firmware_versions"] == {"MT_1": "16.35.3006"}
    assert "its firmware is 16.35.2000 now, and 16.35.3006 after the next start" in read(Subject("node1", found=found)).dangers[0]
    cards.faults["query " + SLOT] = "-E- Cannot open Device"
    broken = look(node, cards)
    assert any("can't be queried" in left.what for left in read(Subject("node1", found=broken)).left)
    # Of the other adapter, it is known.
    assert declared(broken)["hca_firmware_versions"] == {"MT_1": "16.35.3006"}


def test_all_commands_share_a_time_limit() -> None:
    now = [0.0]
    given: list[float] = []

    def command(_argv: t.Sequence[str], ok: t.Any = (0,), timeout: float = 60) -> Output:
        given.append(timeout)
        now[0] += 50
        return Output(0, "", "")

    run = Limited(t.cast("t.Any", command), LIMIT, clock=lambda: now[0])
    run(["mstconfig"], timeout=120)
    run(["mstconfig"], timeout=30)
    assert given == [LIMIT, 30] and LIMIT - now[0] < LEAST
    with pytest.raises(CommandFailed, match=r"mstconfig -d x was not started, because the adapters answer slowly"):
        run(["mstconfig", "-d", "x"])


def test_without_time_no_adapter_is_queried(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_look, "LIMIT", 0.0)
    found = look(node)
    assert node.calls == []
    assert all("was not started" in left.what for left in read(Subject("node1", found=found)).left if left.what.startswith("adapter "))
    assert [len(adapter.errors) for adapter in found.adapters] == [1, 1]
    assert declared(found) == {"hca_firmware_versions": {}, "hca_firmware_config": []}
