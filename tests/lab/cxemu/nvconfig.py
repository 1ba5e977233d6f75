# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The non-volatile configuration that a new card starts with, as lines for "cxemu-ctl ADAPTER create".

Names, places and sizes of the fields come from mstflint's own database of parameters, so they agree with
the tool under test; which of them a card has, and their defaults, come from a profile (profile.json).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DATABASE = "/opt/lab/share/mlxconfig_host.db"
PROFILE = "/opt/lab/share/profile.json"
# Classes of TLVs, and where their dword carries what they are about.
GLOBAL, PHYSICAL_PORT, HOST_FUNCTION, HOST, MODULE = 0, 1, 3, 7, 9
INITIAL, CURRENT, NEXT = range(3)


class Field(NamedTuple):
    """Bits of a TLV; offset and size in bits."""

    offset: int
    size: int
    values: Mapping[str, int]
    array: bool


class Tlv(NamedTuple):
    name: str
    number: int
    kind: int
    size: int
    is_capability: bool
    version: int
    fields: dict[str, Field]

    def code(self, port: int) -> int:
        """The type dword, for host 0 and function 0."""
        return self.kind << 24 | (port << 16 if self.kind == PHYSICAL_PORT else 0) | self.number

    def put(self, content: bytearray, name: str, value: int | str) -> None:
        field = self.fields[name]
        if field.array or field.size > 32:
            raise ValueError("%s.%s is an array" % (self.name, name))
        number = field.values[value] if isinstance(value, str) else int(value)
        at = field.offset // 32 * 4
        mask = (1 << field.size) - 1
        word = int.from_bytes(content[at : at + 4], "big") & ~(mask << field.offset % 32)
        content[at : at + 4] = (word | (number & mask) << field.offset % 32).to_bytes(4, "big")


def _bits(text: str) -> int:
    """Places are written as C(BYTE.BIT), the byte in hex."""
    byte, bit = text.split(".")
    return int(byte, 16) * 8 + int(bit)


def _values(text: str | None) -> dict[str, int]:
    pairs = (pair.split("=") for pair in (text or "").split(",") if pair)
    return {name.strip(): int(number, 0) for name, number in pairs}


def read_database(path: str) -> tuple[dict[str, Tlv], dict[str, tuple[str, str]]]:
    """All TLVs by name, and the TLV and field of each public parameter."""
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    tlvs = {
        row[0]: Tlv(row[0], row[1], row[2], row[3], bool(row[4]), row[5] or 0, {})
        for row in database.execute("select name, id, class, size, cap, version from tlvs")
    }
    public = {}
    query = "select tlv_name, name, mlxconfig_name, offset, size, textual_values, array_length from params"
    for tlv, name, parameter, offset, size, values, array in database.execute(query):
        tlvs[tlv].fields[name] = Field(_bits(offset), _bits(size), _values(values), bool(array))
        if parameter:
            public[parameter] = (tlv, name)
    database.close()
    return tlvs, public


def lines(ports: int, profile: Mapping[str, Any], database: str = DATABASE) -> Iterator[str]:
    """What "cxemu-ctl create" reads. Parameters that this release of the database does not have are left out."""
    tlvs, public = read_database(database)
    card = {
        (name, port): [bytearray(tlvs[name].size) for _value in (INITIAL, CURRENT, NEXT)]
        for name in profile["tlvs"]
        if name in tlvs
        for port in (range(1, ports + 1) if tlvs[name].kind == PHYSICAL_PORT else (0,))
    }
    for column, wheres in (("default", (INITIAL, CURRENT, NEXT)), ("current", (CURRENT, NEXT)), ("next", (NEXT,))):
        for key, value in profile.get(column, {}).items():
            home, field = key.split(".") if "." in key else public.get(key, ("", ""))
            for (owner, _port), contents in card.items():
                if owner == home and field in tlvs[home].fields:
                    for where in wheres:
                        tlvs[home].put(contents[where], field, value)
    for (name, port), contents in card.items():
        tlv = tlvs[name]
        writable = 0 if tlv.is_capability or name in profile.get("read_only", ()) else 1
        yield "%08x %u 1 %u %s %s" % (tlv.code(port), tlv.size, writable, tlv.version, " ".join(content.hex() for content in contents))


def read_profile(path: str = PROFILE) -> dict[str, Any]:
    with open(path, encoding="utf-8") as stream:
        return dict(json.load(stream))
