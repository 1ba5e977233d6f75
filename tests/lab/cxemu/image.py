# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small FS4 firmware images that mstflint accepts: structure and checksums are correct, the code sections are empty.

python3 -m cxemu.image OUT --psid MT_0000000008 --firmware 16.35.3006 [--hw-id 0x20d] [--corrupt]
"""

from __future__ import annotations

import argparse
import struct

SIZE = 0x100000
FLASH_SIZE = 0x1000000
TOOLS, BOOT2, ITOC, INFO, MAIN, SIGNATURE, KEYS = 0x500, 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000
# Data of the card, not of the firmware. Offsets count from the end.
DTOC, MFG_INFO, DEV_INFO = 0x1000, 0x3000, 0x2000
MAGIC = (0x4D544657, 0xABCDEF00, 0xFADE1234, 0x5678DEAD)
TOC_MAGIC = (0x04081516, 0x2342CAFA, 0xBACAFE00)
MELLANOX = 0x15B3


def crc16(data: bytes) -> int:
    """CRC-16 with polynomial 0x100b over the data and two zero bytes: the last word of a section or of a table entry."""
    crc = 0xFFFF
    for byte in data + b"\0\0":
        for bit in range(7, -1, -1):
            top = crc & 0x8000
            crc = (crc << 1 | byte >> bit & 1) & 0xFFFF
            if top:
                crc ^= 0x100B
    return crc ^ 0xFFFF


def pointer_crc(data: bytes) -> int:
    """The checksum behind each of the hardware pointers."""
    crc = 0xFFFF
    for byte in bytes([data[0] ^ 0xFF, data[1] ^ 0xFF]) + data[2:]:
        crc ^= byte
        for _bit in range(8):
            crc = crc >> 1 ^ (0xD008 if crc & 1 else 0)
    return (crc << 8 | crc >> 8) & 0xFFFF


def _with_crc(body: bytes) -> bytes:
    return body + struct.pack(">I", crc16(body))


def _text(text: str, size: int) -> bytes:
    return text.encode()[:size].ljust(size, b"\0")


def _information(psid: str, version: tuple[int, int, int], date: str, hw_id: int, pci_id: int, name: str) -> bytes:
    """Return the section IMAGE_INFO. `date` is YYYYMMDD, stored in BCD."""
    info = bytearray(0x400)
    struct.pack_into(">I", info, 0, 3 << 16 | 1 << 8 | 1 << 14)
    struct.pack_into(">HHHHIHBB", info, 4, version[0], 0, version[1], version[2], 0, int(date[:4], 16), int(date[4:6], 16), int(date[6:], 16))
    struct.pack_into(">HH", info, 28, pci_id, MELLANOX)
    info[36:52] = _text(psid, 16)
    struct.pack_into(">4I", info, 280, hw_id, 0, 0, 0)
    struct.pack_into(">I", info, 300, 0x8000)
    info[448:464] = _text("%d.%d.%04d" % version, 16)
    info[464:720] = _text("Emulated adapter", 256)
    info[832:896] = _text(name, 64)
    info[896:1024] = _text("EMULATED.prs", 128)
    return bytes(info)


class _Image:
    def __init__(self, size: int) -> None:
        self.content = bytearray(b"\xff" * size)

    def put(self, at: int, data: bytes) -> None:
        self.content[at : at + len(data)] = data

    def table(self, at: int, signature: int, entries: list[tuple[int, int, bytes, bool]]) -> None:
        """Write a table of contents and its sections: kind, address, content, and whether it has a checksum."""
        self.put(at, _with_crc(struct.pack(">7I", signature, *TOC_MAGIC, 1, len(entries), 0)))
        for number, (kind, address, data, checked) in enumerate(entries, 1):
            self.put(address, data)
            flags = crc16(data) if checked else 1 << 16
            self.put(at + 0x20 * number, _with_crc(struct.pack(">7I", kind << 24 | len(data) // 4 << 2, 0, 0, 0, 0, address, flags)))


def _device_sections(image: _Image, psid: str, guid: int, mac: int) -> None:
    """Write the factory's sections: the PSID and the addresses (eight of each if there are any)."""
    addresses = b"".join(struct.pack(">HBBIQ", 0, 1, 8 if first else 0, 0, first) for first in (guid, mac))
    manufacturing = bytearray(0x140)
    manufacturing[0:16] = _text(psid, 16)
    manufacturing[28] = 1
    manufacturing[32:64] = addresses
    device = bytearray(0x1FC)
    struct.pack_into(">5I", device, 0, 0x6D446576, 0x496E666F, 0x2342CAFA, 0xBACAFE00, 0x200)
    device[32:64] = addresses
    end = len(image.content)
    sections = [(0xE0, end - MFG_INFO, bytes(manufacturing), True), (0xE1, end - DEV_INFO, _with_crc(bytes(device)), True)]
    image.table(end - DTOC, 0x44544F43, sections)


def build(
    psid: str,
    firmware: str,
    date: str = "20230515",
    hw_id: int = 0x20D,
    pci_id: int = 0x1017,
    name: str = "MCX556A-ECA_Ax",
    *,
    size: int = SIZE,
    guid: int = 0,
    mac: int = 0,
) -> bytes:
    """Return an image of this version for cards with this PSID and chip; with size, GUID and MAC, the whole flash of such a card."""
    major, minor, sub = (int(part) for part in firmware.split("."))
    image = _Image(size)
    image.put(0, struct.pack(">4I", *MAGIC))
    image.put(0x10, struct.pack(">II", 1 << 24, 0))  # image format 1: FS4
    for number, pointer in enumerate([0, BOOT2, ITOC, TOOLS] + [0] * 12):
        entry = struct.pack(">I", pointer)
        image.put(0x18 + 8 * number, entry + struct.pack(">I", pointer_crc(entry + b"\0\0") if pointer else 0))
    image.put(TOOLS, _with_crc(struct.pack(">II", 0, 0x16 << 16 | 1 << 8) + bytes(0x34)))
    image.put(BOOT2, _with_crc(struct.pack(">II", 0, 12) + bytes(4 * 13)))
    signature = b"\x11" * 16 + bytes(0x140 - 16)
    info = _information(psid, (major, minor, sub), date, hw_id, pci_id, name)
    image.table(
        ITOC,
        0x49544F43,
        [(0x03, MAIN, b"\x55" * 0x400, True), (0x10, INFO, info, True), (0xA0, SIGNATURE, signature, False), (0xA1, KEYS, bytes(0x900), True)],
    )
    _device_sections(image, psid, guid, mac)
    return bytes(image.content)


def corrupted(image: bytes) -> bytes:
    """Return the image with a wrong checksum in IMAGE_INFO."""
    at = INFO + 0x30
    return image[:at] + bytes([image[at] ^ 0xFF]) + image[at + 1 :]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write an image for an emulated adapter.")
    parser.add_argument("out")
    parser.add_argument("--psid", required=True)
    parser.add_argument("--firmware", required=True)
    parser.add_argument("--date", default="20230515")
    parser.add_argument("--hw-id", type=lambda text: int(text, 0), default=0x20D)
    parser.add_argument("--corrupt", action="store_true")
    arguments = parser.parse_args()
    image = build(arguments.psid, arguments.firmware, arguments.date, arguments.hw_id)
    with open(arguments.out, "wb") as stream:
        stream.write(corrupted(image) if arguments.corrupt else image)


if __name__ == "__main__":
    main()
