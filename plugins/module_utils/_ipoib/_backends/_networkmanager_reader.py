# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager: what its keyfiles say about an interface. The inverse of the renderer. Pure."""

from __future__ import annotations

import re
import typing as t

from .._parsed import Parsed, Parser, Where
from ._assignments import assigned
from ._networkmanager import is_ours, zoned

_ADDRESS = re.compile(r"ipv[46]\.address(es)?[0-9]*\Z")
_ROUTE = re.compile(r"ipv[46]\.routes?[0-9]*\Z")
_METHOD = re.compile(r"ipv[46]\.method\Z")
_STATIC = ("manual", "disabled", "ignore", "link-local", "shared")
# What identifies a profile or an interface, what the collection writes itself, and what nmcli writes of its own accord.
_SILENT = re.compile(
    r"(connection\.(id|uuid|type|interface-name|autoconnect|autoconnect-slaves|autoconnect-ports|autoconnect-priority|master|controller"
    r"|slave-type|port-type|timestamp|permissions|llmnr|mdns)"
    r"|infiniband\.(p-key|parent|mac-address)|bond\.(mode|miimon|fail_over_mac|primary)|ipv[46]\.may-fail|ipv6\.(addr-gen-mode|ip6-privacy)"
    r"|user\.rdma\.ofed\.interface|ethernet\.mac-address-blacklist|ipv4\.dns-search|ipv6\.dns-search|\..*)\Z"
)


def parse(name: str, paths: t.Sequence[str], files: t.Mapping[str, str]) -> Parsed:
    """The settings of an interface. `paths`: its keyfiles."""
    parser = Parser()
    for path in paths:
        text = files.get(path, "")
        # A zone in a profile of ours is kept.
        for each in assigned(zoned(text, "") if is_ours(path, text) else text):
            _one(parser, each.value.rstrip(";"), Where("%s.%s" % (each.section, each.key), path, each.line))
    return parser.parsed()


def _one(parser: Parser, value: str, where: Where) -> None:
    key = where.setting
    if key in ("infiniband.mtu", "ethernet.mtu"):
        parser.size(value, where)
    elif key == "infiniband.transport-mode":
        parser.mode = value
    elif _METHOD.match(key):
        _method(parser, value, where)
    elif _ADDRESS.match(key):
        for item in filter(None, value.split(";")):
            # A gateway may follow.
            address, _comma, gateway = item.replace(" ", "").partition(",")
            parser.address(address, where)
            parser.gateway(gateway, where)
    elif key in ("ipv4.gateway", "ipv6.gateway"):
        parser.gateway(value, where)
    elif _ROUTE.match(key):
        fields = [*value.replace(" ", "").split(","), "", ""]
        parser.route(fields[0], via=fields[1], metric=fields[2], where=where)
    elif not _SILENT.match(key):
        parser.leave(where)


def _method(parser: Parser, value: str, where: Where) -> None:
    if value in _STATIC:
        return
    if where.setting == "ipv4.method":
        parser.dynamic = True
    else:
        parser.leave(where._replace(setting="%s=%s" % (where.setting, value)))
