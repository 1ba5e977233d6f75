# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""systemd-networkd: what its files say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import typing as t

from .._parsed import NO, Parsed, Parser
from ._assignments import Assignment, blocks, sections

# Settings of the files that the collection writes, and those that change nothing of an interface.
_SILENT = {
    "Link.RequiredForOnline",
    "Network.BindCarrier",
    "Network.Bond",
    "Network.ConfigureWithoutCarrier",
    "Network.Description",
    "Network.IPoIB",
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


def parse(name: str, paths: t.Iterable[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its .network files."""
    parser = Parser()
    netdevs = [path for path, text in files.items() if path.endswith(".netdev") and ("Name", name) in sections(text).get("NetDev", ())]
    for path in (*(path for path in paths if path.endswith(".network")), *netdevs):
        for section, found in blocks(files[path]):
            _section(parser, section, found, path)
    return parser.parsed()


def _section(parser: Parser, section: str, found: t.Sequence[Assignment], path: str) -> None:
    if section == "Match":
        return
    if section == "Route":
        _route(parser, found, path)
        return
    for each in found:
        _one(parser, "%s.%s" % (section, each.key), each, path)


def _one(parser: Parser, where: str, each: Assignment, path: str) -> None:
    value = each.value
    if where in ("Network.Address", "Address.Address"):
        parser.address(value, where, path, each.line)
    elif where == "Link.MTUBytes":
        parser.size(value, where, path, each.line)
    elif where == "IPoIB.Mode":
        parser.mode = value
    elif where == "Network.Gateway":
        parser.gateway(value, (where, path, each.line))
    elif where == "Network.DHCP":
        parser.dynamic = parser.dynamic or value.lower() not in NO
    elif where == "Network.IPv6AcceptRA" or (where == "Network.LinkLocalAddressing"):
        if where == "Network.IPv6AcceptRA" and value.lower() not in NO:
            parser.leave(where, path, each.line)
    elif where not in _SILENT:
        parser.leave(where, path, each.line)


def _route(parser: Parser, found: t.Sequence[Assignment], path: str) -> None:
    values = {each.key: each.value for each in found}
    line = found[0].line if found else 0
    where = ("Route.Destination", path, line)
    parser.route(values.get("Destination", "default"), values.get("Gateway", ""), values.get("Metric", ""), where)
    for each in found:
        if each.key not in ("Destination", "Gateway", "Metric"):
            parser.leave("Route.%s" % each.key, path, each.line)
