# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of a network back-end say about one interface, for a discovery. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .._foreign import decimal
from ._wanted import Route, is_address, parse_address, parse_route, version

NO = ("0", "no", "n", "false", "f", "off", "none", "disabled", "")


class Parsed(t.NamedTuple):
    """The settings that the collection has, and the names of those that it has not."""

    addresses: tuple[str, ...] = ()
    mtu: int = 0
    mode: str = ""
    """"" where the files do not tell."""
    routes: tuple[Route, ...] = ()
    dynamic: bool = False
    """Whether it gets addresses from others, as by DHCP."""
    left: tuple[str, ...] = ()
    """The settings without a variable, with file and line, without their values: those may be secret."""


class Where(t.NamedTuple):
    """The place of a setting."""

    setting: str
    path: str
    line: int = 0

    def __str__(self) -> str:
        return "%s (%s%s)" % (self.setting, self.path, " line %d" % self.line if self.line else "")


class Parser:
    """Collects the settings of one interface."""

    def __init__(self) -> None:
        self._addresses: list[str] = []
        self._routes: list[Route] = []
        self._left: list[str] = []
        self.mtu = 0
        self.mode = ""
        self.dynamic = False

    def leave(self, where: Where) -> None:
        self._left.append(str(where))

    def address(self, text: str, where: Where) -> None:
        """An address with its prefix length; one without has that of a host."""
        whole = text if "/" in text else "%s/%d" % (text, 128 if ":" in text else 32)
        if is_address(whole):
            self._addresses.append(parse_address(whole))
        else:
            self.leave(where)

    def size(self, text: str, where: Where) -> None:
        """An MTU in bytes."""
        self.mtu = decimal(text, 0)
        if not self.mtu and text not in NO:
            self.leave(where)

    def route(self, to: str, *, via: str, metric: str, where: Where) -> None:
        """A route. The texts are those of the file."""
        gateway = "" if via in ("-", "0.0.0.0", "::") else via
        item = {"to": to, **({"via": gateway} if gateway else {}), **({"metric": metric} if metric not in ("", "0", "-") else {})}
        try:
            route = parse_route(item)
        except (TypeError, ValueError):
            self.leave(where)
            return
        if version(route.to) == 6 and not gateway and to == "default":
            route = route._replace(to="::/0")
        self._routes.append(route)

    def gateway(self, via: str, where: Where) -> None:
        """A default route."""
        if via not in ("", "0.0.0.0", "::"):
            self.route("default", via=via, metric="", where=where)

    def parsed(self) -> Parsed:
        return Parsed(
            tuple(dict.fromkeys(self._addresses)), self.mtu, self.mode, tuple(dict.fromkeys(self._routes)), self.dynamic, tuple(dict.fromkeys(self._left))
        )


def with_netmask(address: str, netmask: str) -> str:
    """An address with the prefix length of a netmask, `255.255.255.0` or `24`; the address alone where it is none."""
    if "/" in address or not netmask:
        return address
    try:
        return "%s/%d" % (address, ipaddress.ip_network("%s/%s" % ("::" if ":" in address else "0.0.0.0", netmask)).prefixlen)
    except ValueError:
        return address
