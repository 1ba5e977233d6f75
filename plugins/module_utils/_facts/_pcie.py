# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The PCI Express links of adapters, from sysfs: what they run at, and what card and slot can both do."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._pci import DEVICES, read_chain
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal, real

# What the kernel writes for a width that it does not know.
_UNKNOWN_WIDTHS = (0, 255)
# Vendors of ports that hypervisors emulate: Red Hat (QEMU) and VMware. QEMU also has an old one of Intel's.
_EMULATED = ("0x1b36", "0x15ad")
_EMULATED_INTEL = ("0x8086", "0x3420")


class PcieLink(t.NamedTuple):
    """Width in lanes and speed of a lane in GT/s."""

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
    """What card and slot can both do."""

    @property
    def degraded(self) -> bool:
        return self.now.width < self.able.width or self.now.speed < self.able.speed


def _link(root: str, pci: str, which: str) -> PcieLink | None:
    """`which` is `current` or `max`; None where the kernel does not know it, as of virtual functions.

    The speed is `16.0 GT/s PCIe`, `8 GT/s` in older kernels, or `Unknown`.
    """
    width = decimal(attribute(root, DEVICES, pci, which + "_link_width"))
    speed = real(attribute(root, DEVICES, pci, which + "_link_speed").partition(" ")[0])
    return None if width is None or width in _UNKNOWN_WIDTHS or not speed else PcieLink(width, speed)


def read_slot(root: str, pci: str) -> Slot | None:
    """The link of a function and the port above it; None where either is not known.

    In a virtual machine, the port is one of the hypervisor's and tells nothing of the slot.
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
