# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RDMA devices that look like HCAs of the fabric and are not, so defaults exclude them.

- On baseboards with NVSwitches of the fourth generation and later, the switches are managed through functions of a ConnectX-7. NVIDIA's
  own tools recognise these by `SW_MNG` in their vital product data, and run a subnet manager of NVLink on them.
- An adapter with several planes (XDR) can have a sub-device of type SMI, `rdma dev add smi1 type SMI parent ibp8s0f1`, with a port per
  plane. It carries the datagrams of the subnet manager and no data, and has no user verbs (ib_uverbs refuses the type).
"""

from __future__ import annotations

import os
import re
import typing as t

from ._sysfs import attribute, entries, pci_address

NVSWITCH = "nvswitch"
SMI = "smi"
_WORDS: t.Mapping[str, str] = {
    NVSWITCH: "a management function of an NVSwitch, which is in no InfiniBand fabric",
    SMI: "a device for the subnet manager's datagrams of an adapter with several planes, which carries no data",
}

# Names from the kernel's documentation, and names that administrators derive from that of the adapter.
_SMI_NAME = re.compile(r"smi(?:[0-9]+|[-_].+)\Z")
_MANAGES_SWITCH = b"SW_MNG"
_VENDOR_KEYWORD = b"V"

_VPD_LIMIT = 4096
_VPD_READ_ONLY = 0x90
_VPD_END = 0x78


def in_words(apart: str) -> str:
    """Why defaults exclude a device, in words."""
    return _WORDS.get(apart, apart)


def is_in_fabric(port: t.Mapping[str, t.Any]) -> bool:
    """Whether defaults include a port of the facts: it is InfiniBand and belongs to an HCA of the fabric."""
    return port.get("link_layer") == "InfiniBand" and not port.get("apart")


def of_fabric(ports: t.Iterable[t.Mapping[str, t.Any]]) -> list[t.Mapping[str, t.Any]]:
    """The ports that defaults include."""
    return [port for port in ports if is_in_fabric(port)]


def keywords(vpd: t.BinaryIO) -> t.Iterator[tuple[bytes, bytes]]:
    """The keywords, with values, of the read-only part of PCI Vital Product Data. Layout: PCI Local Bus Specification, appendix I.

    Every four bytes take an exchange with the firmware, so the data are read only as far as needed.
    """
    while vpd.tell() < _VPD_LIMIT:
        first = vpd.read(1)
        if not first or first[0] == _VPD_END:
            return
        # The tag of a small item includes its size.
        size = int.from_bytes(vpd.read(2), "little") if first[0] & 0x80 else first[0] & 0x07
        if first[0] == _VPD_READ_ONLY:
            yield from _section(vpd, vpd.tell() + size)
            return
        vpd.seek(size, os.SEEK_CUR)


def _section(vpd: t.BinaryIO, end: int) -> t.Iterator[tuple[bytes, bytes]]:
    while vpd.tell() + 3 <= min(end, _VPD_LIMIT):
        head = vpd.read(3)
        if len(head) < 3:
            return
        value = vpd.read(head[2])
        if len(value) < head[2]:
            return
        yield head[:2], value


def manages_switch(vpd: t.BinaryIO) -> bool:
    """Whether the data belong to a function that manages an NVSwitch: `SMDL=SW_MNG` in a keyword of the vendor."""
    return any(keyword.startswith(_VENDOR_KEYWORD) and _MANAGES_SWITCH in value for keyword, value in keywords(vpd))


def _is_nvswitch(base: str) -> bool:
    try:
        with open(os.path.join(base, "device/vpd"), "rb", buffering=0) as vpd:
            return manages_switch(vpd)
    except OSError:
        return False


def _is_smi(root: str, device: str) -> bool:
    """Whether it shares the PCI function of its parent and has the name of an SMI device, or is the only one of the two without user verbs."""
    classes = os.path.join(root, "sys/class/infiniband")
    pci = pci_address(classes, device, "device")
    siblings = [name for name in entries(classes) if name != device and pci and pci_address(classes, name, "device") == pci]
    if not siblings:
        return False
    verbs = os.path.join(root, "sys/class/infiniband_verbs")
    with_verbs = {attribute(verbs, name, "ibdev") for name in entries(verbs)}
    return _SMI_NAME.match(device) is not None or (device not in with_verbs and not with_verbs.isdisjoint(siblings))


def read_apart(root: str, device: str) -> str:
    """Why defaults exclude an RDMA device; "" for an HCA. Devices with only Ethernet ports are not examined."""
    base = os.path.join(root, "sys/class/infiniband", device)
    layers = {attribute(base, "ports", port, "link_layer") or "InfiniBand" for port in entries(base, "ports")}
    # A virtual function has no vital product data.
    if "InfiniBand" not in layers or os.path.exists(os.path.join(base, "device/physfn")):
        return ""
    return SMI if _is_smi(root, device) else NVSWITCH if _is_nvswitch(base) else ""
