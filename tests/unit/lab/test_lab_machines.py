# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of the lab's virtual machines: files, command line, place in the inventory."""

from __future__ import annotations

import io
import pathlib
import re
import struct
import tarfile

import pytest
import yaml
from conftest import LAB
from labctl import _disk, _driver, _inventory, _kinds, _qemu, _seed, _settings, _topology, _vmimage
from labctl._say import LabError

TOPOLOGY = _topology.parse((LAB / "topologies" / "machines.topo").read_text(encoding="utf-8"))
MACHINE = _qemu.Machine("node2", 2222, 2, "239.255.1.2:20000", 2, "tcg", "0123456789ab")


def options(node: int) -> dict[str, str]:
    first, second, *words = _seed.adapter_options(TOPOLOGY, TOPOLOGY.nodes[node]).split()
    assert (first, second) == ("options", "ibdummy")
    return dict(word.split("=", 1) for word in words)


def test_the_driver_is_told_of_the_adapters_in_the_topology() -> None:
    found = options(1)
    assert found["name"] == "mlx4_0,mlx5_0"
    assert found["ports"] == "2,1"
    assert found["guid"] == "0x0002c90300001020,0x0002c90300001030"
    assert found["enhanced"] == "0,1"
    assert found["ports_down"] == "0x0"


def test_every_port_of_the_fabric_has_one_lid() -> None:
    assert _seed.lids_of(TOPOLOGY) == {0x0002C90300001000: 2, 0x0002C90300001010: 4, 0x0002C90300001020: 5, 0x0002C90300001030: 7}
    assert options(1)["peers"] == "0x2c90300001001:2,0x2c90300001002:3,0x2c90300001011:4"
    assert options(0)["lid"] == "2,4"


def test_a_port_has_a_bit_counted_over_all_adapters() -> None:
    assert [_seed.port_bit(TOPOLOGY.nodes[0], port) for port in ("mlx4_0/1", "mlx4_0/2", "mlx5_0/1")] == [1, 2, 4]
    with pytest.raises(LabError, match=r"no port 'mlx5_0/2'.*mlx4_0/1, mlx4_0/2, mlx5_0/1"):
        _seed.port_bit(TOPOLOGY.nodes[0], "mlx5_0/2")


def test_a_port_without_cable_starts_down() -> None:
    text = (LAB / "topologies" / "machines.topo").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "2c90300001002" not in line]
    node = _topology.parse("\n".join(lines)).nodes[0]
    assert _seed.uncabled(node) == 2
    with pytest.raises(LabError, match="no cable"):
        _seed.port_bit(node, "mlx4_0/2")


@pytest.mark.parametrize("stack", _topology.NETWORKS)
def test_every_network_stack_gets_the_management_interface(stack: str) -> None:
    files = _seed.management(stack, "enp0s3")
    assert any("enp0s3" in file.content for file in files.values())
    assert all(file.mode == 0o600 for path, file in files.items() if path.endswith((".nmconnection", ".yaml")))
    for path, file in files.items():
        if path.endswith(".yaml"):
            assert yaml.safe_load(file.content)["network"]["ethernets"] == {"enp0s3": {"dhcp4": True}}


def test_the_archive_keeps_keys_from_others() -> None:
    data = _seed.archive({**_seed.seed(TOPOLOGY, TOPOLOGY.nodes[0], "kernel"), **_seed.identity("ssh-ed25519 AAAA lab\n", "x")})
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        members = {member.name: member for member in tar}
    assert members["root/.ssh"].isdir()
    assert members["root/.ssh"].mode == 0o700
    assert members["root/.ssh/authorized_keys"].mode == 0o600
    assert members["etc/hostname"].mode == 0o644


def test_a_machine_has_a_pci_function_for_each_adapter(tmp_path: pathlib.Path) -> None:
    argv = _qemu.argv(tmp_path, MACHINE)
    assert [word for word in argv if word.startswith("pci-testdev")] == ["pci-testdev,addr=0x10", "pci-testdev,addr=0x11"]
    assert any("hostfwd=tcp:127.0.0.1:2222-:22" in word for word in argv)


def test_a_machine_boots_its_own_disk(tmp_path: pathlib.Path) -> None:
    argv = _qemu.argv(tmp_path, MACHINE)
    assert not {"-kernel", "-initrd", "-append"} & set(argv)
    assert [word for word in argv if "bootindex=0" in word] == ["virtio-blk-pci,drive=root,addr=2,bootindex=0"]


@pytest.mark.parametrize(("names", "told"), [("kernel", True), ("predictable", False)])
def test_interfaces_keep_the_names_of_the_kernel_unless_udev_shall_name_them(names: str, told: bool) -> None:
    rules = _seed.seed(TOPOLOGY, TOPOLOGY.nodes[0], names).get("/etc/systemd/network/99-default.link")
    assert (rules is not None) is told
    assert rules is None or "\nNamePolicy=" not in rules.content


def test_the_disk_has_one_bootable_partition_and_room_for_the_boot_loader() -> None:
    sector = _disk.partition_table(16, b"abcd")
    assert (len(sector), sector[440:444], sector[510:]) == (512, b"abcd", bytes([0x55, 0xAA]))
    active, kind, start, length = struct.unpack("<B3xB3xII", sector[446:462])
    assert (active, kind, start, length) == (0x80, 0x83, 2048, 15 * 2048)
    assert not any(sector[462:510])


def grub(start: int, sectors: int) -> bytes:
    """Return a core.img of three sectors that expects the rest of itself at these sectors."""
    return bytes(500) + struct.pack("<QHH", start, sectors, 0x820) + b"c" * 700


def test_the_boot_loader_is_before_the_partition() -> None:
    table, boot, core = _disk.partition_table(16, b"abcd"), b"b" * 512, grub(2, 2)
    made = _disk.boot_sectors(table, boot, core)
    assert made[440:512] == table[440:]
    assert made[512:] == core
    assert made[:440] == b"b" * 0x66 + b"\x90\x90" + b"b" * (440 - 0x68)


@pytest.mark.parametrize(("start", "sectors"), [(0, 2), (2, 3)])
def test_a_boot_loader_that_would_not_find_itself_is_refused(start: int, sectors: int) -> None:
    with pytest.raises(LabError, match="looks for %d sectors from %d on" % (sectors, start)):
        _disk.boot_sectors(_disk.partition_table(16, b"abcd"), bytes(512), grub(start, sectors))


def test_a_driver_is_built_anew_for_each_kernel_and_suite() -> None:
    settings = _settings.settings("x", {"RDMALAB_MIRROR": "http://deb.example/debian"})
    tags = [_driver.tag(settings, suite, release) for suite in _topology.SUITES for release in ("6.1.0-56-amd64", "6.12.9+deb12-amd64")]
    assert len(set(tags)) == len(tags)
    assert all(re.fullmatch(r"[a-z/]+:[A-Za-z0-9_.-]+", tag) for tag in tags)


def test_a_driver_is_built_only_for_what_may_be_a_kernel() -> None:
    settings = _settings.settings("x", {"RDMALAB_MIRROR": "http://deb.example/debian"})
    with pytest.raises(LabError, match=r"'6\.1; reboot' is not the release of a kernel"):
        _driver.provide(settings, TOPOLOGY.nodes[0], ["6.1; reboot"])


def test_a_machine_comes_back_as_it_was_made(tmp_path: pathlib.Path) -> None:
    _qemu.save(tmp_path, MACHINE)
    assert _qemu.load(tmp_path) == MACHINE
    (tmp_path / "machine.json").write_text("{}")
    with pytest.raises(LabError, match="does not describe a machine"):
        _qemu.load(tmp_path)


def test_a_process_that_took_over_the_number_is_not_the_machine(tmp_path: pathlib.Path) -> None:
    assert _qemu.pid(tmp_path) == 0
    (tmp_path / "pid").write_text("1\n")
    assert _qemu.pid(tmp_path) == 0


def test_the_inventory_reaches_the_machines_by_ssh() -> None:
    text = _inventory.render_machines(TOPOLOGY, {"node1": 1001, "node2": 1002}, pathlib.Path("/k"), ("-o", "X=y"))
    found = yaml.safe_load(text)["all"]
    assert found["children"]["rdma"]["hosts"]["node2"]["ansible_port"] == 1002
    assert found["vars"]["ansible_ssh_common_args"] == "-o X=y"
    assert found["vars"]["opensm_state"] == "absent"
    assert "opensm" not in found["children"]


def test_the_disk_changes_with_its_sources_and_its_stack(tmp_path: pathlib.Path) -> None:
    settings = _settings.settings("x", {"RDMALAB_MIRROR": "http://deb.example/debian"})
    (tmp_path / "vm").mkdir()
    (tmp_path / "vm" / "Dockerfile").write_text("FROM x\n")
    before = {_vmimage.tag(settings, stack, tmp_path) for stack in _topology.NETWORKS}
    assert len(before) == len(_topology.NETWORKS)
    (tmp_path / "vm" / "Dockerfile").write_text("FROM y\n")
    assert _vmimage.tag(settings, "networkd", tmp_path) not in before


def test_the_kind_of_a_running_lab_stays(tmp_path: pathlib.Path) -> None:
    settings = _settings.settings("x", {"RDMALAB_STATE": str(tmp_path), "RDMALAB_MIRROR": "http://deb.example/debian"})
    assert isinstance(_kinds.kind(settings), _kinds.Containers)
    assert isinstance(_kinds.kind(settings, "vm"), _kinds.Machines)
    settings.topology.write_text((LAB / "topologies" / "machines.topo").read_text(encoding="utf-8"))
    with pytest.raises(LabError, match="kind 'container' is up"):
        _kinds.kind(settings, "vm")
    settings.machines.mkdir()
    assert isinstance(_kinds.kind(settings), _kinds.Machines)
    with pytest.raises(LabError, match="virtual machines have no use"):
        _kinds.need_simulator(settings)
    settings.topology.write_text((LAB / "topologies" / "managed-machines.topo").read_text(encoding="utf-8"))
    _kinds.need_simulator(settings)


def test_containers_refuse_the_stacks_of_machines(tmp_path: pathlib.Path) -> None:
    settings = _settings.settings("x", {"RDMALAB_STATE": str(tmp_path), "RDMALAB_MIRROR": "http://deb.example/debian"})
    text = (LAB / "topologies" / "network-stacks.topo").read_text(encoding="utf-8")
    with pytest.raises(LabError, match=r"node3 wants network=networkmanager.*--kind vm"):
        _kinds.Containers().up(settings, text, True, "x", "")
