# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""RDMA ports, from /sys/class/infiniband/*/ports/*."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries, guid, number, pci_address
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import real

_NUMBERED = re.compile(r"^\d+: (.+)$")
_RATE = re.compile(r"^(\d{1,6}(?:\.\d{1,3})?) Gb/sec \((\d+X)(?: ([A-Z0-9]+))?\)$")


class Port(t.NamedTuple):
    """One port of one RDMA device. What can't be read is "" (texts) or 0 (LIDs, rate)."""

    name: str
    """In the notation of rdma(8): `mlx5_0/1`."""
    device: str
    port: int
    port_guid: str = ""
    """Low half of GID 0. On RoCE that is made of the MAC address."""
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
    """`EDR`, `HDR` ...; "" for SDR on older kernels, which leave the word out."""
    lid: int = 0
    sm_lid: int = 0
    pkeys: tuple[str, ...] = ()
    """Assigned P_Keys in ascending order: `0x7fff` is limited, `0xffff` full membership of the default partition."""
    netdevs: tuple[str, ...] = ()
    """Filled by `_netdevs.with_netdevs`."""
    connected_capable: bool | None = None
    """Filled by `_connected.with_capability`; None if unknown before ib_ipoib is loaded."""
    connected_reason: str = ""
    pci: str = ""
    """PCI function with domain; "" for devices in software such as rxe."""

    @property
    def infiniband(self) -> bool:
        return self.link_layer == "InfiniBand"


class Rate(t.NamedTuple):
    """`100 Gb/sec (4X EDR)` in parts."""

    gbps: float = 0
    width: str = ""
    speed: str = ""


def parse_numbered(text: str) -> str:
    """`4: ACTIVE` -> `ACTIVE`; "" for anything else."""
    match = _NUMBERED.match(text.strip())
    return match.group(1) if match else ""


def parse_rate(text: str) -> Rate:
    """`100 Gb/sec (4X EDR)`; an empty Rate for anything else."""
    match = _RATE.match(text.strip())
    if match is None:
        return Rate()
    gbps = real(match.group(1)) or 0.0
    return Rate(round(gbps) if gbps.is_integer() else gbps, match.group(2), match.group(3) or "")


def gid_guid(gid: str) -> str:
    """The interface id (low 64 bits) of a GID in sysfs notation as a GUID; "" if there is none."""
    groups = gid.strip().split(":")
    return guid(":".join(groups[4:])) if len(groups) == 8 else ""


def _pkeys(directory: str) -> tuple[str, ...]:
    values = {number(attribute(directory, index)) for index in entries(directory)}
    # The low 15 bits are the key; 0 marks an unused slot of the table.
    return tuple("0x%04x" % value for value in sorted(value for value in values if value and value & 0x7FFF))


def read_port(root: str, device: str, port: str) -> Port:
    """One port; `port` is the name of its directory."""
    base = os.path.join(root, "sys/class/infiniband", device, "ports", port)
    gid = attribute(base, "gids/0")
    rate_text = attribute(base, "rate")
    rate = parse_rate(rate_text)
    return Port(
        name="%s/%s" % (device, port),
        device=device,
        port=number(port) or 0,
        port_guid=gid_guid(gid),
        gid=gid,
        # Devices older than the attribute are all InfiniBand.
        link_layer=attribute(base, "link_layer") or "InfiniBand",
        state=parse_numbered(attribute(base, "state")),
        phys_state=parse_numbered(attribute(base, "phys_state")),
        rate=rate_text,
        rate_gbps=rate.gbps,
        width=rate.width,
        speed=rate.speed,
        lid=number(attribute(base, "lid")) or 0,
        sm_lid=number(attribute(base, "sm_lid")) or 0,
        pkeys=_pkeys(os.path.join(base, "pkeys")),
        pci=pci_address(root, "sys/class/infiniband", device, "device"),
    )


def read_ports(root: str = "/") -> tuple[Port, ...]:
    """All ports of all RDMA devices, by device and port number; none on a node without HCA."""
    base = os.path.join(root, "sys/class/infiniband")
    ports = [read_port(root, device, port) for device in entries(base) for port in entries(base, device, "ports")]
    return tuple(sorted(ports, key=lambda port: (port.device, port.port)))
