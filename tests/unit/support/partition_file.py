# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""partitions.conf as opensm reads it, to compare the written file with its intended meaning.

Grammar: partition-config.txt and osm_prtn_config.c of opensm 3.3.24 (https://github.com/linux-rdma/opensm). opensm drops a file with one error, or without a
rule, as a whole and falls back to one partition with all ports as full members. A word may be abbreviated (`f` is `full`), and a word unknown to opensm means
limited membership.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._entry import DEFAULT_PKEY, KEYWORDS, MEMBERSHIPS

_FLAGS = ("mtu", "rate", "scope", "Q_Key", "TClass", "sl", "FlowLabel", "ipoib", "defmember", "indx0")
# A port's GUID in C notation, where a leading zero makes it octal.
_GUID = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0[0-7]*|[1-9][0-9]*)\Z")


class Rule(t.NamedTuple):
    """One definition of a partition. Several definitions of the same P_Key add up."""

    name: str
    pkey: int
    """15 bits; 0 if opensm chooses it."""
    flags: tuple[tuple[str, str], ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    """Keyword or GUID (`0x` and 16 digits) of each member, and its membership, in order: the last one counts."""
    groups: tuple[str, ...] = ()
    """Multicast groups as written."""


def _pair(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name.strip(" \t\n"), value.strip(" \t\n") if equals else None


def _meant(word: str, known: t.Sequence[str]) -> str:
    """Return the first of `known` that begins with the word, "" for none."""
    return next((name for name in known if name.startswith(word)), "")


def _error(number: int, text: str, reason: str) -> UnexpectedOutput:
    return UnexpectedOutput("partitions.conf, line %d: %s in %r" % (number, reason, text.strip()))


def _head(number: int, text: str) -> Rule:
    first, *rest = text.split(",")
    name, key = _pair(first)
    if key is None and name[:1].isdigit():
        name, key = "", name
    if key is not None and not _GUID.match(key):
        raise _error(number, text, "no P_Key")
    flags = []
    for word in rest:
        flag, value = _pair(word)
        meant = _meant(flag, _FLAGS)
        # The only word that must not be abbreviated.
        if meant and (meant != "indx0" or flag == meant):
            flags.append((meant, value or ""))
    return Rule(name, int(key, 0) & DEFAULT_PKEY if key is not None else 0, tuple(flags))


def _member(number: int, text: str, default: str) -> tuple[str, str] | None:
    who, membership = _pair(text)
    if not who or "NONE".startswith(who):
        return None
    meant = default if membership is None else _meant(membership, ("full", "both", "limited")) or "limited"
    keyword = _meant(who, KEYWORDS)
    if keyword:
        return keyword, meant
    if not _GUID.match(who) or int(who, 0) == 0:
        raise _error(number, text, "no port GUID")
    return "0x%016x" % int(who, 0), meant


def _body(number: int, rule: Rule, text: str) -> Rule:
    default = "limited"
    for flag, value in rule.flags:
        if flag == "defmember" and value:
            default = _meant(value, MEMBERSHIPS) or default
    members, groups = list(rule.members), list(rule.groups)
    words = text.split(",")
    for index, word in enumerate(words):
        if _pair(word)[0] == "mgid":
            # It takes the rest of the line: the following words are its flags.
            groups.append(",".join(words[index:]).strip())
            break
        member = _member(number, word, default)
        if member is not None:
            members.append(member)
    return rule._replace(members=tuple(members), groups=tuple(groups))


def parse(text: str) -> tuple[Rule, ...]:
    """Return all definitions in order. Raises UnexpectedOutput if opensm would drop the file."""
    rules: list[Rule] = []
    rule: Rule | None = None
    for number, line in enumerate(text.splitlines(), 1):
        pieces = line.split("#", 1)[0].split(";")
        for index, piece in enumerate(pieces):
            ends = index < len(pieces) - 1
            rest = piece.lstrip(" \t")
            if not rest and not ends:
                continue
            if rule is None:
                if not rest:
                    # A lone semicolon: opensm misses the definition that it should end.
                    raise _error(number, line, "no definition of a partition")
                head, colon, rest = rest.partition(":")
                if not colon:
                    raise _error(number, line, "no definition of a partition")
                rule = _head(number, head)
            rule = _body(number, rule, rest)
            if ends:
                rules.append(rule)
                rule = None
    if rule is not None:
        rules.append(rule)
    return tuple(rules)
