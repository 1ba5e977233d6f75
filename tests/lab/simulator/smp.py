# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the gateway knows of PortInfo, the attribute of subnet management. Pure: bytes in, bytes out.

ibsim forgets the bit by which a subnet manager tells the clients of a port to register again, and its ports do not say that
they know it, as all cards do. All of its ports have an MTU of 2048 at most, and support 12X HDR.
"""

from __future__ import annotations

from cabling import Supported

_ROUTED_BY_LID, _DIRECTED = 0x01, 0x81
_CLASSES = (_ROUTED_BY_LID, _DIRECTED)
_SET, _ANSWER = 0x02, 0x81
_PORT_INFO = b"\x00\x15"
_DATA = 32 + 64
"""Where the attribute begins in a datagram of ibsim's protocol."""
_PATH = _DATA + 64
"""Where the way of a directed one begins, with a byte that stands for the sender."""
_LID, _CAPABILITIES, _LOCAL_PORT, _WIDTH_SUPPORTED, _SPEED_SUPPORTED = 16, 20, 28, 30, 32
_NEIGHBOR_MTU, _MTU_CAPABILITY, _REREGISTER, _EXTENDED_SPEED_SUPPORTED = 36, 41, 51, 62
_KNOWS_REREGISTER = 0x02
"""In the first byte of the capabilities: IsClientReregistrationSupported."""
MTU_CODES = {"2048": 4, "4096": 5}


def _is(packet: bytes, method: int) -> bool:
    return packet[33] in _CLASSES and packet[35] == method and packet[48:50] == _PORT_INFO


def asks_for_registration(packet: bytes) -> bool:
    """A Set of PortInfo that tells the clients of the port to register again."""
    return _is(packet, _SET) and bool(packet[_DATA + _REREGISTER] & 0x80)


def lid_of(packet: bytes) -> int:
    """The LID of the port whose PortInfo an answer has, 0 for other answers, and those that refuse."""
    if not _is(packet, _ANSWER) or packet[36] & 0x7F or packet[37]:
        return 0
    return lid(packet[_DATA:])


def lid(info: bytes) -> int:
    return int.from_bytes(info[_LID : _LID + 2], "big")


def path_of(packet: bytes) -> tuple[int, ...] | None:
    """The ports that a directed answer with PortInfo passed on its way out, None where it is routed by LID."""
    return tuple(packet[_PATH + 1 : _PATH + 1 + packet[39]]) if packet[33] == _DIRECTED else None


def sender_of(packet: bytes) -> int:
    """The LID that an answer of ibsim came from."""
    return int.from_bytes(packet[4:6], "big")


def port_of(packet: bytes) -> int:
    """The port of an adapter or a switch that an answer with PortInfo is about; 0 in a request stands for the one it came in by."""
    return packet[55] or packet[_DATA + _LOCAL_PORT]


def is_info(packet: bytes) -> bool:
    """Whether this is an answer with PortInfo."""
    return _is(packet, _ANSWER)


def info_of_a_card(info: bytes, mtu: int, supported: Supported | None = None) -> bytes:
    """PortInfo with that MTU, as a code, and with what the port supports; 0 and None leave it as it is."""
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
    """An answer with PortInfo is that of a card; other datagrams stay as they are."""
    return packet[:_DATA] + info_of_a_card(packet[_DATA:], mtu, supported) if is_info(packet) else packet
