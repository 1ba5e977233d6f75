# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the text of partitions.conf by declarations, with members named by host where their port GUIDs are known. Pure.

The inverse of `render` in `_input.py`: what this returns gives the same partitions again.
"""

from __future__ import annotations

import typing as t

from ..._codes import MTUS, RATES, SCOPES, is_guid
from ..._discovered import Left
from ..._foreign import decimal
from ._entry import DEFAULT_PKEY, KEYWORDS
from ._file import Rule, parse_partitions, refusal_of
from ._grammar import read_file
from ._input import Inventory, problems

_MTUS = {code: mtu for mtu, code in MTUS.items()}
_RATES = {code: rate for rate, code in RATES.items()}
_SCOPES = {code: scope for scope, code in SCOPES.items()}
_STAYS = "the collection has no variable for it; opensm_adopt: true keeps the partition as it is written"
# opensm itself adds these members where a file has no rule for the default partition.
_ADDED = {"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL", "membership": "limited"}, {"keyword": "SELF"}], "isolate": True}


class Description(t.NamedTuple):
    entries: list[dict[str, t.Any]]
    """The value of `opensm_partitions`; empty where the default of opensm is all."""
    left: list[Left]
    dangers: list[str]


class _Flags(t.NamedTuple):
    entry: dict[str, t.Any]
    left: list[str]
    """Those that no declaration has."""


def _flags(rule: Rule) -> _Flags:
    known: t.Mapping[str, t.Mapping[int, t.Any]] = {"mtu": _MTUS, "rate": _RATES, "scope": _SCOPES, "sl": {level: level for level in range(16)}}
    read = _Flags({"ipoib": True} if rule.ipoib else {}, [])
    for flag, written in rule.flags.items():
        code = decimal(written)
        value = known.get(flag, {}).get(code) if code is not None else None
        if value is None or (flag in ("mtu", "rate", "scope") and not rule.ipoib):
            read.left.append("%s=%s" % (flag, written) if written else flag)
        else:
            read.entry[flag] = value
    return read


def _member(kind: str, name: str, membership: str) -> dict[str, str]:
    return {kind: name, **({"membership": membership} if membership != "full" else {})}


def _whole(hosts: t.Iterable[str], groups: t.Mapping[str, t.Collection[str]]) -> tuple[list[str], list[str]]:
    """The same hosts as groups of the inventory, largest first, and those that are left."""
    rest = set(hosts)
    named = []
    for group, own in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if len(own) > 1 and rest.issuperset(own):
            named.append(group)
            rest.difference_update(own)
    return named, sorted(rest)


def _members(rule: Rule, inventory: Inventory) -> list[dict[str, str]]:
    """The members, by group where all its hosts are members, by host, by port GUID, and by keyword."""
    owners = {guid: host for host, guids in (inventory.guids or {}).items() for guid in guids}
    ports = {who: held for who, held in rule.members.items() if is_guid(who)}
    alike: dict[str, list[str]] = {}
    for host in dict.fromkeys(owners[guid] for guid in ports if guid in owners):
        held = {ports.get(guid) for guid in (inventory.guids or {})[host]}
        if len(held) == 1:
            alike.setdefault(str(next(iter(held))), []).append(host)
    found = [_member("keyword", keyword, rule.members[keyword]) for keyword in KEYWORDS if keyword in rule.members]
    for membership, hosts in sorted(alike.items()):
        groups, rest = _whole(hosts, {name: own for name, own in inventory.groups.items() if name != "all"})
        found += [_member("group", name, membership) for name in groups] + [_member("host", name, membership) for name in rest]
    by_host = {host for hosts in alike.values() for host in hosts}
    return found + [_member("port_guid", guid, held) for guid, held in sorted(ports.items()) if owners.get(guid) not in by_host]


def _needs_isolation(rule: Rule) -> bool:
    """Whether two members can't reach each other because both are limited, and others are full members."""
    limited = [who for who, held in rule.members.items() if held == "limited"]
    return any(held != "limited" for held in rule.members.values()) and (len(limited) > 1 or any(who in ("ALL", "ALL_CAS") for who in limited))


def _why_not(rule: Rule, entry: t.Mapping[str, t.Any], lost: t.Sequence[str]) -> str:
    """Why a partition can't be declared; "" where it can."""
    if not rule.pkey:
        return "it has no P_Key of its own: opensm derives one from its name"
    if lost:
        return "it has %s" % ", ".join(lost)
    if rule.lost:
        return "opensm drops its members %s, which follow mgid= on a line" % ", ".join(rule.lost)
    default = [] if rule.pkey == DEFAULT_PKEY else [_ADDED]
    return "; ".join(map(str, problems([*default, entry])))


def declarations(text: str, source: str, inventory: Inventory) -> Description:
    """The declarations of a file. `inventory`: the hosts of each group, and the port GUIDs of each host on the fabric."""
    declared = Description([], [], [])
    refusal = refusal_of(text)
    if refusal:
        declared.dangers.append("opensm drops %s (%s): the fabric has only the default partition" % (source, refusal))
        return declared
    groups = {statement.name: statement.groups for statement in read_file(text).statements if statement.groups}
    rules = parse_partitions(text)
    for rule in rules:
        flags = _flags(rule)
        name = "partition %s (0x%04x) of %s" % (rule.name, rule.pkey, source)
        entry = {"name": rule.name, "pkey": "0x%04x" % rule.pkey, **flags.entry, "members": _members(rule, inventory)}
        if _needs_isolation(rule):
            entry["isolate"] = True
        if rule.members and all(held == "limited" for held in rule.members.values()) and rule.pkey != DEFAULT_PKEY:
            declared.dangers.append("%s has limited members only, and no two of them can communicate" % name)
        why = _why_not(rule, entry, [*flags.left, *groups.get(rule.name, ())])
        if why:
            declared.left.append(Left(name, "%s; %s" % (why, _STAYS)))
        else:
            declared.entries.append(entry)
    if declared.entries and not any(rule.pkey == DEFAULT_PKEY for rule in rules):
        declared.entries.insert(0, dict(_ADDED))
    only = rules[0] if len(rules) == 1 else None
    if only is not None and only.pkey == DEFAULT_PKEY and only.open and only.ipoib and not only.special and len(only.members) == 1:
        # What opensm does without a file.
        declared.entries.clear()
    return declared
