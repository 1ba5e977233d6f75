# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd-networkd: what its files say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import typing as t

from .._parsed import NO, Parsed, Parser, Where
from ._assignments import Assignment, blocks, sections
from ._networkd import LEASE

# Settings of the files that the collection writes, and those that change nothing of an interface.
_SILENT = {
    "Link.RequiredForOnline",
    "Network.BindCarrier",
    "Network.Bond",
    "Network.ConfigureWithoutCarrier",
    "Network.Description",
    "Network.IPoIB",
    "Network.LinkLocalAddressing",
    "Network.PrimarySlave",
    "NetDev.Description",
    "NetDev.Kind",
    "NetDev.Name",
    "NetDev.MACAddress",
    "IPoIB.PartitionKey",
    "Bond.Mode",
    "Bond.MIIMonitorSec",
    "Bond.FailOverMACPolicy",
}


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its .network files."""
    parser = Parser()
    netdevs = [path for path, text in files.items() if path.endswith(".netdev") and ("Name", name) in sections(text).get("NetDev", ())]
    for path in (*(path for path in paths if path.endswith(".network")), *netdevs):
        for section, found in blocks(files.get(path, "")):
            if section == "Route":
                _route(parser, found, path)
            elif section != "Match":
                for each in found:
                    _one(parser, each.value, Where("%s.%s" % (section, each.key), path, each.line))
    return parser.parsed()


def _one(parser: Parser, value: str, where: Where) -> None:
    key = where.setting
    if key in ("Network.Address", "Address.Address"):
        parser.address(value, where)
    elif key == "Link.MTUBytes":
        parser.size(value, where)
    elif key == "IPoIB.Mode":
        parser.mode = value
    elif key == "Network.Gateway":
        parser.gateway(value, where)
    elif key == "Network.DHCP":
        parser.dynamic = parser.dynamic or value.lower() not in NO
    elif key.startswith("DHCPv4.") and value == LEASE.get(key.partition(".")[2]):
        pass
    elif key == "Network.IPv6AcceptRA":
        if value.lower() not in NO:
            parser.leave(where)
    elif key not in _SILENT:
        parser.leave(where)


def _route(parser: Parser, found: t.Sequence[Assignment], path: str) -> None:
    values = {each.key: each.value for each in found}
    where = Where("Route.Destination", path, found[0].line if found else 0)
    parser.route(values.get("Destination", "default"), via=values.get("Gateway", ""), metric=values.get("Metric", ""), where=where)
    for each in found:
        if each.key not in ("Destination", "Gateway", "Metric"):
            parser.leave(Where("Route.%s" % each.key, path, each.line))
