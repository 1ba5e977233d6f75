# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""`ip -j` and `rdma -j` of iproute2: network interfaces, routes, and the interfaces of RDMA devices."""

from __future__ import annotations

import typing as t

from .._errors import UnexpectedOutput
from .._foreign import decimal, hexadecimal, read_json

if t.TYPE_CHECKING:
    from .._host._run import Runner

LINKS = ("ip", "-j", "-d", "addr")
RDMA_LINKS = ("rdma", "-j", "link")
_MODES = ("datagram", "connected")


class Link(t.NamedTuple):
    """One interface in netlink's view. It is the only source for P_Key children created through netlink."""

    name: str
    kind: str = ""
    """`ipoib`, `bond`, `vlan`, `bridge` ...; "" for plain hardware."""
    parent: str = ""
    """The interface below a child or VLAN."""
    master: str = ""
    pkey: str = ""
    mode: str = ""
    addresses: tuple[str, ...] = ()
    """`10.1.0.1/24`, as configured; without IPv6 link-local addresses, which the kernel adds."""
    dynamic_addresses: tuple[str, ...] = ()
    """The same for addresses with a lease, from DHCP or router advertisements."""


def _text(value: t.Any) -> str:
    return value if isinstance(value, str) else ""


def _table(value: t.Any) -> dict[str, t.Any]:
    return value if isinstance(value, dict) else {}


def _rows(stdout: str, what: str) -> list[dict[str, t.Any]]:
    if not stdout.strip():
        return []
    rows = read_json(stdout)
    if not isinstance(rows, list):
        raise UnexpectedOutput("%s printed no list in JSON: %r" % (what, stdout[:80]))
    # Versions before 4.19 print an empty object for a filtered interface.
    return [row for row in rows if isinstance(row, dict) and row]


def _pkey(info: dict[str, t.Any]) -> str:
    # iproute2 prints the P_Key as "key" in JSON and "pkey" in text.
    value = info.get("pkey", info.get("key"))
    if isinstance(value, str):
        value = hexadecimal(value)
    return "0x%04x" % value if isinstance(value, int) and 0 <= value <= 0xFFFF else ""


def _addresses(row: dict[str, t.Any], dynamic: bool) -> tuple[str, ...]:
    infos = row.get("addr_info")
    found = []
    for info in infos if isinstance(infos, list) else []:
        if not isinstance(info, dict) or not isinstance(info.get("local"), str):
            continue
        if info.get("family") == "inet6" and info.get("scope") == "link":
            continue
        if bool(info.get("dynamic")) == dynamic:
            found.append("%s/%s" % (info["local"], info.get("prefixlen")))
    return tuple(sorted(found))


def parse_links(stdout: str) -> dict[str, Link]:
    """Parse `ip -j -d addr`: interfaces by name. Raises UnexpectedOutput where it is no JSON list."""
    links = {}
    for row in _rows(stdout, " ".join(LINKS)):
        name = _text(row.get("ifname"))
        if not name:
            continue
        linkinfo = _table(row.get("linkinfo"))
        data = _table(linkinfo.get("info_data"))
        kind = _text(linkinfo.get("info_kind"))
        mode = data.get("mode")
        links[name] = Link(
            name=name,
            kind=kind,
            parent=_text(row.get("link")),
            master=_text(row.get("master")),
            pkey=_pkey(data) if kind == "ipoib" else "",
            mode=mode if kind == "ipoib" and mode in _MODES else "",
            addresses=_addresses(row, dynamic=False),
            dynamic_addresses=_addresses(row, dynamic=True),
        )
    return links


def parse_rdma_netdevs(stdout: str) -> dict[str, str]:
    """Parse `rdma -j link`: the network interface of each RDMA device, "" where it has none. Raises UnexpectedOutput."""
    names = {_text(row.get("ifname")): _text(row.get("netdev")) for row in _rows(stdout, " ".join(RDMA_LINKS))}
    # iproute2 before 5.0 prints DEVICE/PORT.
    return {name.split("/", 1)[0]: netdev for name, netdev in names.items() if name}


def parse_route_device(stdout: str) -> str:
    """Parse `ip -j route get ADDRESS`: the outgoing device; "" where there is no route."""
    return next((str(row["dev"]) for row in _rows(stdout, "ip -j route get") if isinstance(row.get("dev"), str)), "")


RULES = ("ip", "-4", "-j", "rule")
ADDRESSES = ("ip", "-4", "-j", "address", "show", "up")


def table_of(table: int) -> tuple[str, ...]:
    """The command that prints the IPv4 routes of a table. It fails where there is no such table."""
    return ("ip", "-4", "-j", "route", "show", "table", str(table))


class RuleRow(t.NamedTuple):
    """One rule that selects a routing table."""

    priority: int
    source: str
    """An address or a network; "" for all packets."""
    table: int
    """0 where it has a name."""


def parse_rules(stdout: str) -> list[RuleRow]:
    """Parse `RULES`. Raises UnexpectedOutput."""
    found = []
    for row in _rows(stdout, " ".join(RULES)):
        source, length, priority = _text(row.get("src")), row.get("srclen"), row.get("priority")
        if isinstance(priority, int):
            source = "" if source in ("", "all") else "%s/%s" % (source, length) if isinstance(length, int) and length != 32 else source
            found.append(RuleRow(priority, source, decimal(str(row.get("table")), 0)))
    return found


def parse_table(stdout: str) -> list[tuple[str, str]]:
    """Parse the output of `table_of`: the destinations with their interfaces. Raises UnexpectedOutput."""
    rows = [(_text(row.get("dst")), _text(row.get("dev"))) for row in _rows(stdout, "ip -4 -j route show table")]
    return [(to, device) for to, device in rows if to and device]


def parse_up(stdout: str) -> list[tuple[str, str]]:
    """Parse `ADDRESSES`: the interfaces that are up, with their addresses without prefix length. Raises UnexpectedOutput."""
    found = []
    for row in _rows(stdout, " ".join(ADDRESSES)):
        infos = row.get("addr_info")
        found += [(_text(row.get("ifname")), _text(info.get("local"))) for info in (infos if isinstance(infos, list) else []) if isinstance(info, dict)]
    return found


class RouteRow(t.NamedTuple):
    """One route of the main table."""

    device: str
    to: str
    """`10.30.0.0/16`; a default route is `0.0.0.0/0` or `::/0`."""
    via: str = ""
    metric: int = 0


# The protocols of configured routes: systemd-networkd, NetworkManager, and "ip route add" without a protocol.
_CONFIGURED = ("static", "boot")


def parse_static_routes(stdout: str, version: int) -> list[RouteRow]:
    """Parse `ip -4 -j route show`: the configured routes, without those of the kernel, DHCP and routing daemons."""
    found = []
    for row in _rows(stdout, "ip -j route show"):
        to, device = row.get("dst"), row.get("dev")
        if not isinstance(to, str) or not isinstance(device, str) or row.get("protocol", "boot") not in _CONFIGURED:
            continue
        if row.get("type", "unicast") != "unicast":
            continue
        if to == "default":
            to = "::/0" if version == 6 else "0.0.0.0/0"
        elif "/" not in to:
            to += "/128" if version == 6 else "/32"
        metric = row.get("metric")
        found.append(RouteRow(device, to, _text(row.get("gateway")), metric if isinstance(metric, int) else 0))
    return found


def read_static_routes(run: Runner) -> tuple[RouteRow, ...]:
    """The configured routes of both families, in two processes."""
    if not run.has("ip"):
        return ()
    found: list[RouteRow] = []
    for version in (4, 6):
        # A kernel without IPv6 returns an error.
        output = run(["ip", "-%d" % version, "-j", "route", "show", "table", "main"], ok=None, timeout=10)
        found += parse_static_routes(output.stdout, version) if output.rc == 0 else []
    return tuple(found)


def read_links(run: Runner) -> dict[str, Link]:
    """All interfaces, from one process; none where iproute2 is not installed."""
    if not run.has("ip"):
        return {}
    return parse_links(run(LINKS, timeout=10).stdout)


def route_device(run: Runner, address: str) -> str:
    """The outgoing device for packets to `address`; "" if unknown."""
    if not run.has("ip"):
        return ""
    output = run(["ip", "-j", "route", "get", address], ok=None, timeout=10)
    return parse_route_device(output.stdout) if output.rc == 0 else ""
