# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions as the inventory declares them: what an entry may contain. Pure."""

from __future__ import annotations

import re
import typing as t

from ... import _codes
from ..._errors import Problem, unknown_keys
from ..._foreign import BOOLEAN, is_boolean, is_true

KEYWORDS = ("ALL", "ALL_CAS", "ALL_SWITCHES", "ALL_ROUTERS", "SELF")
MEMBERSHIPS = ("full", "limited", "both")
DEFAULT_PKEY = 0x7FFF

# opensm keeps 31 characters. A name that starts with a digit would be read as a P_Key.
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,30}\Z")

# A member has exactly one of these keys, and a membership if it differs from the partition's.
WHO = ("host", "group", "port_guid", "keyword")
_KEYS = ("name", "pkey", "ipoib", "rate", "mtu", "sl", "scope", "membership", "members", "isolate")
_IPOIB_ONLY = ("rate", "mtu", "scope")
_MAX_SL = 15


class Member(t.NamedTuple):
    """A member, before hosts are resolved to ports."""

    kind: str
    """One of WHO."""
    name: str
    """A host, a group, a keyword, or a normalised GUID."""
    membership: str


class Partition(t.NamedTuple):
    """A validated entry. Numbers are the codes of partitions.conf; None stands for the default of opensm."""

    name: str
    pkey: int
    """Without the membership bit."""
    ipoib: bool = False
    rate: int | None = None
    mtu: int | None = None
    sl: int | None = None
    scopes: tuple[int, ...] = ()
    members: tuple[Member, ...] = ()
    isolate: bool = False
    """Whether limited members must not reach each other."""


def _sl(value: t.Any) -> int | None:
    level = _codes.number(value, "[0-9]{1,2}")
    return level if level is not None and 0 <= level <= _MAX_SL else None


def _scopes(value: t.Any) -> list[t.Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _member_problems(where: str, member: t.Any) -> list[Problem]:
    if not isinstance(member, dict):
        example = "{keyword: %s}" % member if isinstance(member, str) and member in KEYWORDS else "{host: node1}"
        return [Problem(where, member, "a mapping such as %s" % example)]
    found = unknown_keys(where, member, (*WHO, "membership"))
    named = [kind for kind in WHO if member.get(kind) is not None]
    if len(named) != 1:
        return [*found, Problem(where, member, "exactly one of %s" % ", ".join(WHO))]
    kind, value = named[0], member[named[0]]
    if kind == "keyword" and value not in KEYWORDS:
        found.append(Problem("%s.keyword" % where, value, ", ".join(KEYWORDS)))
    elif kind == "port_guid":
        found += _codes.guid_problems("%s.port_guid" % where, value, "a port GUID", hint="that is not the node GUID")
    elif not isinstance(value, str) or not value:
        found.append(Problem("%s.%s" % (where, kind), value, "the name of a %s of the inventory" % kind))
    if member.get("membership") is not None and member["membership"] not in MEMBERSHIPS:
        found.append(Problem("%s.membership" % where, member["membership"], ", ".join(MEMBERSHIPS)))
    return found


def _values(where: str, entry: t.Mapping[str, t.Any]) -> list[Problem]:
    rate, mtu, sl, scope = (entry.get(key) for key in ("rate", "mtu", "sl", "scope"))
    checks = (
        ("rate", _codes.rate_code(rate) is not None, "a rate in Gb/s: %s" % ", ".join("%g" % known for known in sorted(_codes.RATES))),
        ("mtu", _codes.mtu_code(mtu) is not None, "an MTU in bytes: %s" % ", ".join(map(str, _codes.MTUS))),
        ("sl", _sl(sl) is not None, "a service level from 0 to %d" % _MAX_SL),
        ("scope", bool(scope) and None not in map(_codes.scope_code, _scopes(scope)), "one or more of %s, or numbers from 1 to 15" % ", ".join(_codes.SCOPES)),
        *((key, is_boolean(entry.get(key)), BOOLEAN) for key in ("ipoib", "isolate")),
        ("membership", entry.get("membership") in MEMBERSHIPS, ", ".join(MEMBERSHIPS)),
    )
    found = [Problem("%s.%s" % (where, key), entry[key], allowed) for key, good, allowed in checks if entry.get(key) is not None and not good]
    useless = [key for key in _IPOIB_ONLY if entry.get(key) is not None and not is_true(entry.get("ipoib"))]
    hint = "it is a property of the broadcast group of IPoIB"
    return found + [Problem("%s.%s" % (where, key), entry[key], "nothing without ipoib: true", hint) for key in useless]


def entry_problems(where: str, entry: t.Any) -> list[Problem]:
    """Problems of one entry on its own; `where` is its path, such as `opensm_partitions[0]`."""
    if not isinstance(entry, dict):
        return [Problem(where, entry, "a mapping with %s" % ", ".join(_KEYS))]
    found = unknown_keys(where, entry, _KEYS)
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        found.append(Problem("%s.name" % where, name, "a name of up to 31 letters, digits, dots, dashes and underscores, not beginning with a digit"))
    if _codes.pkey_base(entry.get("pkey")) is None:
        hint = "0x8000 and 0 name no partition: the highest bit is the membership of a port" if entry.get("pkey") in (0, 0x8000, "0", "0x0", "0x8000") else ""
        found.append(Problem("%s.pkey" % where, entry.get("pkey"), "a P_Key from 0x0001 to 0x7fff, or the same with the membership bit", hint))
    found += _values(where, entry)
    members = entry.get("members")
    if not isinstance(members, (list, tuple)) or not members:
        return [*found, Problem("%s.members" % where, members, "a list of at least one member", "opensm drops a partition without members")]
    for index, member in enumerate(members):
        found += _member_problems("%s.members[%d]" % (where, index), member)
    return found


def _read_member(member: t.Mapping[str, t.Any], default: str) -> Member:
    kind = next(kind for kind in WHO if member.get(kind) is not None)
    name = member[kind]
    return Member(kind, _codes.normal_guid(name) if kind == "port_guid" else str(name), str(member.get("membership") or default))


def read_entry(entry: t.Mapping[str, t.Any]) -> Partition:
    """Parse a validated entry. A member without a membership inherits that of the partition, which is `full` by default."""
    scope = entry.get("scope")
    default = entry.get("membership") or "full"
    return Partition(
        name=str(entry["name"]),
        pkey=_codes.pkey_base(entry["pkey"]) or 0,
        ipoib=is_true(entry.get("ipoib")),
        rate=_codes.rate_code(entry.get("rate")),
        mtu=_codes.mtu_code(entry.get("mtu")),
        sl=_sl(entry.get("sl")),
        scopes=tuple(sorted({_codes.scope_code(item) or 0 for item in _scopes(scope)})) if scope is not None else (),
        members=tuple(_read_member(member, default) for member in entry["members"]),
        isolate=is_true(entry.get("isolate")),
    )
