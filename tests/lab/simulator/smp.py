# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""PortInfo in datagrams of subnet management. Pure: bytes in, bytes out.

ibsim discards the bit by which a subnet manager requests client reregistration, and its ports do not announce the capability, which all cards have. All its
ports have an MTU of at most 2048 and support 12X HDR.
"""

from __future__ import annotations

from cabling import Supported

_ROUTED_BY_LID, _DIRECTED = 0x01, 0x81
_CLASSES = (_ROUTED_BY_LID, _DIRECTED)
_SET, _ANSWER = 0x02, 0x81
_PORT_INFO = b"\x00\x15"
_DATA = 32 + 64
"""Offset of the attribute in a datagram of ibsim's protocol."""
_PATH = _DATA + 64
"""Offset of the initial path of a directed route; its first byte stands for the sender."""
_LID, _CAPABILITIES, _LOCAL_PORT, _WIDTH_SUPPORTED, _SPEED_SUPPORTED = 16, 20, 28, 30, 32
_NEIGHBOR_MTU, _MTU_CAPABILITY, _REREGISTER, _EXTENDED_SPEED_SUPPORTED = 36, 41, 51, 62
_KNOWS_REREGISTER = 0x02
"""Bit IsClientReregistrationSupported in the first byte of CapabilityMask."""
MTU_CODES = {"2048": 4, "4096": 5}


def _is(packet: bytes, method: int) -> bool:
    return packet[33] in _CLASSES and packet[35] == method and packet[48:50] == _PORT_INFO


def asks_for_registration(packet: bytes) -> bool:
    """Return whether a datagram is a Set of PortInfo that requests client reregistration."""
    return _is(packet, _SET) and bool(packet[_DATA + _REREGISTER] & 0x80)


def lid_of(packet: bytes) -> int:
    """Return the LID of the port in a PortInfo answer, 0 for other datagrams and for answers with an error status."""
    if not _is(packet, _ANSWER) or packet[36] & 0x7F or packet[37]:
        return 0
    return lid(packet[_DATA:])


def lid(info: bytes) -> int:
    return int.from_bytes(info[_LID : _LID + 2], "big")


def path_of(packet: bytes) -> tuple[int, ...] | None:
    """Return the outbound ports of a directed-route PortInfo answer, None for a LID-routed one."""
    return tuple(packet[_PATH + 1 : _PATH + 1 + packet[39]]) if packet[33] == _DIRECTED else None


def sender_of(packet: bytes) -> int:
    """Return the LID that an answer of ibsim came from."""
    return int.from_bytes(packet[4:6], "big")


def port_of(packet: bytes) -> int:
    """Return the port that a PortInfo answer describes. 0 in the request means the port on which it arrived."""
    return packet[55] or packet[_DATA + _LOCAL_PORT]


def is_info(packet: bytes) -> bool:
    """Return whether a datagram is a PortInfo answer."""
    return _is(packet, _ANSWER)


def info_of_a_card(info: bytes, mtu: int, supported: Supported | None = None) -> bytes:
    """Return PortInfo with this MTU code and with what the port supports; 0 and None leave the fields unchanged."""
    changed = bytearray(info)
    changed[_CAPABILITIES] |= _KNOWS_REREGISTER
    if mtu:
        changed[_NEIGHBOR_MTU] = mtu << 4 | changed[_NEIGHBOR_MTU] & 0x0F
        changed[_MTU_CAPABILITY] = changed[_MTU_CAPABILITY] & 0xF0 | mtu
    if supported:
        changed[_WIDTH_SUPPORTED] = supported.width
        changed[_SPEED_SUPPORTED] = supported.speed << 4 | changed[_SPEED_SUPPORTED] & 0x0F
        changed[_EXTENDED_SPEED_SUPPORTED] = changed[_EXTENDED_SPEED_SUPPORTED] & 0xF0 | supported.extended
    return bytes(changed)


def of_a_card(packet: bytes, mtu: int, supported: Supported | None = None) -> bytes:
    """Turn a PortInfo answer into that of a real card; leave other datagrams unchanged."""
    return packet[:_DATA] + info_of_a_card(packet[_DATA:], mtu, supported) if is_info(packet) else packet
