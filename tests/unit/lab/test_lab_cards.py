# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The emulated cards of a lab node: which exist, how they are configured, and how they fail."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import sqlite3
import sys

import pytest

if sys.version_info < (3, 11):
    pytest.skip("the lab runs on Python 3.11", allow_module_level=True)

LAB = pathlib.Path(__file__).parents[2] / "lab"
sys.path[:0] = [str(LAB), str(LAB / "node")]

from cxemu import faults, nvconfig
from labctl import _hardware, _settings, _topology
from labctl._say import LabError
from labnode import adapter, kernel, modules, tree
from labnode.faults import cards_named
from labnode.node import Node, parse_node

TOPOLOGY = (_settings.LAB / "topologies" / "firmware.topo").read_text(encoding="utf-8")
OWN = "# lab node1/mlx5_3 pending=NUM_OF_VFS:16"


def nodes(text: str = TOPOLOGY) -> dict[str, _topology.Node]:
    return {node.name: node for node in _hardware.read(text).nodes}


@pytest.fixture
def node() -> Node:
    """Return a node with one dual-port card, both functions in use, and two more cards."""
    return parse_node(json.dumps(_hardware.description(nodes()["node1"], "172.30.0.2", "6.1.0-50-amd64")))


def test_the_functions_of_a_card_share_slot_and_system_image() -> None:
    described = _hardware.description(nodes()["node1"], "", "")["hcas"]
    rows = [(hca["device"], hca["pci"], hca["type"], hca["sys_image_guid"], hca["numa_node"], hca["ports"][0]["netdev"]) for hca in described]
    assert rows == [
        ("mlx5_0", "0000:03:00.0", "MT4119", "0x0002c90300001000", 0, "ib0"),
        ("mlx5_1", "0000:03:00.1", "MT4119", "0x0002c90300001000", 0, "ib1"),
        ("mlx5_2", "0000:83:00.0", "MT4123", "0x0002c90300001100", 1, "ib2"),
        ("mlx5_3", "0000:04:00.0", "MT4129", "0x0002c90300001200", 0, "ib3"),
    ]
    assert described[0]["node_guid"] != described[1]["node_guid"]
    assert [hca.get("settings") for hca in described] == [None, None, None, {"next": {"NUM_OF_VFS": "16"}}]


def test_eight_cards() -> None:
    described = _hardware.description(nodes()["node3"], "", "")["hcas"]
    assert {hca["type"] for hca in described} == {"MT4129"}
    assert len({hca["pci"] for hca in described}) == 8


def test_what_the_topology_says_of_an_adapter() -> None:
    own = "# lab node1/mlx5_0 firmware=16.28.1002 psid=MT_0000000012 current=SRIOV_EN:1,BOOT_PKEY:0x8001"
    described = _hardware.description(nodes(TOPOLOGY.replace(OWN, own))["node1"], "", "")["hcas"]
    assert [(hca["firmware"], hca["psid"]) for hca in described[:2]] == [("16.28.1002", "MT_0000000012")] * 2
    assert described[0]["settings"] == {"current": {"SRIOV_EN": "1", "BOOT_PKEY": "0x8001"}}
    assert "settings" not in described[1]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("node1/mlx5_3", "node1/mlx5_9", "'# lab node1/mlx5_9': node1 has no such adapter, only mlx5_0, mlx5_1, mlx5_2, mlx5_3"),
        ("node1/mlx5_3", "node1/mlx5_1", "it is a function of the same card as mlx5_0: say it of that one"),
        ("node1/mlx5_3", "node9/mlx5_3", "'# lab node9/mlx5_3' names a host that is not in the file"),
        ("pending=NUM_OF_VFS:16", "pending=NUM_OF_VFS=16", "'NUM_OF_VFS=16' is not NAME:VALUE, such as NUM_OF_VFS:16"),
        ("pending=NUM_OF_VFS:16", "next=NUM_OF_VFS:16", "an adapter has firmware=, psid=, default=, current=, pending="),
        ("pending=NUM_OF_VFS:16", "firmware=new", "a version such as 20.37.1014 is wanted"),
        ("sysimgguid=0x2c90300001100", "sysimgguid=0x2c90300001000", "mlx5_0 and mlx5_2 have the same sysimgguid=0x2c90300001000"),
    ],
)
def test_adapters_that_cannot_be(old: str, new: str, words: str) -> None:
    assert old in TOPOLOGY
    with pytest.raises(LabError) as caught:
        nodes(TOPOLOGY.replace(old, new, 1))
    assert words in str(caught.value)


def parameters(folder: pathlib.Path) -> str:
    """Return a database of parameters in the form of mstflint's."""
    path = folder / "parameters.db"
    database = sqlite3.connect(path)
    database.execute("create table tlvs (name, id, class, size, cap, version)")
    database.execute("create table params (tlv_name, name, mlxconfig_name, offset, size, textual_values, array_length)")
    database.execute("insert into tlvs values ('link', 18, 1, 4, 0, 0), ('limits', 5, 0, 8, 1, 1), ('chain', 8, 0, 8, 0, 0)")
    database.execute("insert into params values ('link', 'type', 'LINK_TYPE', '0x0.0', '0x0.2', 'IB=0x1,ETH=0x2', null)")
    database.execute("insert into params values ('limits', 'vfs', null, '0x4.16', '0x2.0', null, null)")
    database.execute("insert into params values ('chain', 'size', 'SIZES', '0x4.24', '0x4.0', null, 4)")
    database.commit()
    database.close()
    return str(path)


def test_values_of_the_nv_configuration(tmp_path: pathlib.Path) -> None:
    """A field is a bit range of a big-endian dword, with its position written as BYTE.BIT."""
    profile = {"tlvs": ["link", "limits", "of another release"], "default": {"LINK_TYPE": "IB", "limits.vfs": 127}, "next": {"LINK_TYPE": 2}}
    assert list(nvconfig.lines(2, profile, database=parameters(tmp_path))) == [
        "01010012 4 1 1 0 00000001 00000001 00000002",
        "01020012 4 1 1 0 00000001 00000001 00000002",
        "00000005 8 1 0 1 00000000007f0000 00000000007f0000 00000000007f0000",
    ]


def test_an_array_has_a_byte_for_each_element(tmp_path: pathlib.Path) -> None:
    path = parameters(tmp_path)
    profile = {"tlvs": ["chain"], "read_only": ["chain"], "default": {"SIZES": 3, "OF_ANOTHER_RELEASE": 1}, "next": {"SIZES[1]": "0x5"}}
    assert list(nvconfig.lines(2, profile, database=path)) == ["00000008 8 1 0 0 0000000003030303 0000000003030303 0000000003050303"]
    first = next(nvconfig.lines(2, {"tlvs": ["chain"], "default": {"SIZES": [1, 2, 3, 4]}}, database=path))
    assert first.startswith("00000008 8 1 1 0 0000000001020304 ")


def test_values_of_one_card(tmp_path: pathlib.Path) -> None:
    path = parameters(tmp_path)
    profile = {"tlvs": ["link"], "default": {"LINK_TYPE": "IB"}}
    assert list(nvconfig.lines(2, profile, {"next": {"LINK_TYPE_P2": "ETH"}}, path)) == [
        "01010012 4 1 1 0 00000001 00000001 00000001",
        "01020012 4 1 1 0 00000001 00000001 00000002",
    ]
    assert nvconfig.codes("LINK_TYPE", profile, 2, path) == [0x01010012, 0x01020012]
    assert nvconfig.codes("LINK_TYPE_P2", profile, 2, path) == [0x01020012]
    with pytest.raises(ValueError, match="no parameter SIZES"):
        nvconfig.codes("SIZES", profile, 2, path)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("NUM_OF_VF", "8", "no such parameter"),
        ("LINK_TYPE", "VPI", "neither a number nor one of: IB, ETH"),
        ("LINK_TYPE", "4", "has 2 bits"),
        ("LINK_TYPE[0]", "1", "is no array"),
        ("SIZES[4]", "1", "elements 0 to 3"),
        ("SIZES[1]", "256", "in range"),
    ],
)
def test_values_that_a_card_cannot_have(tmp_path: pathlib.Path, name: str, value: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        list(nvconfig.lines(1, {"tlvs": ["link", "chain"]}, {"next": {name: value}}, parameters(tmp_path)))


def test_profiles_differ_by_model() -> None:
    profile = {
        "tlvs": ["a", "b"],
        "read_only": ["a"],
        "default": {"X": 1, "Y": 1},
        "models": {"old": {"without": ["b"]}, "new": {"tlvs": ["c"], "default": {"Y": 2}}, "newer": {"like": "new", "default": {"X": 3}, "read_only": ["c"]}},
    }
    assert nvconfig.of_model(profile, "old")["tlvs"] == ["a"]
    newer = nvconfig.of_model(profile, "newer")
    assert (newer["tlvs"], newer["default"], newer["read_only"]) == (["a", "b", "c"], {"X": 3, "Y": 2}, ["a", "c"])


@pytest.mark.parametrize("model", sorted(adapter.MODELS))
def test_profile_of_each_model(model: str) -> None:
    profile = nvconfig.read_profile(model, str(LAB / "cxemu" / "profile.json"))
    assert len(set(profile["tlvs"])) == len(profile["tlvs"])
    assert profile["default"]["LINK_TYPE"] == "IB"
    assert ("HOST_CHAINING_DESCRIPTORS" in profile["default"]) == (model != "MT4115")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("slow=20",), [["set", "slow=0"], ["set", "slow=20"]]),
        (("slow", "off"), [["set", "slow=0"]]),
        (("busy",), [["set", "busy_pid=0", "busy=0"], ["set", "busy_pid=0", "busy=1"]]),
        (("busy", "once"), [["set", "busy_pid=0", "busy=0"], ["set", "busy_pid=0", "busy=2"]]),
        (("vanishes",), [["set", "vanish_after=0", "gone=0"], ["set", "vanish_after=1"]]),
        (("read-only=X", "off"), [["unlock", "0x11"], ["unlock", "0x12"]]),
        (("rejects", "off"), [["nofault", "reg=0x9024", "method=2", "tlv=0"]]),
        (("none",), [list(step) for step in faults.ALL_OFF]),
    ],
)
def test_faults_in_words(words: tuple[str, ...], expected: list[list[str]]) -> None:
    assert faults.commands(faults.parse(*words), lambda _name: [0x11, 0x12]) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nonsense",), "only: busy, burn-fails"),
        (("none", "off"), "there is no fault 'none'"),
        (("slow",), "slow=MS"),
        (("slow=x",), "a number from 1 to"),
        (("hangs=1",), "takes no value"),
        (("hangs", "once"), "on or off"),
        (("read-only",), "read-only=PARAMETER"),
        (("busy=twice",), "busy=once"),
    ],
)
def test_faults_that_there_are_not(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        faults.parse(*words)


def test_a_card_is_found_by_any_of_its_names(node: Node) -> None:
    for name in ("mlx5_2", "0000:83:00.0", "83:00.0"):
        assert cards_named(node.hcas, name) == (node.hcas[2],)
    assert {hca.device for hca in cards_named(node.hcas, "all")} == {"mlx5_0", "mlx5_2", "mlx5_3"}
    with pytest.raises(ValueError, match=r"only: mlx5_0 \(0000:03:00.0\)"):
        cards_named(node.hcas, "mlx5_9")


@pytest.fixture
def emulated(node: Node, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> kernel.Kernel:
    """Return a kernel with the drivers loaded and without cards behind the functions."""
    monkeypatch.setattr(adapter, "start", lambda _hcas, _cold: None)
    found = kernel.Kernel(node, tree.Tree(str(tmp_path)))
    found.modules = {name: modules.Loaded(name, 1, (), "", "", {}) for name in ("mlx5_core", "mlx5_ib")}
    found.boot()
    return found


def test_a_function_is_taken_from_its_driver_and_given_back(emulated: kernel.Kernel) -> None:
    place, driver, function = emulated.tree, "/sys/bus/pci/drivers/mlx5_core/", "sys/bus/pci/devices/0000:03:00.0"
    assert os.path.basename(os.readlink(place.path(function + "/driver"))) == "mlx5_core"
    for attribute, pci, code in [("bind", "0000:03:00.0", errno.EBUSY), ("unbind", "0000:99:00.0", errno.ENODEV), ("bind", "0000:99:00.0", errno.ENODEV)]:
        with pytest.raises(OSError) as caught:
            emulated.store(driver + attribute, pci + "\n")
        assert caught.value.errno == code
    emulated.store(driver + "unbind", "0000:03:00.0")
    assert not os.path.lexists(place.path(function + "/driver"))
    assert [os.path.exists(place.path("sys/class/infiniband/mlx5_%d" % number)) for number in range(3)] == [False, True, True]
    with pytest.raises(OSError) as caught:
        emulated.store(driver + "unbind", "0000:03:00.0")
    assert caught.value.errno == errno.ENODEV
    assert kernel.Kernel(emulated.node, place).unbound == {"0000:03:00.0"}
    emulated.store(driver + "bind", "0000:03:00.0")
    assert os.path.exists(place.path("sys/class/infiniband/mlx5_0/node_guid"))


def test_a_card_leaves_the_bus_and_comes_back(emulated: kernel.Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    for gone in (True, False):
        monkeypatch.setattr(adapter, "gone", lambda hca, gone=gone: gone and hca.pci.startswith("0000:03"))
        emulated.watch()
        for name in ("sys/class/infiniband/mlx5_0", "sys/class/infiniband/mlx5_1", "sys/bus/pci/devices/0000:03:00.1/vendor"):
            assert os.path.exists(emulated.tree.path(name)) != gone
        for name in ("sys/class/infiniband/mlx5_2", "sys/bus/pci/devices/0000:00:1c.0"):
            assert os.path.exists(emulated.tree.path(name))
