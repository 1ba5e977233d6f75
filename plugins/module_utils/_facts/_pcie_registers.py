# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The PCI Express capability of a function, from its configuration space. Pure.

Layout: PCI Local Bus Specification, "Capabilities List", and PCI Express Base Specification, "PCI Express Capability Structure". `lspci -vv` shows the
same values as MaxPayload, MaxReadReq, RlxdOrd and ASPM.
"""

from __future__ import annotations

import typing as t

# Bytes of the header: the status word with the bit for a list of capabilities, and the offset of the first of these.
_STATUS, _HAS_CAPABILITIES, _FIRST = 0x06, 0x10, 0x34
_HEADER = 0x40
# What is below this offset has no capabilities that belong to the list.
_LAST = 0x100
_EXPRESS = 0x10
# Registers of the capability: device capabilities, device control, link control.
_DEVICE, _DEVICE_CONTROL, _LINK_CONTROL, _LENGTH = 0x04, 0x08, 0x10, 0x12
_RELAXED_ORDERING = 0x0010
L0S, L1 = 1, 2
"""The states that a link may enter when it is idle."""


class Registers(t.NamedTuple):
    """How a function uses its link. Sizes are in bytes; 0 stands for a reserved code."""

    payload: int
    """The largest packet that it sends."""
    payload_able: int
    """The largest packet that it supports."""
    read_request: int
    """The largest read that it requests at once."""
    relaxed_ordering: bool
    """Whether it may mark packets that others may overtake."""
    aspm: int
    """The states that its end of the link may enter: L0S, L1 or both."""


def _size(code: int) -> int:
    """128 bytes for code 0, to 4096 for code 5."""
    return 128 << code if code <= 5 else 0


def _word(config: bytes, offset: int) -> int:
    return int.from_bytes(config[offset : offset + 2], "little")


def parse_registers(config: bytes) -> Registers | None:
    """The registers; None where there are none: no PCI Express, a device that is gone (all bits are set), or a reader other than root."""
    if len(config) < _HEADER or config[:2] == b"\xff\xff" or not _word(config, _STATUS) & _HAS_CAPABILITIES:
        return None
    offset, seen = config[_FIRST] & 0xFC, 0
    # A damaged list may be a circle. It has at most 48 entries.
    while _HEADER <= offset <= min(len(config), _LAST) - _LENGTH and seen < 48:
        seen += 1
        if config[offset] == _EXPRESS:
            control = _word(config, offset + _DEVICE_CONTROL)
            return Registers(
                payload=_size(control >> 5 & 7),
                payload_able=_size(_word(config, offset + _DEVICE) & 7),
                read_request=_size(control >> 12 & 7),
                relaxed_ordering=bool(control & _RELAXED_ORDERING),
                aspm=_word(config, offset + _LINK_CONTROL) & (L0S | L1),
            )
        offset = config[offset + 1] & 0xFC
    return None
