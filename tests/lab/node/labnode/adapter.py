# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cards behind a node's HCAs: created once, kept on disk, emulated by cxemu (tests/lab/cxemu).

A card is the device that firmware tools access. Its flash survives a restart of the container, which is a cold boot of the node. State outside the flash
(semaphores, current configuration, running firmware) is reset.
"""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from cxemu import image, nvconfig

from .node import Hca
from .tree import PCI_IDS, Tree

ADAPTERS = "/var/lib/rdmalab/adapters"
CONTROL = "/opt/lab/bin/cxemu-ctl"
CONFIG_MODE = 0o2644  # the set-group-ID bit marks files whose reads the preload library passes to the model
_HEAD = struct.Struct("=5I20sI")  # start of struct cx_state: magic, version, running firmware, its PSID, whether the card left the bus
_CONFIG_SIZE = 4096


class Model(NamedTuple):
    """Identity of a card model. ports: number of physical ports, each a PCI function of its own. A node.json with more ports describes a wider card."""

    hw_id: int
    ports: int
    name: str
    description: str


MODELS = {
    "MT4115": Model(0x209, 1, "MCX455A-ECA_Ax", "ConnectX-4 VPI adapter card; EDR IB (100Gb/s) and 100GbE; single-port QSFP28; PCIe3.0 x16"),
    "MT4119": Model(0x20D, 2, "MCX556A-ECA_Ax", "ConnectX-5 VPI adapter card; EDR IB (100Gb/s) and 100GbE; dual-port QSFP28; PCIe3.0 x16"),
    "MT4123": Model(0x20F, 1, "MCX653105A-HDA_Ax", "ConnectX-6 VPI adapter card; HDR IB (200Gb/s) and 200GbE; single-port QSFP56; PCIe4.0 x16"),
    "MT4129": Model(0x218, 1, "MCX75310AAS-NEA_Ax", "ConnectX-7 VPI adapter card; 400GbE / NDR IB (default mode); single-port OSFP; PCIe5.0 x16"),
}


def directory(hca: Hca) -> str:
    """Return the directory of a card, shared by all its functions."""
    return "%s/%s" % (ADAPTERS, hca.pci.rpartition(".")[0])


def ports(hcas: Sequence[Hca], hca: Hca) -> int:
    """Return all ports of the card, with and without a cable."""
    model = MODELS.get(hca.type)
    return max(model.ports if model else 1, *(1 + int(other.pci.rpartition(".")[2]) for other in hcas if directory(other) == directory(hca)))


def functions(hcas: Sequence[Hca], hca: Hca) -> tuple[str, ...]:
    """Return the PCI functions of the card. Functions without an RDMA device in node.json have no driver bound."""
    slot = hca.pci.rpartition(".")[0]
    return tuple("%s.%d" % (slot, number) for number in range(ports(hcas, hca)))


def _mac(guid: int) -> int:
    """Derive the MAC address from the GUID: its two middle bytes are left out."""
    return guid >> 40 << 24 | guid & 0xFFFFFF


def keys(hca: Hca, model: Model, ports: int) -> list[str]:
    """Return the identity of the card in the syntax of "cxemu-ctl create"."""
    return [
        "psid=" + hca.psid,
        "running=" + hca.firmware,
        "running_date=0x20221215",
        "hw_id=%#x" % model.hw_id,
        "pci_id=%#x" % PCI_IDS[hca.type],
        "ports=%d" % ports,
        "name=" + model.name,
        "description=" + model.description,
        "base_guid=%#x" % hca.system_guid,
        "base_mac=%#x" % _mac(hca.system_guid),
        "rom0=1:1:3.6.804",
        "rom1=2:1:14.29.14",
    ]


def write_flash(hca: Hca, model: Model, path: str) -> None:
    """Write the flash of a new card with its initial firmware. Cards since ConnectX-6 have twice the flash size."""
    size = image.FLASH_SIZE << (model.hw_id >= MODELS["MT4123"].hw_id)
    guid = hca.system_guid
    content = image.build(hca.psid, hca.firmware, "20221215", model.hw_id, PCI_IDS[hca.type], model.name, size=size, guid=guid, mac=_mac(guid))
    with open(path, "wb") as stream:
        stream.write(content)


def start(hcas: Sequence[Hca], cold: bool) -> None:
    """Create missing cards and cold-boot the existing ones. Raises ValueError if a card cannot be what node.json asks for."""
    for place, hca in {directory(hca): hca for hca in reversed(hcas)}.items():  # of the first function
        model = MODELS.get(hca.type)
        if not model:
            continue
        if not os.path.exists(place + "/state"):
            count = ports(hcas, hca)
            try:
                seed = "".join(line + "\n" for line in nvconfig.lines(count, nvconfig.read_profile(hca.type), hca.settings))
            except ValueError as exc:
                raise ValueError("%s: %s" % (hca.device, exc)) from None
            os.makedirs(place, exist_ok=True)
            write_flash(hca, model, place + "/flash")
            subprocess.run([CONTROL, place, "create", *keys(hca, model, count)], input=seed, text=True, check=True)
        elif cold:
            subprocess.run([CONTROL, place, "powercycle"], check=True)


def _head(hca: Hca, size: int) -> bytes:
    with contextlib.suppress(OSError), open(directory(hca) + "/state", "rb") as stream:
        return stream.read(size)
    return b""


def running(hca: Hca) -> str:
    """Return the running firmware as a driver shows it, "" for a card that is not emulated."""
    head = _head(hca, _HEAD.size)
    return "%d.%d.%04d" % _HEAD.unpack(head)[2:5] if len(head) == _HEAD.size else ""


def psid(hca: Hca) -> str:
    """Return the PSID of the running firmware as a driver shows it, "" for a card that is not emulated."""
    head = _head(hca, _HEAD.size)
    return _HEAD.unpack(head)[5].rstrip(b"\0").decode() if len(head) == _HEAD.size else ""


def gone(hca: Hca) -> bool:
    """Return whether the card left the PCI bus."""
    head = _head(hca, _HEAD.size)
    return len(head) == _HEAD.size and _HEAD.unpack(head)[6] != 0


def connect(tree: Tree, function: str, hca: Hca) -> None:
    """Create the configuration space of a PCI function. `function` is its directory in the tree."""
    config = _head(hca, _HEAD.size + _CONFIG_SIZE)[_HEAD.size :]
    if config:
        tree.write(function + "/config", config, CONFIG_MODE)
        with contextlib.suppress(FileExistsError):
            os.symlink(directory(hca), tree.path(function + "/adapter"))
