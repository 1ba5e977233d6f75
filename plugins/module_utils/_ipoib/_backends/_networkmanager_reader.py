# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager: what its keyfiles say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import re
import typing as t

from .._parsed import Parsed, Parser
from ._assignments import Assignment, assigned

_ADDRESS = re.compile(r"ipv[46]\.address(es)?[0-9]*\Z")
_ROUTE = re.compile(r"ipv[46]\.routes?[0-9]*\Z")
_METHOD = re.compile(r"ipv[46]\.method\Z")
_STATIC = ("manual", "disabled", "ignore", "link-local", "shared")
# What identifies a profile or an interface, what the collection writes itself, and what nmcli writes of its own accord.
_SILENT = re.compile(
    r"(connection\.(id|uuid|type|interface-name|autoconnect|autoconnect-slaves|autoconnect-ports|autoconnect-priority|master|controller"
    r"|slave-type|port-type|timestamp|permissions|llmnr|mdns)"
    r"|infiniband\.(p-key|parent|mac-address)|bond\.(mode|miimon|fail_over_mac|primary)|ipv[46]\.may-fail|ipv6\.(addr-gen-mode|ip6-privacy)"
    r"|ethernet\.mac-address-blacklist|ipv4\.dns-search|ipv6\.dns-search|\..*)\Z"
)


def parse(name: str, paths: t.Iterable[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its keyfiles."""
    parser = Parser()
    for path in paths:
        for each in assigned(files[path]):
            _one(parser, "%s.%s" % (each.section, each.key), each, path)
    return parser.parsed()


def _one(parser: Parser, where: str, each: Assignment, path: str) -> None:
    value = each.value.rstrip(";")
    if where in ("infiniband.mtu", "ethernet.mtu"):
        parser.size(value, where, path, each.line)
    elif where == "infiniband.transport-mode":
        parser.mode = value
    elif _METHOD.match(where):
        _method(parser, where, each, path)
    elif _ADDRESS.match(where):
        for item in filter(None, value.split(";")):
            # A gateway may follow.
            address, _comma, gateway = item.replace(" ", "").partition(",")
            parser.address(address, where, path, each.line)
            parser.gateway(gateway, (where, path, each.line))
    elif where in ("ipv4.gateway", "ipv6.gateway"):
        parser.gateway(value, (where, path, each.line))
    elif _ROUTE.match(where):
        fields = [*value.replace(" ", "").split(","), "", ""]
        parser.route(fields[0], fields[1], fields[2], (where, path, each.line))
    elif not _SILENT.match(where):
        parser.leave(where, path, each.line)


def _method(parser: Parser, where: str, each: Assignment, path: str) -> None:
    if each.value in _STATIC:
        return
    if where == "ipv4.method":
        parser.dynamic = True
    else:
        parser.leave("%s=%s" % (where, "auto"), path, each.line)
