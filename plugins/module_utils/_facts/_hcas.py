# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""RDMA devices and the cards behind them, from /sys/class/infiniband and /sys/bus/pci."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries, guid, link_name, number, pci_address

_VPD_LIMIT = 4096
_VPD_READ_ONLY = 0x90
_VPD_END = 0x78

_MELLANOX = "0x15b3"
_NETWORK_CLASS = 0x02
_INFINIBAND_CLASS = 0x0207


class Hca(t.NamedTuple):
    """One RDMA device; a card of two ports usually shows two of them, as two PCI functions. "" where something can't be read."""

    name: str
    type: str = ""
    """`MT4119`."""
    driver: str = ""
    pci: str = ""
    """PCI function with domain; "" for devices in software such as rxe."""
    functions: tuple[str, ...] = ()
    """All PCI functions of the same card (same domain, bus and slot), this one included."""
    virtual: bool = False
    """Whether it is a virtual function (SR-IOV)."""
    psid: str = ""
    firmware: str = ""
    part_number: str = ""
    node_guid: str = ""
    node_description: str = ""
    numa_node: int | None = None
    """-1 where the platform has no NUMA information; None without PCI."""


class Adapter(t.NamedTuple):
    """One PCI function of an adapter that can do RDMA, whether or not a driver makes an RDMA device of it."""

    pci: str
    vendor: str = ""
    """`0x15b3`."""
    device: str = ""
    """`0x1017`."""
    driver: str = ""
    rdma: tuple[str, ...] = ()
    """The RDMA devices on it; none before the driver's RDMA part is loaded."""


def part_number(vpd: t.BinaryIO) -> str:
    """The part number (keyword PN) of PCI Vital Product Data; "" where there is none. Layout: PCI Local Bus Specification, appendix I."""
    while vpd.tell() < _VPD_LIMIT:
        first = vpd.read(1)
        if not first or first[0] == _VPD_END:
            break
        # The tags of small items hold their size.
        size = int.from_bytes(vpd.read(2), "little") if first[0] & 0x80 else first[0] & 0x07
        if first[0] == _VPD_READ_ONLY:
            return _keyword(vpd, size, b"PN")
        vpd.seek(size, os.SEEK_CUR)
    return ""


def _keyword(vpd: t.BinaryIO, size: int, keyword: bytes) -> str:
    end = vpd.tell() + size
    while vpd.tell() + 3 <= end:
        head = vpd.read(3)
        if len(head) < 3:
            break
        if head[:2] == keyword:
            value = vpd.read(head[2])
            return value.decode("ascii", "replace").strip(" \0") if len(value) == head[2] else ""
        vpd.seek(head[2], os.SEEK_CUR)
    return ""


def read_part_number(path: str) -> str:
    """The part number in the VPD file of a PCI function; "" where there is none."""
    try:
        # Every four bytes of VPD are a conversation with the firmware, so read no more than it takes.
        with open(path, "rb", buffering=0) as vpd:
            return part_number(vpd)
    except OSError:
        return ""


def read_hca(root: str, name: str, functions: t.Sequence[str]) -> Hca:
    """One RDMA device; `functions` are all PCI functions of the node."""
    base = os.path.join(root, "sys/class/infiniband", name)
    pci = pci_address(base, "device")
    slot = pci.rpartition(".")[0]
    return Hca(
        name=name,
        type=attribute(base, "hca_type"),
        driver=link_name(base, "device/driver"),
        pci=pci,
        functions=tuple(sorted({pci, *(function for function in functions if function.rpartition(".")[0] == slot)})) if pci else (),
        virtual=os.path.exists(os.path.join(base, "device/physfn")),
        psid=attribute(base, "board_id"),
        firmware=attribute(base, "fw_ver"),
        part_number=read_part_number(os.path.join(base, "device/vpd")),
        node_guid=guid(attribute(base, "node_guid")),
        node_description=attribute(base, "node_desc"),
        numa_node=number(attribute(base, "device/numa_node")),
    )


def read_hcas(root: str = "/") -> tuple[Hca, ...]:
    """All RDMA devices by name; none on a node without HCA or without its driver."""
    functions = entries(root, "sys/bus/pci/devices")
    return tuple(read_hca(root, name, functions) for name in entries(root, "sys/class/infiniband"))


def is_adapter(vendor: str, pci_class: str) -> bool:
    """Whether a PCI function can do RDMA: an InfiniBand controller of any maker, or any network controller of NVIDIA's."""
    number_of_class = number(pci_class) or 0
    return number_of_class >> 8 == _INFINIBAND_CLASS or (vendor.lower() == _MELLANOX and number_of_class >> 16 == _NETWORK_CLASS)


def read_adapters(root: str = "/", hcas: t.Sequence[Hca] = ()) -> tuple[Adapter, ...]:
    """The adapters in the PCI slots, by address: what tells a node without HCA from one whose driver is not loaded yet."""
    base = os.path.join(root, "sys/bus/pci/devices")
    found = []
    for pci in entries(base):
        vendor = attribute(base, pci, "vendor")
        if is_adapter(vendor, attribute(base, pci, "class")):
            names = tuple(hca.name for hca in hcas if hca.pci == pci)
            found.append(Adapter(pci, vendor, attribute(base, pci, "device"), link_name(base, pci, "driver"), names))
    return tuple(found)
