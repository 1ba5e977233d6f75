# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's part of sysfs: the files and links of an adapter, and how they are written to the tree.

Pure functions return the content (paths relative to the root of the tree); Tree writes it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterable, Mapping

from .node import Hca, Node, Port
from .portstate import groups

ROOT = "/run/rdmalab"
ATTRIBUTE_MODE = 0o1644  # the sticky bit marks files whose writes the preload library passes to the agent
PCI_IDS = {
    "MT4099": 0x1003, "MT4103": 0x1007, "MT4113": 0x1011, "MT4115": 0x1013, "MT4117": 0x1015, "MT4119": 0x1017,
    "MT4121": 0x1019, "MT4123": 0x101B, "MT4125": 0x101D, "MT4127": 0x101F, "MT4129": 0x1021, "MT4131": 0x1023,
}  # fmt: skip
PCIE_LINK = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "16", "max_link_speed": "8.0 GT/s PCIe", "max_link_width": "16"}
NO_RESOURCE = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n" * 7
COUNTERS = (
    "excessive_buffer_overrun_errors", "link_downed", "link_error_recovery", "local_link_integrity_errors",
    "multicast_rcv_packets", "multicast_xmit_packets", "port_rcv_constraint_errors", "port_rcv_data",
    "port_rcv_errors", "port_rcv_packets", "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors",
    "port_xmit_constraint_errors", "port_xmit_data", "port_xmit_discards", "port_xmit_packets", "port_xmit_wait",
    "symbol_error", "unicast_rcv_packets", "unicast_xmit_packets", "VL15_dropped",
)  # fmt: skip


def bridge_directory(node: Node, hca: Hca) -> str:
    """Return the directory of the root port above a card. Functions of one card share it."""
    cards = sorted({other.pci.rsplit(".", 1)[0] for other in node.hcas})
    bridge = cards.index(hca.pci.rsplit(".", 1)[0])
    return "sys/devices/pci0000:00/0000:00:%02x.%d" % (0x1C + bridge // 8, bridge % 8)


def bridge_config(hca: Hca) -> bytes:
    """Return the configuration space of the root port above a card, with the PCI Express capability at 0x40."""
    bus = int(hca.pci.split(":")[1], 16)
    config = bytearray(4096)
    values = (
        (0x00, 0x8086, 2), (0x02, 0x2030, 2), (0x04, 0x0147, 2), (0x06, 0x10, 2), (0x08, 0x06040004, 4), (0x0E, 1, 1),
        (0x19, bus, 1), (0x1A, bus, 1), (0x34, 0x40, 1), (0x40, 0x10, 1), (0x42, 0x0142, 2), (0x4C, 0x00100043, 4), (0x52, 0x2103, 2),
    )  # fmt: skip
    for at, value, size in values:
        config[at : at + size] = value.to_bytes(size, "little")
    return bytes(config)


def bridge_files(node: Node, hca: Hca) -> dict[str, str]:
    base = bridge_directory(node, hca)
    files = {"vendor": "0x8086", "device": "0x2030", "class": "0x060400", "irq": "0", "resource": NO_RESOURCE.rstrip(), **PCIE_LINK}
    return {base + "/" + name: text + "\n" for name, text in files.items()}


def pci_directory(node: Node, hca: Hca) -> str:
    return "%s/%s" % (bridge_directory(node, hca), hca.pci)


def rdma_directory(node: Node, hca: Hca) -> str:
    return "%s/infiniband/%s" % (pci_directory(node, hca), hca.device)


def vpd(hca: Hca) -> bytes:
    """Return PCI vital product data: a name, then the read-only part with part and serial number."""
    fields = b"".join(key + bytes([len(value)]) + value for key, value in ((b"PN", hca.part_number.encode()), (b"SN", b"MT0000X00000")))
    fields += b"RV\x01"
    name = b"InfiniBand adapter"
    head = b"\x82" + len(name).to_bytes(2, "little") + name + b"\x90" + (len(fields) + 1).to_bytes(2, "little") + fields
    checksum = -(sum(head)) & 0xFF  # the first byte of RV makes the sum of all bytes up to and including it zero
    return head + bytes([checksum]) + b"\x78"


def pci_files(node: Node, hca: Hca) -> dict[str, str]:
    """Return the files of the PCI function, which exist with or without a driver."""
    base = pci_directory(node, hca)
    device = PCI_IDS[hca.type]
    return {
        base + "/" + name: text + "\n"
        for name, text in {
            "vendor": "0x15b3",
            "device": "0x%04x" % device,
            "subsystem_vendor": "0x15b3",
            "subsystem_device": "0x0008",
            "class": "0x020700",
            "revision": "0x00",
            "irq": "0",
            "enable": "1",
            "resource": "0x00000000e0000000 0x00000000e1ffffff 0x000000000014220c\n" + NO_RESOURCE.rstrip(),
            "remove": "",
            "reset": "",
            "numa_node": "%d" % hca.numa_node,
            "local_cpulist": "0-1",
            **PCIE_LINK,
            "sriov_totalvfs": "0",
            "sriov_numvfs": "0",
            "modalias": "pci:v000015B3d%08Xsv000015B3sd00000008bc02sc07i00" % device,
            "uevent": "PCI_CLASS=20700\nPCI_ID=15B3:%04X\nPCI_SLOT_NAME=%s" % (device, hca.pci),
        }.items()
    }


def pci_links(node: Node, hca: Hca) -> dict[str, str]:
    base = pci_directory(node, hca)
    bridge = bridge_directory(node, hca)
    return {
        "sys/bus/pci/devices/" + hca.pci: base,
        "sys/bus/pci/devices/" + bridge.rpartition("/")[2]: bridge,
        base + "/subsystem": "sys/bus/pci",
    }


def driver_links(node: Node, hca: Hca) -> dict[str, str]:
    base = pci_directory(node, hca)
    driver = "sys/bus/pci/drivers/" + hca.driver
    return {base + "/driver": driver, "%s/%s" % (driver, hca.pci): base}


def bind_files(driver: str) -> list[str]:
    """Return the attributes of a driver that unbind and bind functions."""
    return ["sys/bus/pci/drivers/%s/%s" % (driver, name) for name in ("bind", "unbind")]


def is_ethernet(hca: Hca, port: Port) -> bool:
    """Return whether the current LINK_TYPE of the port is Ethernet."""
    return hca.settings.get("current", {}).get("LINK_TYPE_P%d" % port.number) == "ETH"


def rdma_files(node: Node, hca: Hca) -> dict[str, str]:
    """Return the files of the RDMA device that do not depend on the fabric (see portstate.port_files)."""
    base = rdma_directory(node, hca)
    files = {
        base + "/node_type": "1: CA\n",
        base + "/node_guid": groups(hca.guid, 4) + "\n",
        base + "/sys_image_guid": groups(hca.system_guid, 4) + "\n",
        base + "/node_desc": hca.ports[0].node_description + "\n",
        base + "/fw_ver": hca.firmware + "\n",
        base + "/hw_rev": "0\n",
        base + "/hca_type": hca.type + "\n",
        base + "/board_id": hca.psid + "\n",
    }
    for port in hca.ports:
        directory = "%s/ports/%d" % (base, port.number)
        files[directory + "/link_layer"] = "Ethernet\n" if is_ethernet(hca, port) else "InfiniBand\n"
        files.update({"%s/counters/%s" % (directory, name): "0\n" for name in COUNTERS})
    return files


def rdma_links(node: Node, hca: Hca) -> dict[str, str]:
    base = rdma_directory(node, hca)
    return {
        base + "/device": pci_directory(node, hca),
        base + "/subsystem": "sys/class/infiniband",
        "sys/class/infiniband/" + hca.device: base,
    }


def hardware_address(hca: Hca, port: Port, gid_prefix: int, qpn: int) -> str:
    """Return the 20-byte hardware address of an IPoIB interface: flags and QPN, subnet prefix, port GUID.

    Bit 0x80 of the first byte means that connected mode is possible.
    """
    value = (0x80 if hca.connected_capable else 0) << 152 | qpn << 128 | gid_prefix << 64 | port.guid
    return ":".join("%02x" % byte for byte in value.to_bytes(20, "big"))


def broadcast_address(gid_prefix: int, pkey: int) -> str:
    """Return the IPv4 broadcast group of a partition, RFC 4391 section 4."""
    scope = 0xFF12 if gid_prefix >> 48 == 0xFE80 else 0xFF15
    value = 0xFFFFFF << 128 | scope << 112 | 0x401B << 96 | (pkey | 0x8000) << 80 | 0xFFFFFFFF
    return ":".join("%02x" % byte for byte in value.to_bytes(20, "big"))


class Tree:
    """The tree on tmpfs. Files are replaced by rename and only when their text changes."""

    def __init__(self, root: str = ROOT) -> None:
        self.root = root

    def path(self, name: str) -> str:
        return os.path.join(self.root, name)

    def read(self, name: str) -> str:
        """Return the text of a file, "" if it does not exist."""
        try:
            with open(self.path(name), encoding="utf-8") as stream:
                return stream.read()
        except OSError:
            return ""

    def write(self, name: str, content: str | bytes, mode: int = 0o644) -> None:
        path = self.path(name)
        data = content.encode() if isinstance(content, str) else content
        with contextlib.suppress(OSError), open(path, "rb") as stream:
            if stream.read() == data:
                return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        temporary = path + ".new"
        with open(temporary, "wb") as stream:
            stream.write(data)
        os.chmod(temporary, mode)
        os.rename(temporary, path)

    def write_all(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            self.write(name, text)

    def link_all(self, links: Mapping[str, str]) -> None:
        """Create links. Both ends are paths in the tree; the links are relative and end in the name of the target, as in sysfs."""
        for name, target in links.items():
            path = self.path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if not os.path.islink(path):
                above, last = os.path.split(target)
                os.symlink(os.path.join(os.path.relpath(above, os.path.dirname(name)), last), path)

    def remove(self, names: Iterable[str]) -> None:
        for name in names:
            path = self.path(name)
            if os.path.islink(path) or os.path.isfile(path):
                os.unlink(path)
            elif os.path.isdir(path):
                shutil.rmtree(path)
