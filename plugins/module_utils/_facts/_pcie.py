# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""PCI Express according to sysfs: the links of adapters, the path between two functions, and whether access control affects it.

The names of the paths are those of `nvidia-smi topo -m`. Capabilities are laid out as in the PCI Express Base
Specification, "Extended Capabilities" and "ACS Extended Capability".
"""

from __future__ import annotations

import os
import re
import typing as t

from .._foreign import decimal, real
from ._sysfs import PCI_ADDRESS, attribute, real_path

DEVICES = "sys/bus/pci/devices"

# What the kernel reports for an unknown width.
_UNKNOWN_WIDTHS = (0, 255)
# Vendors of ports that hypervisors emulate: Red Hat (QEMU) and VMware. QEMU also emulates an old port of Intel's.
_EMULATED = ("0x1b36", "0x15ad")
_EMULATED_INTEL = ("0x8086", "0x3420")

_FIRST = 0x100
_LAST = 0x1000
_ACS = 0x000D
# P2P Request Redirect and P2P Completion Redirect: with either, peer-to-peer traffic is redirected to the root complex.
_REDIRECT = 0x0004 | 0x0008
_ROOT = re.compile(r"^pci[0-9a-f]{4,8}:[0-9a-f]{2}$")


class PcieLink(t.NamedTuple):
    """Width in lanes and speed per lane in GT/s."""

    width: int
    speed: float

    @property
    def words(self) -> str:
        """`x16 at 16 GT/s`."""
        return "x%d at %g GT/s" % self


class Slot(t.NamedTuple):
    """The link of one card."""

    pci: str
    """Its first function."""
    now: PcieLink
    able: PcieLink
    """What both card and slot support."""

    @property
    def degraded(self) -> bool:
        return self.now.width < self.able.width or self.now.speed < self.able.speed


def _link(root: str, pci: str, which: str) -> PcieLink | None:
    """The link of a function. `which` is `current` or `max`; None where the kernel does not know it, as for virtual functions.

    The speed is `16.0 GT/s PCIe`, `8 GT/s` in older kernels, or `Unknown`.
    """
    width = decimal(attribute(root, DEVICES, pci, which + "_link_width"))
    speed = real(attribute(root, DEVICES, pci, which + "_link_speed").partition(" ")[0])
    return None if width is None or width in _UNKNOWN_WIDTHS or not speed else PcieLink(width, speed)


def read_slot(root: str, pci: str) -> Slot | None:
    """The link between a function and the port above it; None where either is unknown.

    In a virtual machine, the port is emulated by the hypervisor and tells nothing about the slot.
    """
    above = read_chain(root, pci)[-2:-1]
    if not above or _is_emulated(root, above[0]):
        return None
    now, able, port = _link(root, pci, "current"), _link(root, pci, "max"), _link(root, above[0], "max")
    if now is None or able is None or port is None:
        return None
    return Slot(pci, now, PcieLink(min(able.width, port.width), min(able.speed, port.speed)))


def _is_emulated(root: str, port: str) -> bool:
    vendor, device = (attribute(root, DEVICES, port, name) for name in ("vendor", "device"))
    return vendor in _EMULATED or (vendor, device) == _EMULATED_INTEL


def read_slots(root: str, functions: t.Iterable[str]) -> tuple[Slot, ...]:
    """The links of the cards that these functions belong to, each once."""
    cards = {function.rpartition(".")[0]: function for function in sorted(functions, reverse=True) if function}
    found = [read_slot(root, function) for _card, function in sorted(cards.items()) if os.path.exists(os.path.join(root, DEVICES, function))]
    return tuple(slot for slot in found if slot is not None)


def acs_redirects(config: bytes) -> bool:
    """Whether the access control of a bridge redirects peer-to-peer traffic, from its configuration space.

    Users other than root can read only the first 64 bytes, which contain no extended capabilities.
    """
    offset, seen = _FIRST, 0
    while _FIRST <= offset <= min(len(config), _LAST) - 8 and seen < 64:
        seen += 1
        header = int.from_bytes(config[offset : offset + 4], "little")
        if header & 0xFFFF == _ACS:
            return bool(int.from_bytes(config[offset + 6 : offset + 8], "little") & _REDIRECT)
        offset = header >> 20 & 0xFFC
    return False


def chain(path: str) -> tuple[str, ...]:
    """Split `/sys/devices/pci0000:17/0000:17:00.0/0000:18:00.0` into the root complex, the bridges below it, and the function itself."""
    return tuple(part for part in path.split("/") if PCI_ADDRESS.match(part) or _ROOT.match(part))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """The length of the common part of two chains, starting at the root complex."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def path_between(one: tuple[str, ...], other: tuple[str, ...], same_node: bool) -> str:
    """The path between two functions, from their chains.

    `PIX`: through at most one bridge. `PXB`: through several bridges, not through the host bridge. `PHB`: through the
    host bridge of their root complex. `NODE`: between the root complexes of a NUMA node. `SYS`: between NUMA nodes.
    """
    if not one or not other or one[0] != other[0]:
        return "NODE" if same_node else "SYS"
    shared = _shared(one, other)
    if shared <= 1:
        return "PHB"
    # The number of components between the functions and the last common bridge.
    between = (len(one) - 1 - shared) + (len(other) - 1 - shared)
    # sysfs shows a switch as two bridges: its upstream port, which is common, and a downstream port per device.
    return "PIX" if between <= 2 else "PXB"


def bridges_between(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The bridges that traffic between two functions of one root complex passes."""
    if not one or not other or one[0] != other[0]:
        return ()
    shared = _shared(one, other)
    return tuple(sorted({*one[shared:-1], *other[shared:-1]}))


def read_chain(root: str, pci: str) -> tuple[str, ...]:
    """The chain above a function; empty where the function does not exist."""
    return chain(real_path(root, DEVICES, pci))


def numa_node(root: str, pci: str) -> int | None:
    """The NUMA node of a function; None where the firmware does not tell, which the kernel reports as -1."""
    return decimal(attribute(root, DEVICES, pci, "numa_node"))
