# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""PCI Express links below ports of all kinds, as sysfs shows them."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie import PcieLink, Slot, read_slot, read_slots

CARD, PORT = "0000:18:00.0", "0000:17:00.0"
FAST = "16.0 GT/s PCIe"


def write(root: pathlib.Path, pci: str, **attributes: str) -> None:
    folder = root / "sys/devices/pci0000:17" / PORT
    folder = folder if pci == PORT else folder / pci
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in attributes.items():
        (folder / name).write_text(text + "\n", encoding="utf-8")
    link = root / "sys/bus/pci/devices" / pci
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(folder)


def function(root: pathlib.Path, pci: str, width: str, speed: str, *, able: tuple[str, str] = ("16", FAST)) -> None:
    write(root, pci, current_link_width=width, current_link_speed=speed, max_link_width=able[0], max_link_speed=able[1])


def port(root: pathlib.Path, width: str, speed: str) -> None:
    write(root, PORT, max_link_width=width, max_link_speed=speed)


@pytest.mark.parametrize(
    ("now", "slot", "able", "degraded"),
    [
        (("16", FAST), ("16", FAST), (16, 16), False),
        (("8", FAST), ("16", FAST), (16, 16), True),
        # Older kernels omit the name of the bus.
        (("16", "8 GT/s"), ("16", "32.0 GT/s PCIe"), (16, 16), True),
        # A slot with fewer lanes than the card.
        (("8", FAST), ("8", FAST), (8, 16), False),
        (("4", FAST), ("8", FAST), (8, 16), True),
        (("16", FAST), ("1", "2.5 GT/s PCIe"), (1, 2.5), False),
    ],
)
def test_what_card_and_slot_can_both_do(tmp_path: pathlib.Path, now: tuple[str, str], slot: tuple[str, str], able: tuple[int, float], degraded: bool) -> None:
    port(tmp_path, *slot)
    function(tmp_path, CARD, *now)
    found = read_slot(str(tmp_path), CARD)
    assert found is not None
    assert (found.able, found.degraded) == (PcieLink(*able), degraded)


@pytest.mark.parametrize(("width", "speed"), [("0", "Unknown"), ("255", "Unknown"), ("", ""), ("16", "Unknown"), ("x", FAST)])
def test_what_the_kernel_does_not_know_is_not_judged(tmp_path: pathlib.Path, width: str, speed: str) -> None:
    port(tmp_path, "16", FAST)
    function(tmp_path, CARD, width, speed)
    assert read_slot(str(tmp_path), CARD) is None
    assert read_slots(str(tmp_path), [CARD, "0000:99:00.0", ""]) == ()


@pytest.mark.parametrize(
    ("vendor", "device", "width"),
    [("0x1b36", "0x000c", "32"), ("0x15ad", "0x07a0", "32"), ("0x8086", "0x3420", "16"), ("0x8086", "0x2030", "255"), ("0x8086", "0x2030", "0")],
)
def test_a_port_that_tells_nothing_of_the_slot(tmp_path: pathlib.Path, vendor: str, device: str, width: str) -> None:
    """Ports of QEMU, VMware and old QEMU; and of hardware unknown to the kernel."""
    port(tmp_path, width, FAST)
    write(tmp_path, PORT, vendor=vendor, device=device)
    function(tmp_path, CARD, "8", FAST)
    assert read_slot(str(tmp_path), CARD) is None
    # Hyper-V has no port at all.
    (tmp_path / "sys/devices/pci0001:00/0001:00:02.0").mkdir(parents=True)
    (tmp_path / "sys/bus/pci/devices/0001:00:02.0").symlink_to(tmp_path / "sys/devices/pci0001:00/0001:00:02.0")
    assert read_slot(str(tmp_path), "0001:00:02.0") is None


def test_a_card_of_two_functions_has_one_link(tmp_path: pathlib.Path) -> None:
    port(tmp_path, "16", FAST)
    other = CARD[:-1] + "1"
    for pci in (CARD, other):
        function(tmp_path, pci, "8", FAST)
    assert read_slots(str(tmp_path), [other, CARD]) == (Slot(CARD, PcieLink(8, 16), PcieLink(16, 16)),)
    assert PcieLink(8, 2.5).words == "x8 at 2.5 GT/s"
