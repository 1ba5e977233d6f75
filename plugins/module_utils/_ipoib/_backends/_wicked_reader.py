# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""wicked: what its files say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import posixpath
import re
import typing as t

from ..._host._sourced import assignments
from .._parsed import Parsed, Parser, Where, with_netmask

_ADDRESS = re.compile(r"IPADDR(_?\w*)\Z")
_SILENT = re.compile(
    r"(NAME|STARTMODE|BONDING_MASTER|BONDING_SLAVE_?\w*|BONDING_MODULE_OPTS|IPOIB|IPOIB_DEVICE|IPOIB_PKEY|LINK_REQUIRED|PREFIXLEN_?\w*|NETMASK_?\w*"
    r"|BROADCAST_?\w*|NETWORK_?\w*|REMOTE_IPADDR_?\w*|USERCONTROL|ETHTOOL_OPTIONS|BRIDGE|FIREWALL)\Z"
)


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its ifcfg and ifroute files, and the file of all routes."""
    parser = Parser()
    for path in paths:
        base = posixpath.basename(path)
        if base.startswith("ifcfg-"):
            _variables(parser, assignments(files.get(path, "")), path)
        elif base.startswith("ifroute-") or base == "routes":
            _routes(parser, name, path, text=files.get(path, ""))
    return parser.parsed()


def _variables(parser: Parser, variables: t.Mapping[str, str], path: str) -> None:
    for key, value in variables.items():
        where, address = Where(key, path), _ADDRESS.match(key)
        if address and value:
            prefix = variables.get("PREFIXLEN" + address.group(1)) or variables.get("NETMASK" + address.group(1), "")
            parser.address(with_netmask(value, prefix), where)
        elif key == "MTU":
            parser.size(value, where)
        elif key == "IPOIB_MODE":
            parser.mode = value
        elif key == "BOOTPROTO":
            parser.dynamic = parser.dynamic or any(word in value for word in ("dhcp", "auto"))
        elif value and not _SILENT.match(key):
            parser.leave(where)


def _routes(parser: Parser, name: str, path: str, *, text: str) -> None:
    """Destination, gateway, netmask, interface, options."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        fields = [*words, "-", "-", "-"]
        if not words or fields[3] not in (name, "-"):
            continue
        options = words[4:]
        rest = dict(zip(options[::2], options[1::2]))
        to = with_netmask(fields[0], "" if fields[2] == "-" else fields[2])
        where = Where("route", path, number)
        parser.route(to, via=fields[1], metric=rest.get("metric", ""), where=where)
        for word in sorted(set(rest) - {"metric"}):
            parser.leave(where._replace(setting="route ... %s" % word))
