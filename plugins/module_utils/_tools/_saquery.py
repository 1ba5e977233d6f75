# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`saquery`: records of the master's subnet administration. Grammar from infiniband-diags, `saquery.c`."""

from __future__ import annotations

import re
import socket
import typing as t

from .._errors import UnexpectedOutput
from .._foreign import Once, decimal, hexadecimal, integer
from ._sminfo import SmInfo, ask

if t.TYPE_CHECKING:
    from .._host._run import Runner

_SM_HEAD = "SMInfoRecord dump:"
_GROUP_HEAD = "MCMember Record dump:"
_PKEY_HEAD = "PKeyTableRecord dump:"
_NEEDED = ("LID", "GUID", "ActCount", "Priority", "SMState")

# No subnet manager configured the port, or that one has ended.
_NOBODY = re.compile(r"No SM/SA found|Failed to bind to the SA|Query SA failed: Connection timed out")
_FIELDS = re.compile(r"^[ \t]*(\w+)\.\.+([^\n]*)$", re.MULTILINE)
_PORT_GID = re.compile(r"\bPortGid\.\.([^\n]*)")
# The two highest bits select the comparison.
_CODE = 0x3F
# The node description is the last field, and may contain any text.
_NODE = re.compile(
    r"^NodeRecord dump:\n\s*lid\.+([0-9]{1,5})\n(?:(?!\s*NodeDescription)[^\n]*\n){0,4}?\s*node_type\.+([^\n.][^\n]*)\n"
    r"(?:(?!\s*NodeDescription)[^\n]*\n){0,4}?\s*port_guid\.+(0x[0-9a-f]{16})\n(?:(?!\s*NodeDescription)[^\n]*\n){0,4}?\s*port_num\.+([0-9]{1,3})$",
    re.MULTILINE,
)
_SWITCH = "Switch"
_TABLE_OF = re.compile(r"\s*LID\.+([0-9]{1,5})\s*Port(?:Num)?\.+([0-9]{1,3})\s")
_PKEY = re.compile(r"\b0x([0-9a-f]{4})\b")


class McMember(t.NamedTuple):
    """A port in a multicast group or, if `port_guid` is empty, the group itself."""

    mgid: str
    mlid: str
    pkey: str
    """With the membership bit, `0xffff`."""
    mtu_code: int
    rate_code: int
    qkey: str
    sl: int
    port_guid: str
    membership: str
    """`full`, `send_only` or `non_member`; "" for the group itself."""


class PkeyBlock(t.NamedTuple):
    """The P_Keys in one block of a port's table."""

    lid: int
    port: int
    pkeys: tuple[int, ...]


def _blocks(text: str, head: str, query: str) -> list[str]:
    before, *blocks = text.split(head)
    if before.strip():
        raise UnexpectedOutput("saquery %s printed %r before the first record" % (query, before.strip()[:200]))
    return blocks


def parse_sm_records(stdout: str) -> tuple[SmInfo, ...]:
    """Parse `saquery SMIR`: one block per subnet manager; sorted by port GUID. Raises UnexpectedOutput."""
    records: list[SmInfo] = []
    for block in _blocks(stdout, _SM_HEAD, "SMIR"):
        fields = dict(_FIELDS.findall(block))
        found = [number for number in (integer(fields.get(key, "").strip()) for key in _NEEDED) if number is not None]
        if len(found) != len(_NEEDED):
            raise UnexpectedOutput("saquery SMIR printed a record without the fields %s: %r" % (", ".join(_NEEDED), block.strip()))
        lid, guid, activity, priority, state = found
        records.append(SmInfo(lid, "0x%016x" % guid, activity, priority, state))
    return tuple(sorted(records, key=lambda record: record.guid))


def _low_half(gid: str) -> str:
    """The GUID in a GID, `fe80::2:c903:0:1`; "" for the empty one. Raises UnexpectedOutput."""
    try:
        low = socket.inet_pton(socket.AF_INET6, gid)[8:].hex()
    except (OSError, ValueError) as exc:
        raise UnexpectedOutput("saquery MCMR printed %r, which is no GID" % gid[:200]) from exc
    return "0x" + low if low.strip("0") else ""


def _membership(state: int) -> str:
    return "full" if state & 1 else "non_member" if state & 2 else "send_only"


def _member(block: str) -> McMember:
    """A record without the port that it may belong to. Raises UnexpectedOutput."""
    fields = dict(_FIELDS.findall(block))
    numbers = [integer(fields.get(key, "")) for key in ("mlid", "pkey", "mtu", "rate", "qkey", "SL", "JoinState")]
    mgid = fields.get("MGID", "")
    if not mgid or None in numbers:
        raise UnexpectedOutput("saquery MCMR printed a record that is not one of a member: %r" % block.strip()[:200])
    mlid, pkey, mtu, rate, qkey, sl, state = (number or 0 for number in numbers)
    return McMember(
        mgid=mgid,
        mlid="0x%04x" % mlid,
        pkey="0x%04x" % pkey,
        mtu_code=mtu & _CODE,
        rate_code=rate & _CODE,
        qkey="0x%08x" % qkey,
        sl=sl,
        port_guid="",
        membership=_membership(state),
    )


def parse_members(text: str) -> tuple[McMember, ...]:
    """Parse `saquery MCMR`: the groups; with a key that the subnet administration trusts, a record per member. Raises UnexpectedOutput."""
    found = []
    # Members of a group differ only in their port.
    records = Once(_member)
    for block in _blocks(text, _GROUP_HEAD, "MCMR"):
        port = _PORT_GID.search(block)
        rest = block[: port.start()] + block[port.end() :] if port else block
        port_guid = _low_half(port[1].lstrip(".") if port else "")
        found.append(records[rest]._replace(port_guid=port_guid, membership=records[rest].membership if port_guid else ""))
    return tuple(found)


def _table(text: str) -> tuple[int, ...]:
    return tuple(hexadecimal(digits, 0) for digits in _PKEY.findall(text) if digits != "0000")


def parse_pkeys(text: str) -> tuple[PkeyBlock, ...]:
    """Parse `saquery PKTR`: the tables of all ports, in blocks of 32. Raises UnexpectedOutput."""
    found = []
    # Most ports of a fabric have the same table.
    tables = Once(_table)
    numbers = Once(decimal)
    for block in _blocks(text, _PKEY_HEAD, "PKTR"):
        head, title, table = block.partition("PKey Table:")
        place = _TABLE_OF.match(head)
        if place is None or not title:
            raise UnexpectedOutput("saquery PKTR printed a record that is not one of a table: %r" % block.strip()[:200])
        if tables[table]:
            found.append(PkeyBlock(numbers[place[1]] or 0, numbers[place[2]] or 0, tables[table]))
    return tuple(found)


def parse_port_lids(text: str) -> dict[tuple[int, int], str]:
    """Parse `saquery NR`: port GUIDs by LID and port number, as in the P_Key tables. A switch has a GUID only for its port 0."""
    return {(decimal(lid, 0), 0 if kind == _SWITCH else decimal(number, 0)): guid for lid, kind, guid, number in _NODE.findall(text)}


def command(device: str, port: int, record: str, *, key: str = "") -> tuple[str, ...]:
    """Query all records of a kind. The key is for records that are told only to trusted requesters."""
    return ("saquery", "-C", device, "-P", str(port), *(("--smkey", key) if key else ()), record)


def sm_records(run: Runner, device: str, port: int) -> tuple[SmInfo, ...] | None:
    """Every subnet manager of the fabric as its master lists them, including itself; None where no master answers.

    A second master on a fabric that is split in two is invisible here.
    """
    stdout = ask(run, command(device, port, "SMIR"), _NOBODY)
    return None if stdout is None else parse_sm_records(stdout)
