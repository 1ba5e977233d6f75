# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Adapter models by PCI device ID. Pure."""

from __future__ import annotations

# PCI device IDs, in the words of mlxconfig. https://pci-ids.ucw.cz/read/PC/15b3
_MODELS = {
    0x1003: "ConnectX3",
    0x1007: "ConnectX3Pro",
    0x1011: "ConnectIB",
    0x1013: "ConnectX4",
    0x1015: "ConnectX4LX",
    0x1017: "ConnectX5",
    0x1019: "ConnectX5",
    0x101B: "ConnectX6",
    0x101D: "ConnectX6DX",
    0x101F: "ConnectX6LX",
    0x1021: "ConnectX7",
    0x1023: "ConnectX8",
    0x1025: "ConnectX9",
    0xA2D2: "BlueField",
    0xA2D6: "BlueField2",
    0xA2DC: "BlueField3",
    0xA2DF: "BlueField4",
}


def model_of(identity: int) -> str:
    """`ConnectX5` for the PCI device ID 0x1017; "" for an unknown ID."""
    return _MODELS.get(identity, "")
