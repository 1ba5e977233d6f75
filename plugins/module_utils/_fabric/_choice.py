# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which nodes of a fabric are shown: those that hosts, GUIDs and LIDs name. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._gap import Code, Gap, gap
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import guid_problems, normal_guid

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._fabric._subnet import Subnet

# Unicast LIDs of the specification.
_LAST_LID = 0xBFFF
_LIDS = "a unicast LID, 1 to 49151"


class Filter(t.NamedTuple):
    """What names a node; nothing at all means all nodes."""

    hosts: tuple[str, ...] = ()
    guids: tuple[str, ...] = ()
    lids: tuple[int, ...] = ()


def filter_of(options: t.Mapping[str, t.Any]) -> Filter:
    """The filter in the options of the module; raises InvalidInput."""
    wrong = [problem for index, guid in enumerate(options["guids"]) for problem in guid_problems("guids[%d]" % index, guid, "a node, port or system GUID")]
    wrong += [Problem("lids[%d]" % index, lid, _LIDS) for index, lid in enumerate(options["lids"]) if not 0 < lid <= _LAST_LID]
    wrong += [Problem("hosts[%d]" % index, host, "the name of a host or a node") for index, host in enumerate(options["hosts"]) if not host.strip()]
    if wrong:
        raise InvalidInput(wrong)
    return Filter(tuple(options["hosts"]), tuple(map(normal_guid, options["guids"])), tuple(options["lids"]))


def names_of(text: str) -> set[str]:
    """What a node of this name or description is called: all of it, its first word, and that without a domain."""
    whole = text.strip().lower()
    first = whole.partition(" ")[0]
    return {whole, first, first.partition(".")[0]} - {""}


def chosen(subnet: Subnet, wanted: Filter) -> tuple[frozenset[str] | None, tuple[Gap, ...]]:
    """GUIDs of the nodes that are named, None for all; and the names that no node has."""
    if not any(wanted):
        return None, ()
    found: dict[t.Any, set[str]] = {}
    for node in subnet.nodes:
        for name in {*names_of(node.description), *names_of(subnet.names[node.guid])}:
            found.setdefault(name, set()).add(node.guid)
        for guid in (node.guid, node.port_guid, node.system_guid):
            found.setdefault(guid, set()).add(node.guid)
        if node.lid:
            found.setdefault(node.lid, set()).add(node.guid)
    for port in subnet.ports:
        found.setdefault(port.port_guid, set()).add(port.node_guid)
        # With an LMC, a port has all LIDs that differ in their last bits.
        for lid in range(port.lid, port.lid + (1 << port.lmc)) if port.lid else ():
            found.setdefault(lid, set()).add(port.node_guid)
    keys = [*(host.strip().lower() for host in wanted.hosts), *wanted.guids, *wanted.lids]
    absent = [str(key) for key in keys if key not in found]
    gaps = (gap(Code.NO_SUCH_NODE, "", absent),) if absent else ()
    return frozenset(guid for key in keys for guid in found.get(key, ())), gaps
