# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configuration spaces of PCI functions."""

from __future__ import annotations

# Device control of ConnectX adapters as `setpci -s ADDRESS 68.w` prints it, at first and with the read requests that NVIDIA recommends.
USUAL, TUNED = 0x2936, 0x5936


def express(control: int = TUNED, *, able: int = 2, link: int = 0, before: int = 1, length: int = 4096) -> bytes:
    """Return a space with the PCI Express capability after `before` others. `able`: the code of the largest payload. `link`: link control."""
    content = bytearray(4096)
    content[0:2] = (0x15B3).to_bytes(2, "little")
    content[6] = 0x10
    offset = content[0x34] = 0x60
    for _number in range(before):
        # Power management.
        content[offset : offset + 2] = bytes((0x01, offset + 0x10))
        offset += 0x10
    content[offset : offset + 2] = bytes((0x10, 0))
    content[offset + 4] = able
    content[offset + 8 : offset + 10] = control.to_bytes(2, "little")
    content[offset + 16 : offset + 18] = link.to_bytes(2, "little")
    return bytes(content[:length])
