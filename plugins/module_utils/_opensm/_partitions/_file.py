# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read and write the text of partitions.conf. Pure.

Files of others are read into rules by P_Key, compared with what opensm does without a file. Files of ours are written with the members that are
known in this run, plus the port GUIDs that the present file on the subnet manager's node has for all other hosts.
"""

from __future__ import annotations

import re
import typing as t

from ..._codes import is_guid, normal_guid, pkey_base
from ..._foreign import decimal, hexadecimal, integer
from ._entry import DEFAULT_PKEY, KEYWORDS
from ._grammar import Statement, read_file

# The defaults of opensm for flags that a rule leaves out: 10 Gb/s, 2048 bytes, service level 0, link-local scope.
_DEFAULTS: t.Mapping[str, str] = {"rate": "3", "mtu": "4", "sl": "0", "scope": "2"}
# Defaults that all builds share. A vendor's build has another default rate.
_COMMON: t.Mapping[str, str] = {flag: _DEFAULTS[flag] for flag in ("mtu", "sl")}
_GROUP = ("mtu", "rate", "sl")
# Flags of the rule itself, not of its multicast group.
_SILENT = ("ipoib", "defmember")
# All other flags that opensm knows.
_FLAGS = ("indx0", "mtu", "rate", "sl", "scope", "Q_Key", "TClass", "FlowLabel")
_EVERYONE = ("ALL", "ALL_CAS")
_MEMBERSHIPS = ("", "limited", "full", "both")
# With a file, opensm itself adds these members to the default partition.
_ADDED: t.Mapping[str, str] = {"ALL": "limited", "SELF": "full"}
# The longest host name in a comment, in characters of up to four bytes. DNS names have up to 253.
_MOST = 255
# Replaces the members by GUID in an outline.
_LEFT_OUT = "# %d ports are left out here\n"
_COUNTED = re.compile("# ([0-9]{1,7}) ports are left out here\n")
# The partition that opensm creates without a file.
WITHOUT = "Default=0x%04x, ipoib : ALL=full;" % DEFAULT_PKEY


class Rule(t.NamedTuple):
    """All that a file says about one partition."""

    name: str
    pkey: int
    """Without the membership bit; 0 where opensm derives the P_Key from the name."""
    flags: t.Mapping[str, str] = {}
    """The flags as written, with numbers in decimal."""
    members: t.Mapping[str, str] = {}
    """Membership by GUID or keyword."""
    text: str = ""
    """The statements as written. What opensm reads may depend on where a line ends."""
    ipoib: bool = False
    """Whether the partition has an IPoIB broadcast group."""
    entries: tuple[tuple[str, str], ...] = ()
    """The members in file order: the last entry that matches a port counts."""
    lost: tuple[str, ...] = ()
    """Members that opensm drops, as written."""

    @property
    def size(self) -> int:
        """The number of members. An outline tells how many it leaves out."""
        counted = None if any(who not in KEYWORDS for who in self.members) else _COUNTED.search(self.text)
        return len(self.members) + (decimal(counted[1], 0) if counted else 0)

    @property
    def special(self) -> dict[str, str]:
        """The flags that differ from the defaults."""
        return {flag: value for flag, value in self.flags.items() if value != _DEFAULTS.get(flag)}

    @property
    def open(self) -> bool:
        """Whether every port is a full member, as without a file."""
        return any(self.members.get(keyword) == "full" for keyword in _EVERYONE)

    @property
    def keywords(self) -> dict[str, str]:
        """The members by keyword, as written."""
        return {who: membership for who, membership in self.members.items() if who in KEYWORDS}

    def membership(self, keyword: str) -> str:
        """The membership of the ports that a keyword stands for; "" for none. Members by GUID do not count."""
        held = {**(_ADDED if self.pkey == DEFAULT_PKEY else {}), **self.keywords}
        return held.get(keyword) or max((held.get(general, "") for general in _EVERYONE), key=_rank)

    def demotes(self, before: Rule) -> dict[str, str]:
        """The keywords that have a higher membership in `before`, with that membership."""
        return {who: held for who, held in before.keywords.items() if _rank(held) > _rank(self.membership(who))}

    @property
    def identity(self) -> tuple[int, str]:
        """The identity of a partition: its P_Key, or its name where it has no P_Key."""
        return (self.pkey, "" if self.pkey else self.name.lower())

    def is_named(self, text: str) -> bool:
        """Whether `text` is the name, or the P_Key with or without the membership bit."""
        return text.lower() == self.name.lower() or (self.pkey != 0 and pkey_base(text) == self.pkey)


def _rank(membership: str) -> int:
    """The rank of a membership. opensm treats an unknown word as limited."""
    return _MEMBERSHIPS.index(membership) if membership in _MEMBERSHIPS else 1


def _normal(value: str) -> str:
    found = integer(value)
    return value.lower() if found is None else str(found)


def _rule(statement: Statement) -> Rule:
    """Parse one statement: `name=0x8001, ipoib, mtu=5 : ALL=full, 0x1=limited`."""
    pkey = (statement.key or 0) & DEFAULT_PKEY
    if not pkey and statement.name == "Default":
        # opensm has already created the partition of that name.
        pkey = DEFAULT_PKEY
    written = {flag: _normal(value) for flag, value in statement.flags if flag not in _SILENT}
    flags = [flag for flag, _value in statement.flags]
    name = statement.name or "0x%04x" % pkey
    return Rule(name, pkey, written, dict(statement.members), statement.text + "\n", "ipoib" in flags, statement.members, statement.lost)


def parse_partitions(text: str) -> list[Rule]:
    """The partitions of a file in its order, with all statements about one partition merged. Empty where opensm drops the file."""
    found: dict[tuple[int, str], Rule] = {}
    for rule in map(_rule, read_file(text).statements):
        first = found.get(rule.identity)
        if first is not None:
            flags, members = {**first.flags, **rule.flags}, {**first.members, **rule.members}
            entries, lost = first.entries + rule.entries, first.lost + rule.lost
            rule = Rule(first.name, first.pkey, flags, members, first.text + rule.text, first.ipoib or rule.ipoib, entries, lost)
        found[rule.identity] = rule
    return list(found.values())


def refusal_of(text: str) -> str:
    """Why opensm drops the whole file, in its own words; "" where it accepts the file."""
    return read_file(text).error


def objections_to(text: str) -> tuple[str, ...]:
    """Everything that opensm objects to in a file, in its own words."""
    found = read_file(text)
    return (found.error,) if found.error else found.remarks


def _outlined(rule: Rule) -> str:
    known = [(flag, value) for flag, value in rule.flags.items() if flag in _FLAGS]
    flags = [*(["ipoib"] if rule.ipoib else []), *("%s=%s" % (flag, value) if value else flag for flag, value in known)]
    head = ", ".join(["%s=0x%04x" % (rule.name, rule.pkey), *flags])
    ports = rule.size - len(rule.keywords)
    return "%s : %s%s;\n" % (head, _LEFT_OUT % ports if ports else "", ", ".join("%s=%s" % pair for pair in rule.keywords.items()))


def outline_of(text: str) -> str:
    """The partitions of a file with the number of members by GUID instead of the GUIDs, so that the size does not depend on the members."""
    return "".join(map(_outlined, parse_partitions(text))) or "# none\n"


PREFIX = "partition "


def names_rule(names: t.Iterable[str], rule: Rule) -> bool:
    """Whether one of the names is `partition NAME` or `partition P_KEY` of the rule."""
    return any(name.startswith(PREFIX) and rule.is_named(name[len(PREFIX) :].strip()) for name in names)


def _group_flag(rule: Rule, flag: str) -> str:
    return rule.flags.get(flag, _COMMON.get(flag, ""))


class Regrouping(t.NamedTuple):
    """A property of a partition's broadcast group that changes."""

    rule: Rule
    flag: str
    """`mtu`, `rate` or `sl`."""
    before: str
    """The code; "" for the default of the installed opensm."""
    after: str


def regrouped(before: str, after: str) -> list[Regrouping]:
    """The changed properties of groups that both texts have; "" for no file. opensm reads them only when it creates a group."""
    old = {rule.identity: rule for rule in parse_partitions(before or WITHOUT) if rule.ipoib}
    new = [rule for rule in parse_partitions(after or WITHOUT) if rule.ipoib and rule.identity in old]
    rows = [Regrouping(rule, flag, _group_flag(old[rule.identity], flag), _group_flag(rule, flag)) for rule in new for flag in _GROUP]
    return [row for row in rows if row.before != row.after]


def gone(before: str, after: str) -> list[Rule]:
    """The partitions of the first text that the second lacks. A missing file stands for the default partition."""
    kept = {rule.identity for rule in parse_partitions(after)}
    return [rule for rule in parse_partitions(before) if rule.identity not in kept and (after or rule.pkey != DEFAULT_PKEY)]


Line = t.Tuple[str, str, str]
"""GUID or keyword, membership, and host ("" for none)."""

_MEMBER = re.compile(r"    (\S+)=(\w+)[,;](?: # (.*))?")
_HEAD = re.compile(r"(?:# )?([^\s=]+=(0x[0-9a-f]{4})\S*)(?: :| has no members\.)")


class Absentee(t.NamedTuple):
    """A member whose port GUIDs are not known in this run."""

    pkey: int
    host: str
    membership: str


class Recalled(t.NamedTuple):
    """A rendered text, completed with members from an earlier text."""

    text: str
    kept: tuple[str, ...] = ()
    """Hosts whose port GUIDs come from the earlier text."""
    missing: tuple[str, ...] = ()
    """Hosts that are in neither text."""


def _shown(host: str) -> str:
    """The host name as a comment, shortened: opensm reads lines of up to 4094 bytes and treats the remainder as a line of its own."""
    return "".join(letter if letter.isprintable() else "?" for letter in host)[:_MOST]


def definition(head: str, members: t.Sequence[Line]) -> str:
    """One partition definition. Each member has a line of its own, for a readable diff and because opensm reads lines of up to 4094 characters."""
    if not members:
        return "# %s has no members.\n" % head
    lines = []
    for index, (who, membership, host) in enumerate(members):
        comment = " # %s" % _shown(host) if host else ""
        lines.append("    %s=%s%s%s\n" % (who, membership, ";" if index == len(members) - 1 else ",", comment))
    return "%s :\n%s" % (head, "".join(lines))


def _members(block: str) -> list[Line]:
    return [(match[1], match[2], match[3] or "") for match in map(_MEMBER.fullmatch, block.splitlines()) if match]


def _placed(member: Line) -> tuple[int, str]:
    """Sort key of a member: keywords first, then ports by GUID, then SELF."""
    who = member[0]
    return (2 if who == "SELF" else 1 if is_guid(who) else 0, who if is_guid(who) else "")


def recall(text: str, before: str, absentees: t.Sequence[Absentee], *, owned: t.Collection[str] = ()) -> Recalled:
    """Complete a rendered text with the absentees, using the port GUIDs that the previous text has for them.

    `owned`: GUIDs known in this run. A port that moved to another host, or is a member itself, stays as it is.
    """
    elsewhere = frozenset(owned)
    known: dict[str, set[str]] = {}
    for who, _membership, host in _members(before):
        if host and is_guid(who) and normal_guid(who) not in elsewhere:
            known.setdefault(host, set()).add(normal_guid(who))
    blocks = []
    for block in text.rstrip("\n").split("\n\n"):
        head = _HEAD.match(block)
        come = [absentee for absentee in absentees if head and hexadecimal(head[2]) == absentee.pkey and known.get(absentee.host)]
        if head and come:
            members = _members(block)
            there = {who for who, _membership, _host in members}
            members += [(guid, absentee.membership, absentee.host) for absentee in come for guid in known[absentee.host] - there]
            block = definition(head[1], sorted(members, key=_placed)).rstrip("\n")
        blocks.append(block)
    hosts = sorted({absentee.host for absentee in absentees})
    # A host name that the comment could not hold unchanged, such as one with a control character, may match another host's comment.
    kept = tuple(host for host in hosts if known.get(host))
    return Recalled("\n\n".join(blocks) + "\n" if text else "", kept, tuple(host for host in hosts if host not in kept))
