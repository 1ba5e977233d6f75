# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What the subnet administration tells, in terms of the ports of a subnet: partitions and multicast groups. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import MTUS, RATES

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Subnet
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._saquery import McMember, PkeyBlock

_BYTES = {code: size for size, code in MTUS.items()}
_GBPS = {code: rate for rate, code in RATES.items()}
_FULL = 0x8000

Place = t.Tuple[int, int]


class Partition(t.NamedTuple):
    """A partition and the end ports in it, by port GUID. A port that may be both is in both lists."""

    pkey: str
    """Without the bit of membership: `0x7fff`."""
    full: tuple[str, ...]
    limited: tuple[str, ...]


class Member(t.NamedTuple):
    """A port in a multicast group."""

    port_guid: str
    name: str
    """Of the node; "" for a port that the topology does not have, as that of a virtual function."""
    membership: str


class Group(t.NamedTuple):
    """A multicast group."""

    mgid: str
    mlid: str
    pkey: str
    mtu: int
    rate_gbps: float
    qkey: str
    sl: int
    members: tuple[Member, ...]


def end_ports(subnet: Subnet) -> dict[Place, str]:
    """Port GUIDs by LID and number. Of a switch, only port 0 is an end port."""
    switches = {node.guid: node for node in subnet.nodes if node.port_guid}
    found = {(port.lid, port.port): port.port_guid for port in subnet.ports if port.node_guid not in switches}
    return {**found, **{(node.lid, 0): node.port_guid for node in switches.values()}}


def partitions(blocks: t.Iterable[PkeyBlock], ends: t.Mapping[Place, str]) -> tuple[Partition, ...]:
    """Partitions by P_Key. Tables of external ports of switches, which only enforce partitions, have no members."""
    members: dict[int, tuple[set[str], set[str]]] = {}
    for block in blocks:
        guid = ends.get((block.lid, block.port))
        for pkey in block.pkeys if guid else ():
            members.setdefault(pkey & ~_FULL, (set(), set()))[0 if pkey & _FULL else 1].add(guid or "")
    return tuple(Partition("0x%04x" % pkey, *(tuple(sorted(part)) for part in members[pkey])) for pkey in sorted(members))


def groups(records: t.Iterable[McMember], names: t.Mapping[str, str]) -> tuple[Group, ...]:
    """Groups by MLID and MGID; `names` of nodes by port GUID. A group without members has a record of its own."""
    heads: dict[tuple[str, str], McMember] = {}
    members: dict[tuple[str, str], dict[str, Member]] = {}
    for record in records:
        key = (record.mlid, record.mgid)
        heads.setdefault(key, record)
        if record.port_guid:
            member = Member(record.port_guid, names.get(record.port_guid, ""), record.membership)
            members.setdefault(key, {})[record.port_guid] = member
    return tuple(
        Group(
            head.mgid,
            head.mlid,
            head.pkey,
            _BYTES.get(head.mtu_code, 0),
            _GBPS.get(head.rate_code, 0),
            head.qkey,
            head.sl,
            tuple(sorted(members.get(key, {}).values())),
        )
        for key, head in sorted(heads.items())
    )
