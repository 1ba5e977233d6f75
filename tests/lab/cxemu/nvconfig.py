# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The initial non-volatile configuration of a card, as lines for "cxemu-ctl ADAPTER create".

Names, positions and sizes of the fields come from mstflint's own parameter database, so they agree with the tool under test. A profile (profile.json) says
which of them a card has, and their defaults.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

DATABASE = "/opt/lab/share/mlxconfig_host.db"
PROFILE = "/opt/lab/share/profile.json"
# Classes of TLVs. Each class keeps the number of its subject at a different position of the type dword.
GLOBAL, PHYSICAL_PORT, HOST_FUNCTION, HOST, MODULE = 0, 1, 3, 7, 9
INITIAL, CURRENT, NEXT = range(3)
# The configurations that each column of a profile sets: a default is also the current and the next value.
COLUMNS = (("default", (INITIAL, CURRENT, NEXT)), ("current", (CURRENT, NEXT)), ("next", (NEXT,)))
_PLACE = re.compile(r"^(.*?)(?:_P([1-9]))?(?:\[(\d+)\])?$")


class Field(NamedTuple):
    """A bit field of a TLV. Offset and size are in bits, of the whole array for an array. length: number of elements, 0 if the field is no array."""

    offset: int
    size: int
    values: Mapping[str, int]
    length: int

    def number(self, value: int | str) -> int:
        """Parse a number, its text, or one of the symbolic values of the field."""
        if isinstance(value, str) and value in self.values:
            return self.values[value]
        try:
            return int(value, 0) if isinstance(value, str) else int(value)
        except ValueError:
            raise ValueError("%r is neither a number nor one of: %s" % (value, ", ".join(self.values) or "(no words)")) from None


class Tlv(NamedTuple):
    name: str
    number: int
    kind: int
    size: int
    is_capability: bool
    version: int
    fields: dict[str, Field]

    def code(self, port: int) -> int:
        """Return the type dword for host 0, function 0 and module 0."""
        return self.kind << 24 | (port << 16 if self.kind == PHYSICAL_PORT else 0) | self.number

    def put(self, content: bytearray, name: str, value: int | str | list[int | str], element: int | None = None) -> None:
        """Store a value. For an array, the value is a list, or it goes to one element, or to all elements."""
        field = self.fields[name]
        if field.length:
            self._put_array(content, field, value, element)
            return
        if isinstance(value, list) or element is not None or field.size > 32:
            raise ValueError("%s.%s is no array" % (self.name, name) if field.size <= 32 else "%s.%s has more than 32 bits" % (self.name, name))
        number = field.number(value)
        at = field.offset // 32 * 4
        mask = (1 << field.size) - 1
        if not 0 <= number <= mask:
            raise ValueError("%s.%s has %d bits, too few for %d" % (self.name, name, field.size, number))
        word = int.from_bytes(content[at : at + 4], "big") & ~(mask << field.offset % 32)
        content[at : at + 4] = (word | number << field.offset % 32).to_bytes(4, "big")

    def _put_array(self, content: bytearray, field: Field, value: int | str | list[int | str], element: int | None) -> None:
        """Store array elements. All arrays that the tools show have one-byte elements; the first is in the byte where the field begins."""
        if field.size != 8 * field.length:
            raise ValueError("%s has an array whose elements are no bytes" % self.name)
        values = value if isinstance(value, list) else [value] * (field.length if element is None else 1)
        start = element or 0
        if start + len(values) > field.length:
            raise ValueError("an array of %s has elements 0 to %d" % (self.name, field.length - 1))
        at = field.offset // 32 * 4 + 3 - field.offset % 32 // 8 + start
        content[at : at + len(values)] = bytes(field.number(one) for one in values)


def _bits(text: str) -> int:
    """Parse a position of the form BYTE.BIT, the byte in hexadecimal digits."""
    byte, bit = text.split(".")
    return int(byte, 16) * 8 + int(bit)


def _values(text: str | None) -> dict[str, int]:
    pairs = (pair.split("=") for pair in (text or "").split(",") if pair)
    return {name.strip(): int(number, 0) for name, number in pairs}


def read_database(path: str) -> tuple[dict[str, Tlv], dict[str, tuple[str, str]]]:
    """Return all TLVs by name, and the TLV and field of each public parameter."""
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    tlvs = {
        row[0]: Tlv(row[0], row[1], row[2], row[3], bool(row[4]), row[5] or 0, {})
        for row in database.execute("select name, id, class, size, cap, version from tlvs")
    }
    public = {}
    query = "select tlv_name, name, mlxconfig_name, offset, size, textual_values, array_length from params"
    for tlv, name, parameter, offset, size, values, array in database.execute(query):
        tlvs[tlv].fields[name] = Field(_bits(offset), _bits(size), _values(values), int(array or 0))
        if parameter:
            public[parameter] = (tlv, name)
    database.close()
    return tlvs, public


class Place(NamedTuple):
    """Location of a parameter. port: 0 for all ports; element: None for the whole parameter."""

    tlv: str
    field: str
    port: int
    element: int | None


def find(name: str, tlvs: Mapping[str, Tlv], public: Mapping[str, tuple[str, str]]) -> Place | None:
    """Find a parameter by the name that the tools use (NAME, NAME_P1, NAME[3]), or by TLV.FIELD for hidden ones."""
    match = _PLACE.match(name)
    assert match
    stem, port, element = match[1], match[2], match[3]
    if port and (stem + "_P" + port) in public:
        stem, port = stem + "_P" + port, None
    home, field = stem.split(".") if "." in stem else public.get(stem, ("", ""))
    if home not in tlvs or field not in tlvs[home].fields:
        return None
    return Place(home, field, int(port or 0), None if element is None else int(element))


def codes(name: str, profile: Mapping[str, Any], ports: int, database: str = DATABASE) -> list[int]:
    """Return the type dwords of the TLVs that hold a parameter of the card. Raises ValueError if the card has no such parameter."""
    tlvs, public = read_database(database)
    place = find(name, tlvs, public)
    if not place or place.tlv not in profile["tlvs"]:
        raise ValueError("the card has no parameter %s" % name)
    tlv = tlvs[place.tlv]
    numbers = range(1, ports + 1) if tlv.kind == PHYSICAL_PORT else (0,)
    return [tlv.code(number) for number in numbers if place.port in (0, number)]


def lines(ports: int, profile: Mapping[str, Any], own: Mapping[str, Mapping[str, Any]] | None = None, database: str = DATABASE) -> Iterator[str]:
    """Yield the input lines of "cxemu-ctl create". Parameters of the profile that this release of the database lacks are skipped.

    own: columns of this card, which override the profile. Raises ValueError for parameters that do not exist.
    """
    tlvs, public = read_database(database)
    card = {
        (name, port): [bytearray(tlvs[name].size) for _value in (INITIAL, CURRENT, NEXT)]
        for name in profile["tlvs"]
        if name in tlvs
        for port in (range(1, ports + 1) if tlvs[name].kind == PHYSICAL_PORT else (0,))
    }
    for values, strict in ((profile, False), (own or {}, True)):
        for column, wheres in COLUMNS:
            for key, value in values.get(column, {}).items():
                place = find(key, tlvs, public)
                homes = [contents for (owner, port), contents in card.items() if place and owner == place.tlv and place.port in (0, port)]
                if strict and not homes:
                    raise ValueError("%s value of %s: the card has no such parameter" % (column, key))
                for contents in homes:
                    for where in wheres:
                        assert place
                        tlvs[place.tlv].put(contents[where], place.field, value, place.element)
    for (name, port), contents in card.items():
        tlv = tlvs[name]
        writable = 0 if tlv.is_capability or name in profile.get("read_only", ()) else 1
        yield "%08x %u 1 %u %s %s" % (tlv.code(port), tlv.size, writable, tlv.version, " ".join(content.hex() for content in contents))


def of_model(profile: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Return the profile of a model: the parameters of all cards (or those of the model named by "like"), and the differences of this model."""
    difference = profile["models"].get(model)
    if difference is None:
        return dict(profile)
    if "like" in difference:
        profile = {**of_model(profile, difference["like"]), "models": profile["models"]}
    result: dict[str, Any] = {column: {**profile.get(column, {}), **difference.get(column, {})} for column, _wheres in COLUMNS}
    without = difference.get("without", ())
    result["tlvs"] = [name for name in (*profile["tlvs"], *difference.get("tlvs", ())) if name not in without]
    result["read_only"] = [*profile.get("read_only", ()), *difference.get("read_only", ())]
    return result


def read_profile(model: str, path: str = PROFILE) -> dict[str, Any]:
    with open(path, encoding="utf-8") as stream:
        return of_model(json.load(stream), model)
