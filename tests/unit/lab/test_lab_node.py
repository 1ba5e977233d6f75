# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pure parts of a lab node: what it shows must match a kernel."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import socket
import struct
import sys
import threading
from collections.abc import Iterator

import pytest

if sys.version_info < (3, 11):
    pytest.skip("the lab runs on Python 3.11", allow_module_level=True)

LAB = pathlib.Path(__file__).parents[2] / "lab"
sys.path[:0] = [str(LAB), str(LAB / "node")]

from cxemu import image
from labnode import adapter, ipoib, mads, modules, naming, simulator, tree
from labnode.modinfo import ModInfo, parse_modinfo
from labnode.node import Node, parse_node
from labnode.portstate import UNPLUGGED, parse_port_info, port_files, rate_text
from labnode.tap import link_local_address

RELEASE = "6.1.0-50-amd64"
NODE = {
    "name": "node1",
    "simulator": "172.30.0.2",
    "kernel": RELEASE,
    "network": "networkd",
    "hcas": [
        {
            "device": "mlx5_0",
            "driver": "mlx5_core",
            "pci": "0000:03:00.0",
            "type": "MT4119",
            "psid": "MT_0000000008",
            "firmware": "16.35.2000",
            "part_number": "MCX556A-ECAT",
            "node_guid": "0x0002c90300001000",
            "numa_node": 1,
            "connected_capable": False,
            "ports": [{"port": 1, "port_guid": "0x0002c90300001001", "node_description": "node1", "netdev": "ib0"}],
        }
    ],
}


@pytest.fixture
def node() -> Node:
    return parse_node(json.dumps(NODE))


def port_info(**fields: int) -> bytes:
    """Return the PortInfo of an active EDR port; b0, b1 ... override the bytes at these offsets."""
    info = bytearray(64)
    info[8:16] = (0xFE80 << 48).to_bytes(8, "big")
    info[16:18], info[18:20] = b"\x00\x05", b"\x00\x01"
    info[20:24] = (0x0050C048).to_bytes(4, "big")
    info[31], info[32], info[33], info[35], info[62] = 2, 0x74, 0x52, 0x47, 0x23
    for name, value in fields.items():
        info[int(name[1:])] = value
    return bytes(info)


@pytest.mark.parametrize(
    ("width", "speed", "extended", "text"),
    [
        (2, 4, 2, "100 Gb/sec (4X EDR)"),
        (2, 4, 1, "56 Gb/sec (4X FDR)"),
        (2, 4, 4, "200 Gb/sec (4X HDR)"),
        (2, 4, 8, "400 Gb/sec (4X NDR)"),
        (2, 4, 0, "40 Gb/sec (4X QDR)"),
        (1, 1, 0, "2.5 Gb/sec (1X SDR)"),
        (16, 4, 4, "100 Gb/sec (2X HDR)"),
    ],
)
def test_rate_is_written_as_the_kernel_does(width: int, speed: int, extended: int, text: str) -> None:
    assert rate_text(width, speed, extended) == text


def test_port_files_of_an_active_port() -> None:
    state = parse_port_info(port_info(), b"\xff\xff\x80\x01")
    files = port_files(state, 0x0002C90300001001)
    assert files["state"] == "4: ACTIVE\n"
    assert files["phys_state"] == "5: LinkUp\n"
    assert (files["lid"], files["sm_lid"]) == ("0x5\n", "0x1\n")
    assert files["rate"] == "100 Gb/sec (4X EDR)\n"
    assert files["gids/0"] == "fe80:0000:0000:0000:0002:c903:0000:1001\n"
    assert (files["pkeys/0"], files["pkeys/1"]) == ("0xffff\n", "0x8001\n")


def test_extended_speed_counts_only_where_the_port_says_so() -> None:
    assert parse_port_info(port_info(b22=0x80), b"").rate == "40 Gb/sec (4X QDR)"


def test_unplugged_port() -> None:
    assert port_files(UNPLUGGED, 1)["state"] == "1: DOWN\n"
    assert port_files(UNPLUGGED, 1)["phys_state"] == "2: Polling\n"


def test_tree_leads_from_class_to_pci_function(node: Node, tmp_path: pathlib.Path) -> None:
    place = tree.Tree(str(tmp_path))
    hca = node.hcas[0]
    place.write_all({**tree.pci_files(node, hca), **tree.rdma_files(node, hca)})
    place.link_all({**tree.pci_links(node, hca), **tree.rdma_links(node, hca)})
    device = tmp_path / "sys/class/infiniband/mlx5_0"
    assert (device / "node_guid").read_text() == "0002:c903:0000:1000\n"
    assert (device / "board_id").read_text() == "MT_0000000008\n"
    assert (device / "device").resolve().name == "0000:03:00.0"
    assert (device / "device/numa_node").read_text() == "1\n"
    assert (tmp_path / "sys/bus/pci/devices/0000:03:00.0").resolve() == (device / "device").resolve()


def test_unchanged_file_is_not_replaced(tmp_path: pathlib.Path) -> None:
    place = tree.Tree(str(tmp_path))
    place.write("a/b", "1\n")
    before = (tmp_path / "a/b").stat().st_ino
    place.write("a/b", "1\n")
    assert (tmp_path / "a/b").stat().st_ino == before
    place.write("a/b", "2\n", tree.ATTRIBUTE_MODE)
    assert place.read("a/b") == "2\n"
    assert os.listdir(tmp_path / "a") == ["b"]


def test_vpd_is_whole(node: Node) -> None:
    data = tree.vpd(node.hcas[0])
    assert b"PN\x0cMCX556A-ECAT" in data
    assert data[-1] == 0x78
    assert sum(data[:-1]) % 256 == 0


@pytest.mark.parametrize(("capable", "first"), [(False, "00"), (True, "80")])
def test_hardware_address(node: Node, capable: bool, first: str) -> None:
    hca = node.hcas[0]._replace(connected_capable=capable)
    address = tree.hardware_address(hca, hca.ports[0], 0xFE80 << 48, 0x48)
    assert address == first + ":00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:00:10:01"


def test_link_local_address() -> None:
    address = bytes.fromhex("80000048fe800000000000000002c90300001001")
    assert socket.inet_ntop(socket.AF_INET6, link_local_address(address)) == "fe80::202:c903:0:1001"


def test_broadcast_address() -> None:
    assert tree.broadcast_address(0xFE80 << 48, 0x7FFF) == "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"


def test_children_and_mtus() -> None:
    assert ipoib.child_name("ib0", 0x8001) == "ib0.8001"
    assert ipoib.parse_pkey("0x0001\n") == 0x8001
    for text in ("0", "0x8000", "0x10000", "x"):
        with pytest.raises(OSError) as caught:
            ipoib.parse_pkey(text)
        assert caught.value.errno == errno.EINVAL
    assert ipoib.mtu_after_mode("connected", 1500) == 65520
    assert ipoib.mtu_after_mode("datagram", 65520) == 2044
    assert ipoib.mtu_after_mode("datagram", 1500) == 1500


def info(name: str, *depends: str, magic: str = RELEASE) -> ModInfo:
    return ModInfo(name, 4096, depends, "ABC", "", magic + " SMP preempt mod_unload modversions", ("queue",))


def test_modules_follow_the_kernel() -> None:
    loaded = modules.load({}, info("ib_core"), "", RELEASE)
    loaded = modules.load(loaded, info("ib_umad", "ib_core"), "queue=7 nonsense=1", RELEASE)
    assert modules.proc_modules(loaded, {"ib_umad": 1}) == ("ib_umad 4096 1 - Live 0x0000000000000000\nib_core 4096 1 ib_umad, Live 0x0000000000000000\n")
    assert modules.sysfs_files(loaded, "ib_umad", {})["parameters/queue"] == "7\n"
    assert modules.sysfs_files(loaded, "ib_umad", {})["srcversion"] == "ABC\n"
    assert modules.from_json(json.loads(json.dumps(modules.to_json(loaded)))) == loaded
    assert list(modules.unload(loaded, "ib_umad", {})) == ["ib_core"]


def test_what_modules_export_and_the_driver_of_a_gpu_are_in_proc() -> None:
    loaded = modules.load({}, info("ib_core")._replace(exports=("ib_register_client",)), "", RELEASE)
    assert modules.kallsyms(loaded) == "0000000000000000 T ib_register_client\t[ib_core]\n"
    assert modules.gpu_driver(loaded) == ""
    for version, words in (("460.106.00", " x86_64 Kernel Module  460.106.00 "), ("535.104.05", " Open Kernel Module for x86_64  535.104.05 ")):
        assert words in modules.gpu_driver(modules.load(loaded, info("nvidia")._replace(version=version), "", RELEASE))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        (info("ib_core"), errno.EEXIST),
        (info("ib_ipoib", "ib_cm"), errno.ENOENT),
        (info("ib_umad", "ib_core", magic="6.1.0-1-amd64"), errno.ENOEXEC),
    ],
)
def test_refused_modules(module: ModInfo, code: int) -> None:
    loaded = modules.load({}, info("ib_core"), "", RELEASE)
    with pytest.raises(OSError) as caught:
        modules.load(loaded, module, "", RELEASE)
    assert caught.value.errno == code


@pytest.mark.parametrize(
    ("name", "holds", "code"), [("ib_core", {}, errno.EWOULDBLOCK), ("ib_umad", {"ib_umad": 1}, errno.EWOULDBLOCK), ("x", {}, errno.ENOENT)]
)
def test_modules_in_use_stay(name: str, holds: dict[str, int], code: int) -> None:
    loaded = modules.load(modules.load({}, info("ib_core"), "", RELEASE), info("ib_umad", "ib_core"), "", RELEASE)
    with pytest.raises(OSError) as caught:
        modules.unload(loaded, name, holds)
    assert caught.value.errno == code


def elf_module(modinfo: bytes) -> bytes:
    """Return the smallest ELF64 file with a .modinfo section: header, section names, the section, three section headers."""
    names = b"\0.modinfo\0.shstrtab\0"
    table = 64 + len(names) + len(modinfo)
    header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, 3, 2)
    section = struct.Struct("<IIQQQQIIQQ")
    sections = section.pack(*[0] * 10)
    sections += section.pack(1, 1, 0, 0, 64 + len(names), len(modinfo), 0, 0, 1, 0)
    sections += section.pack(10, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    return header + names + modinfo + sections


def test_modinfo_of_a_module() -> None:
    image = elf_module(b"name=ib_x\0depends=ib-core,ib_cm\0srcversion=9F\0parmtype=depth:int\0vermagic=6.1 SMP\0")
    assert parse_modinfo(image) == ModInfo("ib_x", len(image), ("ib_core", "ib_cm"), "9F", "", "6.1 SMP", ("depth",))


@pytest.mark.parametrize("image", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01", elf_module(b"license=GPL\0")])
def test_what_is_no_module(image: bytes) -> None:
    with pytest.raises(OSError) as caught:
        parse_modinfo(image)
    assert caught.value.errno == errno.ENOEXEC


class FakeIbsim(threading.Thread):
    """Answers like ibsim's control channel; `deaf` accepts requests without an answer."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.deaf = False
        self.requests: list[int] = []

    def run(self) -> None:
        while True:
            packet, sender = self.socket.recvfrom(256)
            if not packet:
                return
            magic, place, kind, length, data = struct.unpack("=IIII64s", packet)
            self.requests.append(kind)
            if self.deaf:
                continue
            if kind == simulator.CONNECT:
                data = struct.pack("=III32s", 3, 0, 0, b"H-1")
            elif kind == simulator.GET_PORTINFO:
                data = port_info() if place == 3 else bytes(64)
            elif kind == simulator.GET_PKEYS:
                data = b"\xff\xff"
            self.socket.sendto(struct.pack("=IIII64s", magic, place, kind, length, data), sender)

    def stop(self) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(b"", ("127.0.0.1", self.port))
        self.join(60)
        self.socket.close()


@pytest.fixture
def ibsim(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeIbsim]:
    fake = FakeIbsim()
    monkeypatch.setattr(simulator, "PORT", fake.port)
    fake.start()
    yield fake
    fake.stop()


def test_fabric_takes_a_place_only_for_the_question(ibsim: FakeIbsim) -> None:
    fabric = simulator.Fabric("127.0.0.1", "node1", 1, patience=60)
    assert fabric.read().state == 4
    assert fabric.node_id == "H-1"
    assert ibsim.requests == [simulator.CONNECT, simulator.GET_PORTINFO, simulator.GET_PKEYS, simulator.DISCONNECT]


def test_silent_simulator_is_asked_for_one_place_only(ibsim: FakeIbsim) -> None:
    fabric = simulator.Fabric("127.0.0.1", "node1", 1, patience=0.1)
    ibsim.deaf = True
    for _attempt in range(3):
        with pytest.raises(simulator.SimulatorSilent):
            fabric.read()
    # It may not have read them yet.
    ibsim.stop()
    assert ibsim.requests == [simulator.CONNECT]


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    monkeypatch.setattr(simulator, "PORT", port)
    with pytest.raises(simulator.SimulatorGone):
        simulator.Fabric("127.0.0.1", "node1", 1, patience=60).read()


def test_a_second_function_and_mac_of_a_dual_port_card(node: Node) -> None:
    hca = node.hcas[0]
    assert adapter.functions([hca], hca) == ("0000:03:00.0", "0000:03:00.1")
    for model in ("MT4123", "MT4099"):
        other = hca._replace(type=model)
        assert adapter.functions([other], other) == ("0000:03:00.0",)
        assert adapter.functions([other, other._replace(pci="0000:03:00.1")], other) == ("0000:03:00.0", "0000:03:00.1")
    assert {"base_mac=0x2c9001000", "hw_id=0x20d", "psid=MT_0000000008", "ports=2"} <= set(adapter.keys(hca, adapter.MODELS[hca.type], 2))
    assert adapter.directory(hca) == adapter.directory(hca._replace(pci="0000:03:00.1"))


def test_links_end_in_the_name_of_their_target(tmp_path: pathlib.Path) -> None:
    """libmtcr parses the PCI address from the target of the link "device"."""
    tree.Tree(str(tmp_path)).link_all({"sys/devices/bus/0000:03:00.0/infiniband/mlx5_0/device": "sys/devices/bus/0000:03:00.0"})
    assert os.readlink(tmp_path / "sys/devices/bus/0000:03:00.0/infiniband/mlx5_0/device") == "../../../0000:03:00.0"


def test_an_image_says_what_it_is() -> None:
    content = image.build("MT_0000000008", "16.35.3006")
    assert len(content) == image.SIZE
    assert content[image.INFO + 4 : image.INFO + 20].hex() == "0010000000230bbe0000000020230515"
    assert content[image.INFO + 36 : image.INFO + 49] == b"MT_0000000008"
    section, checksum = content[image.BOOT2 : image.BOOT2 + 0x3C], content[image.BOOT2 + 0x3C : image.BOOT2 + 0x40]
    assert struct.unpack(">I", checksum)[0] == image.crc16(section)
    assert sum(one != other for one, other in zip(content, image.corrupted(content))) == 1


def test_the_flash_of_a_card_is_an_image_with_the_cards_own_sections_at_the_end() -> None:
    file = image.build("MT_0000000008", "16.35.3006")
    flash = image.build("MT_0000000008", "16.35.3006", size=image.FLASH_SIZE, guid=0x0002C90300001000, mac=0x0002C9001000)
    assert len(flash) == image.FLASH_SIZE
    assert flash[:0x10000] == file[:0x10000]
    device = len(flash) - image.DEV_INFO
    assert flash[device + 40 : device + 48].hex() == "0002c90300001000"
    assert flash[device + 56 : device + 64].hex() == "00000002c9001000"
    assert flash[0x10000 : len(flash) - image.MFG_INFO].count(0xFF) == len(flash) - image.MFG_INFO - 0x10000


def test_names_of_devices_follow_the_rule_that_counts(node: Node, tmp_path: pathlib.Path) -> None:
    def write(folder: str, policy: str) -> None:
        path = tmp_path / folder / naming.RULE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('# rdma_rename %%k NAME_GUID\nACTION=="add", SUBSYSTEM=="infiniband", PROGRAM="rdma_rename %%k %s"\n' % policy)

    assert naming.policy(str(tmp_path)) == naming.KERNEL
    write("usr/lib/udev/rules.d", "NAME_FALLBACK")
    assert naming.policy(str(tmp_path)) == "NAME_FALLBACK"
    write("etc/udev/rules.d", "NAME_KERNEL")
    assert naming.policy(str(tmp_path)) == naming.KERNEL
    assert naming.named(node, naming.KERNEL) == node


def test_names_by_place(node: Node) -> None:
    (hca,) = node.hcas
    only = hca._replace(type="MT4123")
    second = [only._replace(device="mlx5_%d" % number, pci=pci) for number, pci in enumerate(("0000:83:00.0", "0000:83:00.1", "0001:03:00.0"))]
    named = naming.named(node._replace(hcas=tuple(second)), "NAME_FALLBACK")
    assert [found.device for found in named.hcas] == ["ibp131s0f0", "ibp131s0f1", "ibP1p3s0"]


def test_a_method_of_a_port_belongs_to_one_program() -> None:
    receivers = mads.Receivers()
    receivers.register("first", "umad0 129 1 e6")
    for other in ("umad0 129 1 e6", "umad0 129 1 2"):
        with pytest.raises(OSError) as caught:
            receivers.register("second", other)
        assert caught.value.errno == errno.EINVAL
    for beside in ("umad1 129 1 e6", "umad0 1 1 e6", "umad0 129 2 e6", "umad0 129 1 8"):
        receivers.register(beside, beside)
    receivers.release("first")
    receivers.release("who asked only")
    receivers.register("second", "umad0 129 1 e6")
