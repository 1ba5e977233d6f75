# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse partitions.conf exactly as opensm does. Pure.

The rules are those of osm_prtn_config.c (opensm 3.3.24, https://github.com/linux-rdma/opensm): it reads line by line, separates by commas only,
accepts abbreviated words, and drops the whole file because of one error.
"""

from __future__ import annotations

import ipaddress
import re
import typing as t

from ..._foreign import integer
from ._entry import KEYWORDS

# In the order in which opensm compares them with an abbreviated word.
_GROUP_FLAGS = ("mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel")
_FLAGS = (*_GROUP_FLAGS, "ipoib", "defmember")
# The one flag that must not be abbreviated.
_INDEX = "indx0"
_MEMBERSHIPS = ("full", "both", "limited")
# fgets into a buffer of 4096 bytes, less one because of an off-by-one error: anything longer becomes two lines.
LINE = 4094
_BLANK = " \t\n"
_DIGITS = tuple("0123456789")
_MAX_GUID = (1 << 64) - 1


class Statement(t.NamedTuple):
    """One definition. Several definitions of one partition add up."""

    name: str
    key: int | None
    """The number as written, 16 bits; None where there is none."""
    flags: tuple[tuple[str, str], ...]
    """Full flag names with their values, without flags that opensm does not know."""
    members: tuple[tuple[str, str], ...]
    """Keyword or GUID (`0x` and 16 digits) with its membership, in order: the last entry of a port counts."""
    groups: tuple[str, ...]
    """Multicast groups other than that of IPoIB, as written."""
    text: str
    """The text as written, with its comments."""
    lost: tuple[str, ...] = ()
    """Members after a multicast group on the same line, as written: opensm takes them for flags of the group and drops them."""


class File(t.NamedTuple):
    """All definitions, or the reason why opensm drops them."""

    statements: tuple[Statement, ...] = ()
    error: str = ""
    """The error in the words of opensm, with the line number; "" where it accepts the file."""
    remarks: tuple[str, ...] = ()
    """The warnings that do not stop it, in its words and with line numbers."""


class _Wrong(Exception):
    """opensm stops parsing the file here."""


def _pair(text: str) -> tuple[str, str | None]:
    name, sign, value = text.partition("=")
    return name.strip(_BLANK), value.strip(_BLANK) if sign else None


def _meant(word: str, known: t.Sequence[str]) -> str:
    """The first of `known` that starts with the word; "" for none."""
    return next((name for name in known if name.startswith(word)), "")


def _is_multicast(text: str) -> bool:
    try:
        return ipaddress.IPv6Address(text).packed[0] == 0xFF
    except ValueError:
        return False


def _is_member(word: str) -> bool:
    """Whether the word would be a member in a place where members are allowed."""
    who = _pair(word)[0]
    return bool(who) and not _meant(who, _GROUP_FLAGS) and bool(_meant(who, KEYWORDS) or integer(who))


class _Open:
    """A definition that has begun and has not ended."""

    def __init__(self, head: str) -> None:
        first, *rest = head.split(",")
        self.name, key = _pair(first)
        if key is None and self.name.startswith(_DIGITS):
            self.name, key = "", self.name
        self.key: int | None = None
        if key is not None:
            number = integer(key)
            if number is None:
                raise _Wrong("bad partition definition")
            self.key = number & 0xFFFF
        self.flags: list[tuple[str, str]] = []
        self.default = "limited"
        self.members: list[tuple[str, str]] = []
        self.groups: list[str] = []
        self.lost: list[str] = []
        for word in rest:
            self._flag(*_pair(word))

    def _flag(self, flag: str, value: str | None) -> None:
        meant = flag if flag == _INDEX else _meant(flag, _FLAGS) if flag else ""
        if meant == "defmember":
            held = _meant(value, _MEMBERSHIPS) if value is not None else ""
            self.default = held or self.default
        if meant:
            self.flags.append((meant, value or ""))

    def read(self, text: str) -> str:
        """Parse a part of one line, up to the semicolon. Returns the complaint of opensm; "" for none."""
        words = text.split(",")
        for index, word in enumerate(words):
            who, value = _pair(word)
            if who == "mgid":
                # The multicast group takes the rest of the line as its flags.
                self.lost += [other.strip(_BLANK) for other in words[index + 1 :] if _is_member(other)]
                if not _is_multicast(value or ""):
                    return 'mgid "%s": gid is not multicast' % (value or "")
                self.groups.append(",".join(words[index:]).strip(_BLANK))
                return ""
            self._member(who, value)
        return ""

    def _member(self, who: str, value: str | None) -> None:
        if not who or "NONE".startswith(who):
            return
        # An unknown word means limited membership. An empty word abbreviates the first membership.
        held = self.default if value is None else _meant(value, _MEMBERSHIPS) or "limited"
        keyword = _meant(who, KEYWORDS)
        guid = None if keyword else integer(who)
        if not keyword and not guid:
            raise _Wrong("bad PortGUID %s" % who)
        self.members.append((keyword or "0x%016x" % ((guid or 0) & _MAX_GUID), held))

    def statement(self, text: str) -> Statement:
        return Statement(self.name, self.key, tuple(self.flags), tuple(self.members), tuple(self.groups), text, tuple(self.lost))


def _lines(text: str) -> t.Iterator[str]:
    """The lines as fgets returns them. Only a line feed ends a line."""
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        for start in range(0, len(line), LINE):
            yield line[start : start + LINE]


def read_file(text: str) -> File:
    """Parse the text as opensm does. Without any definition opensm continues as without a file."""
    found: list[Statement] = []
    remarks: list[str] = []
    current: _Open | None = None
    # The raw text of the present definition.
    raw: list[str] = []
    number = 0
    try:
        for number, line in enumerate(_lines(text), 1):
            plain = line.split("#", 1)[0]
            pieces = plain.split(";")
            for index, piece in enumerate(pieces):
                ends = index < len(pieces) - 1
                rest = piece.lstrip(_BLANK)
                if rest or ends or current is not None:
                    # A comment within a definition is part of it.
                    raw.append(piece + ";" if ends else line[len(plain) - len(piece) :])
                if not rest and not ends:
                    continue
                if current is None:
                    head, colon, rest = rest.partition(":")
                    if not colon:
                        raise _Wrong("no partition definition found")
                    current = _Open(head)
                said = current.read(rest)
                remarks += ["line %d: %s" % (number, said)] if said else []
                if ends:
                    found.append(current.statement("".join(raw).strip("\n")))
                    current, raw = None, []
    except _Wrong as exc:
        return File(error="line %d: %s" % (number, exc))
    if current is not None:
        found.append(current.statement("".join(raw).strip("\n")))
    return File(tuple(found), "", tuple(remarks))
