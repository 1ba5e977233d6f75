# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import (
    SELECTORS,
    Device,
    describe_device,
    matches,
    read_devices,
    selector_problem,
    title,
)

MELLANOX = {"vendor": "0x15b3", "class": "0x020000"}


class Tree:
    def __init__(self, root: pathlib.Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text + "\n", encoding="utf-8")

    def function(self, pci: str, device: str = "0x1017", **attributes: str) -> None:
        for name, value in {**MELLANOX, "device": device, **attributes}.items():
            self.write("sys/bus/pci/devices/%s/%s" % (pci, name), value)

    def hca(self, name: str, pci: str, image: str = "", **attributes: str) -> None:
        base = "sys/class/infiniband/" + name
        for key, value in {"node_guid": "0c42:a103:0000:0010", "board_id": "MT_0000000008", "sys_image_guid": image, **attributes}.items():
            self.write("%s/%s" % (base, key), value)
        self.write(base + "/ports/1/gids/0", "fe80:0000:0000:0000:0c42:a103:0000:0011")
        (self.root / base / "device").symlink_to(self.root / "sys/bus/pci/devices" / pci)

    def read(self) -> tuple[Device, ...]:
        return read_devices(str(self.root))


@pytest.fixture(name="tree")
def empty_tree(tmp_path: pathlib.Path) -> Tree:
    return Tree(tmp_path)


def test_the_functions_of_a_card_are_one_device(tree: Tree) -> None:
    for pci in ("0000:03:00.0", "0000:03:00.1"):
        tree.function(pci)
    tree.hca("mlx5_0", "0000:03:00.0")
    tree.hca("mlx5_1", "0000:03:00.1")
    tree.write("sys/bus/pci/devices/0000:03:00.0/net/enp3s0f0np0/mtu", "1500")
    tree.write("sys/class/net/ib1/mtu", "2044")
    (tree.root / "sys/class/net/ib1/device").symlink_to(tree.root / "sys/bus/pci/devices/0000:03:00.1")
    (device,) = tree.read()
    assert device == Device(
        pci="0000:03:00.0",
        functions=("0000:03:00.0", "0000:03:00.1"),
        rdma=("mlx5_0", "mlx5_1"),
        netdevs=("enp3s0f0np0", "ib1"),
        type="MT4119",
        model="ConnectX5",
        psid="MT_0000000008",
        guids=("0x0c42a10300000010", "0x0c42a10300000011"),
    )
    assert describe_device(device) == "0000:03:00.0 ConnectX5 PSID MT_0000000008 mlx5_0 mlx5_1 enp3s0f0np0 ib1"


def test_two_slots_of_one_card_are_one_device(tree: Tree) -> None:
    tree.function("0000:03:00.0")
    tree.function("0000:83:00.0")
    tree.function("0000:84:00.0")
    tree.hca("mlx5_0", "0000:03:00.0", image="0c42:a103:0000:0010")
    tree.hca("mlx5_1", "0000:83:00.0", image="0c42:a103:0000:0010")
    tree.hca("mlx5_2", "0000:84:00.0", image="0c42:a103:0000:0099")
    assert [device.functions for device in tree.read()] == [("0000:03:00.0", "0000:83:00.0"), ("0000:84:00.0",)]


def test_without_a_driver_and_what_is_no_adapter(tree: Tree) -> None:
    tree.function("0000:03:00.0", device="0x1021")
    tree.function("0000:03:00.2", physfn="")
    # In a guest, it is a card of its own.
    tree.function("0000:06:00.0", "0x101e")
    tree.function("0000:04:00.0", vendor="0x8086")
    tree.function("0000:05:00.0", **{"class": "0x060400"})
    assert tree.read() == (Device("0000:03:00.0", ("0000:03:00.0",), type="MT4129", model="ConnectX7"),)


def test_a_node_without_adapters(tree: Tree) -> None:
    assert tree.read() == ()


DEVICE = Device(
    "0000:03:00.0", ("0000:03:00.0", "0000:03:00.1"), ("mlx5_0",), ("ib0",), "MT4119", "ConnectX5", "MT_0000000008", "MCX556A-ECAT", ("0x0c42a10300000010",)
)


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("pci", "03:00.1", True),
        ("pci", "0000:03:00.0", True),
        ("pci", "0001:03:00.0", False),
        ("psid", "mt_0000000008", True),
        ("psid", "MT_000000000", False),
        ("part_number", "MCX556A-ECAT", True),
        ("part_number", "MCX556A", False),
        ("type", "ConnectX-5", True),
        ("type", "connectx5", True),
        ("type", "MT4119", True),
        ("type", "ConnectX-6", False),
        ("guid", "0c42:a103:0000:0010", True),
        ("guid", "0x0C42A10300000010", True),
        ("guid", "0x0c42a10300000011", False),
        ("netdev", "ib0", True),
        ("netdev", "ib", False),
        ("rdma", "mlx5_0", True),
        ("rdma", "mlx5_1", False),
    ],
)
def test_selectors(kind: str, value: str, fits: bool) -> None:
    assert selector_problem("x", kind, value) is None
    assert matches(DEVICE, kind, value) is fits


def test_an_unknown_model_is_not_chosen_by_an_empty_name() -> None:
    assert not matches(Device("0000:03:00.0"), "type", "-")
    assert not any(matches(Device("0000:03:00.0"), kind, "") for kind in SELECTORS)


@pytest.mark.parametrize(("kind", "value"), [("pci", "3:0"), ("pci", 3), ("guid", "12"), ("guid", 12), ("psid", ""), ("rdma", ["mlx5_0"]), ("netdev", "a b")])
def test_bad_selectors(kind: str, value: t.Any) -> None:
    problem = selector_problem("devices[0].x", kind, value)
    assert problem is not None and problem.variable == "devices[0].x"


def test_errors_name_an_adapter_as_the_node_does() -> None:
    assert title(Device("0000:03:00.0", rdma=("mlx5_0", "mlx5_1"))) == "0000:03:00.0 (mlx5_0, mlx5_1)"
    assert title(Device("0000:03:00.0")) == "0000:03:00.0"


@pytest.mark.parametrize(("device", "model"), [("0x1023", "ConnectX8"), ("0x1025", "ConnectX9"), ("0xa2df", "BlueField4"), ("0x1fff", "")])
def test_the_model_of_a_card(tree: Tree, device: str, model: str) -> None:
    tree.function("0000:03:00.0", device)
    (found,) = tree.read()
    assert found.model == model
    assert matches(found, "type", "%s-%s" % (model[:-1], model[-1:])) is bool(model)
