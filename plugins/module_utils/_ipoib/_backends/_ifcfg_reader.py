# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Red Hat's ifcfg files: what they say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ..._host._sourced import assignments
from .._parsed import NO, Parsed, Parser, Where, with_netmask
from . import _ifcfg

_ADDRESS = re.compile(r"IPADDR([0-9]*)\Z")
_FIELDS = re.compile(r"(ADDRESS|NETMASK|GATEWAY|METRIC)([0-9]+)\Z")
_SILENT = re.compile(
    r"(DEVICE|NAME|UUID|NM_CONTROLLED|TYPE|ONBOOT|HWADDR|USERCTL|BONDING_MASTER|BONDING_OPTS|AUTOCONNECT_(SLAVES|PRIORITY)|PKEY|PHYSDEV|PKEY_ID|PKEY_ID_NM"
    r"|MASTER|MASTER_UUID|SLAVE|IPV6INIT|IPV6_DISABLED|PREFIX[0-9]*"
    r"|NETMASK[0-9]*|NETWORK[0-9]*|BROADCAST[0-9]*|DEFROUTE|IPV4_FAILURE_FATAL|IPV6_FAILURE_FATAL|IPV6_DEFROUTE"
    r"|PROXY_METHOD|BROWSER_ONLY|IPV6_ADDR_GEN_MODE|PEERDNS|PEERROUTES|IPV6_PEERDNS|IPV6_PEERROUTES)\Z"
)


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its ifcfg, route and route6 files."""
    parser = Parser()
    for path in paths:
        kind = posixpath.basename(path).partition("-")[0]
        if kind == "ifcfg":
            text = files.get(path, "")
            # A zone in a file of ours is kept.
            _variables(parser, assignments(_ifcfg.zoned(text, "") if _ifcfg.is_ours(path, text) else text), path)
        elif kind in ("route", "route6"):
            _routes(parser, files.get(path, ""), path)
    return parser.parsed()


def _variables(parser: Parser, variables: t.Mapping[str, str], path: str) -> None:
    for key, value in variables.items():
        where, address = Where(key, path), _ADDRESS.match(key)
        if address:
            prefix = variables.get("PREFIX" + address.group(1)) or variables.get("NETMASK" + address.group(1), "")
            parser.address(with_netmask(value, prefix), where)
        elif key in ("IPV6ADDR", "IPV6ADDR_SECONDARIES"):
            for each in value.split():
                parser.address(each, where)
        elif key in ("GATEWAY", "IPV6_DEFAULTGW"):
            parser.gateway(value.partition("%")[0], where)
        elif key == "MTU":
            parser.size(value, where)
        elif key == "CONNECTED_MODE":
            parser.mode = "datagram" if value.lower() in NO else "connected"
        elif key == "BOOTPROTO":
            parser.dynamic = parser.dynamic or value.lower() in ("dhcp", "bootp", "autoip")
        elif key == "IPV6_AUTOCONF":
            if value.lower() not in NO:
                parser.leave(where)
        elif not _SILENT.match(key):
            parser.leave(where)


def _routes(parser: Parser, text: str, path: str) -> None:
    """Lines of arguments for `ip route`, or numbered variables."""
    numbered: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        variables = assignments(line)
        fields = {match.group(2): (match.group(1), value) for key, value in variables.items() for match in [_FIELDS.match(key)] if match}
        for position, (field, value) in fields.items():
            numbered.setdefault(position, {})[field] = value
        if words and not fields:
            rest = dict(zip(words[1::2], words[2::2]))
            default = "::/0" if posixpath.basename(path).startswith("route6") else "default"
            where = Where("route", path, number)
            parser.route(default if words[0] == "default" else words[0], via=rest.get("via", ""), metric=rest.get("metric", ""), where=where)
            for word in sorted(set(rest) - {"via", "dev", "metric"}):
                parser.leave(where._replace(setting="route ... %s" % word))
    for fields_of in numbered.values():
        to = with_netmask(fields_of.get("ADDRESS", ""), fields_of.get("NETMASK", ""))
        parser.route(to, via=fields_of.get("GATEWAY", ""), metric=fields_of.get("METRIC", ""), where=Where("ADDRESS", path))
