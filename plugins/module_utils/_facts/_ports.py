# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RDMA devices, their ports and the cards behind them, from /sys/class/infiniband and /sys/bus/pci."""

from __future__ import annotations

import os
import re
import typing as t

from .._foreign import integer, real
from .._hosts import natural
from ._apart import keywords, read_apart
from ._sysfs import attribute, entries, guid, link_name, pci_address, rdma_devices

_NUMBERED = re.compile(r"^\d+: (.+)$")
_RATE = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?) Gb/sec \((\d+X)(?: ([A-Z0-9]+))?\)$")
# The only adapter on mlx5_core that predates Enhanced IPoIB.

_MELLANOX = "0x15b3"
_NETWORK_CLASS = 0x02
_INFINIBAND_CLASS = 0x0207


class Port(t.NamedTuple):
    """One port of one RDMA device. What can't be read is "" (texts) or 0 (LIDs, rate)."""

    name: str
    """In the notation of rdma(8): `mlx5_0/1`."""
    device: str
    port: int
    port_guid: str = ""
    """The low half of GID 0. On RoCE it is derived from the MAC address."""
    gid: str = ""
    link_layer: str = ""
    """`InfiniBand` or `Ethernet`."""
    state: str = ""
    """`ACTIVE`, `INIT`, `ARMED`, `DOWN`."""
    phys_state: str = ""
    """`LinkUp`, `Polling`, `Disabled` ..."""
    rate: str = ""
    rate_gbps: float = 0
    width: str = ""
    speed: str = ""
    """`EDR`, `HDR` ...; "" for SDR on older kernels, which omit the word."""
    lid: int = 0
    sm_lid: int = 0
    pkeys: tuple[str, ...] = ()
    """Assigned P_Keys in ascending order: `0x7fff` is limited, `0xffff` full membership of the default partition."""
    netdevs: tuple[str, ...] = ()
    """Set by `_netdevs.with_netdevs`."""
    connected_capable: bool | None = None
    """Set by `_netdevs.with_capability`; None if unknown before ib_ipoib is loaded."""
    connected_reason: str = ""
    pci: str = ""
    """PCI function with domain; "" for software devices such as rxe."""
    apart: str = ""
    """Why defaults exclude the port: `nvswitch` or `smi`, see `_apart.py`. "" for a port of an HCA."""

    @property
    def infiniband(self) -> bool:
        return self.link_layer == "InfiniBand"

    @property
    def in_fabric(self) -> bool:
        """Whether defaults include it. A port that is `infiniband` can be named explicitly."""
        return self.infiniband and not self.apart


def parse_numbered(text: str) -> str:
    """`4: ACTIVE` -> `ACTIVE`; "" for anything else."""
    match = _NUMBERED.match(text.strip())
    return match.group(1) if match else ""


def parse_rate(text: str) -> tuple[float, str, str]:
    """`100 Gb/sec (4X EDR)` -> 100, `4X` and `EDR`; 0 and empty texts for anything else."""
    match = _RATE.match(text.strip())
    if match is None:
        return 0, "", ""
    gbps = real(match.group(1)) or 0.0
    return round(gbps) if gbps.is_integer() else gbps, match.group(2), match.group(3) or ""


def gid_guid(gid: str) -> str:
    """The interface ID (low 64 bits) of a GID in sysfs notation, as a GUID; "" if there is none."""
    groups = gid.strip().split(":")
    return guid(":".join(groups[4:])) if len(groups) == 8 else ""


def _pkeys(directory: str) -> tuple[str, ...]:
    values = {integer(attribute(directory, index)) for index in entries(directory)}
    # The low 15 bits are the key; 0 marks an unused table entry.
    return tuple("0x%04x" % value for value in sorted(value for value in values if value and value & 0x7FFF))


def read_port(root: str, device: str, port: str, *, apart: str = "") -> Port:
    """One port. `port`: the name of its directory. `apart`: that of its device."""
    base = os.path.join(root, "sys/class/infiniband", device, "ports", port)
    gid = attribute(base, "gids/0")
    rate = attribute(base, "rate")
    gbps, width, speed = parse_rate(rate)
    return Port(
        name="%s/%s" % (device, port),
        device=device,
        port=integer(port) or 0,
        port_guid=gid_guid(gid),
        gid=gid,
        # Devices older than the attribute are all InfiniBand.
        link_layer=attribute(base, "link_layer") or "InfiniBand",
        state=parse_numbered(attribute(base, "state")),
        phys_state=parse_numbered(attribute(base, "phys_state")),
        rate=rate,
        rate_gbps=gbps,
        width=width,
        speed=speed,
        lid=integer(attribute(base, "lid")) or 0,
        sm_lid=integer(attribute(base, "sm_lid")) or 0,
        pkeys=_pkeys(os.path.join(base, "pkeys")),
        pci=pci_address(root, "sys/class/infiniband", device, "device"),
        apart=apart,
    )


def read_ports(root: str = "/") -> tuple[Port, ...]:
    """All ports of all RDMA devices, in the order of `rdma_devices` and by port number; none on a node without an HCA."""
    base = os.path.join(root, "sys/class/infiniband")
    reasons = {device: read_apart(root, device) for device in rdma_devices(root)}
    return tuple(
        read_port(root, device, port, apart=apart) for device, apart in reasons.items() for port in sorted(entries(base, device, "ports"), key=natural)
    )


class Hca(t.NamedTuple):
    """One RDMA device; a card with two ports usually has two, as two PCI functions. "" where something can't be read."""

    name: str
    type: str = ""
    """`MT4119`."""
    driver: str = ""
    pci: str = ""
    """PCI function with domain; "" for software devices such as rxe."""
    functions: tuple[str, ...] = ()
    """All PCI functions of the same card (same domain, bus and slot), including this one."""
    virtual: bool = False
    """Whether it is a virtual function (SR-IOV)."""
    psid: str = ""
    firmware: str = ""
    part_number: str = ""
    node_guid: str = ""
    node_description: str = ""
    numa_node: int | None = None
    """-1 where the platform has no NUMA information; None without PCI."""
    apart: str = ""
    """Same as for its ports."""


class Adapter(t.NamedTuple):
    """One PCI function of an adapter that supports RDMA, whether or not a driver creates an RDMA device for it."""

    pci: str
    vendor: str = ""
    """`0x15b3`."""
    device: str = ""
    """`0x1017`."""
    driver: str = ""
    rdma: tuple[str, ...] = ()
    """Its RDMA devices; none before the RDMA part of the driver is loaded."""
    infiniband: bool = False
    """Whether its PCI class is that of an InfiniBand controller."""
    virtual: bool = False
    """Whether it is a virtual function (SR-IOV)."""


def part_number(vpd: t.BinaryIO) -> str:
    """The part number (keyword PN) of PCI Vital Product Data; "" where there is none."""
    return next((value.decode("ascii", "replace").strip(" \0") for keyword, value in keywords(vpd) if keyword == b"PN"), "")


def read_part_number(path: str) -> str:
    """The part number in the VPD file of a PCI function; "" where there is none."""
    try:
        # Every four bytes of VPD take an exchange with the firmware, so read no more than necessary.
        with open(path, "rb", buffering=0) as vpd:
            return part_number(vpd)
    except OSError:
        return ""


def read_hca(root: str, name: str, functions: t.Sequence[str]) -> Hca:
    """One RDMA device. `functions`: all PCI functions of the node."""
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
        numa_node=integer(attribute(base, "device/numa_node")),
        apart=read_apart(root, name),
    )


def read_hcas(root: str = "/") -> tuple[Hca, ...]:
    """All RDMA devices by name; none on a node without an HCA or its driver."""
    functions = entries(root, "sys/bus/pci/devices")
    return tuple(read_hca(root, name, functions) for name in rdma_devices(root))


def is_infiniband(pci_class: str) -> bool:
    """Whether a PCI class is that of an InfiniBand controller."""
    return (integer(pci_class) or 0) >> 8 == _INFINIBAND_CLASS


def is_adapter(vendor: str, pci_class: str) -> bool:
    """Whether a PCI function supports RDMA: an InfiniBand controller of any vendor, or any network controller of NVIDIA."""
    number_of_class = integer(pci_class) or 0
    return is_infiniband(pci_class) or (vendor.lower() == _MELLANOX and number_of_class >> 16 == _NETWORK_CLASS)


def read_adapters(root: str = "/", hcas: t.Sequence[Hca] = ()) -> tuple[Adapter, ...]:
    """The adapters in PCI slots, by address: these distinguish a node without an HCA from one whose driver is not loaded yet."""
    base = os.path.join(root, "sys/bus/pci/devices")
    found = []
    for pci in entries(base):
        vendor, pci_class = attribute(base, pci, "vendor"), attribute(base, pci, "class")
        if is_adapter(vendor, pci_class):
            names = tuple(hca.name for hca in hcas if hca.pci == pci)
            virtual = os.path.exists(os.path.join(base, pci, "physfn"))
            found.append(Adapter(pci, vendor, attribute(base, pci, "device"), link_name(base, pci, "driver"), names, is_infiniband(pci_class), virtual))
    return tuple(found)
