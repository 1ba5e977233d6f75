# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The members in our own partitions.conf: how they are written, and those of hosts that a run knows nothing of. Pure.

The file on the node that runs the subnet manager has the port GUIDs of each host from the run before.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import hexadecimal
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import is_guid, normal_guid

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
    """A text with the members that an earlier one tells of."""

    text: str
    kept: tuple[str, ...] = ()
    """Hosts whose port GUIDs come from the earlier text."""
    missing: tuple[str, ...] = ()
    """Hosts that neither has."""


def _shown(host: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in host)


def definition(head: str, members: t.Sequence[Line]) -> str:
    """One definition. Each member has a line, for a readable diff, and because opensm reads lines of up to 4094 characters."""
    if not members:
        return "# %s has no members.\n" % head
    lines = []
    for index, (who, membership, host) in enumerate(members):
        comment = " # %s" % _shown(host) if host else ""
        lines.append("    %s=%s%s%s\n" % (who, membership, ";" if index == len(members) - 1 else ",", comment))
    return "%s :\n%s" % (head, "".join(lines))


def _members(block: str) -> list[Line]:
    return [(match[1], match[2], match[3] or "") for match in map(_MEMBER.fullmatch, block.splitlines()) if match]


def _guids_of(text: str) -> dict[str, set[str]]:
    """The port GUIDs of each host in a text of ours."""
    found: dict[str, set[str]] = {}
    for who, _membership, host in _members(text):
        if host and is_guid(who):
            found.setdefault(host, set()).add(normal_guid(who))
    return found


def _placed(member: Line) -> tuple[int, str]:
    """Keywords, ports by GUID, and SELF, as they are rendered."""
    who = member[0]
    return (2 if who == "SELF" else 1 if is_guid(who) else 0, who if is_guid(who) else "")


def recall(text: str, before: str, absentees: t.Sequence[Absentee], *, owned: t.Collection[str] = ()) -> Recalled:
    """A rendered text with the absentees, by the port GUIDs that the text before it has for them.

    `owned`: GUIDs that are known in this run. A port that moved to another host, or is a member by itself, stays as it is.
    """
    known = {host: guids - set(owned) for host, guids in _guids_of(before).items()}
    blocks = []
    for block in text.rstrip("\n").split("\n\n"):
        head = _HEAD.match(block)
        come = [absentee for absentee in absentees if head and hexadecimal(head[2]) == absentee.pkey and known.get(_shown(absentee.host))]
        if head and come:
            members = _members(block)
            there = {who for who, _membership, _host in members}
            members += [(guid, absentee.membership, absentee.host) for absentee in come for guid in known[_shown(absentee.host)] - there]
            block = definition(head[1], sorted(members, key=_placed)).rstrip("\n")
        blocks.append(block)
    hosts = sorted({absentee.host for absentee in absentees})
    kept = tuple(host for host in hosts if known.get(_shown(host)))
    return Recalled("\n\n".join(blocks) + "\n" if text else "", kept, tuple(host for host in hosts if host not in kept))
