# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What is wrong with the bond and the routes of one entry. Pure."""

from __future__ import annotations

import difflib
import ipaddress
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import decimal
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted

BOND_FORM = "a mapping with ports, for example {ports: [ib0, ib1], primary: ib0}"
PORTS_FORM = "a list of one or more interfaces, each by its name or port GUID"
ROUTE_FORM = "a mapping such as {to: 10.30.0.0/16, via: 10.20.0.254, metric: 100}"
MIIMON_MAX = 60000
METRIC_MAX = 2**32 - 1


def bond_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    bond, path = item.get("bond"), path + ".bond"
    if bond is None:
        return []
    if not isinstance(bond, t.Mapping):
        return [Problem(path, bond, BOND_FORM)]
    found = unknown_keys(path, bond, _wanted.BOND_KEYS)
    if item.get("parent") is not None or item.get("pkey") is not None:
        hint = "the kernel makes P_Key children on ports only: make them there, and bond the children"
        found.append(Problem(path, bond, "an interface that is no P_Key child", hint))
    if item.get("name") is None:
        found.append(Problem(path, bond, "an entry with a name: that of the bond"))
    found += _port_problems(path, bond, item.get("name"))
    if bond.get("mode") not in (None, _wanted.BOND_MODE):
        found.append(Problem(path + ".mode", bond["mode"], _wanted.BOND_MODE, "the kernel takes IPoIB interfaces into a bond of no other mode"))
    if bond.get("fail_over_mac") not in (None, _wanted.BOND_POLICY):
        hint = "an IPoIB interface can't take over the hardware address of another, so the kernel allows nothing else"
        found.append(Problem(path + ".fail_over_mac", bond["fail_over_mac"], _wanted.BOND_POLICY, hint))
    miimon = bond.get("miimon")
    if miimon is not None and not 1 <= (_wanted.parse_number(miimon) or 0) <= MIIMON_MAX:
        hint = "without it, nothing notices that a port has lost its link" if miimon in (0, "0") else ""
        found.append(Problem(path + ".miimon", miimon, "1 to %d ms" % MIIMON_MAX, hint))
    return found


def _port_problems(path: str, bond: t.Mapping[str, t.Any], name: t.Any) -> list[Problem]:
    ports, primary = bond.get("ports"), bond.get("primary")
    if not isinstance(ports, (list, tuple)) or not ports:
        return [Problem(path + ".ports", ports, PORTS_FORM)]
    found = []
    for position, port in enumerate(ports):
        where = "%s.ports[%d]" % (path, position)
        if not _wanted.is_reference(port):
            found.append(Problem(where, port, "the name of a network interface, or its port GUID"))
        elif port == name:
            found.append(Problem(where, port, "an interface other than the bond itself"))
        elif port in ports[:position]:
            found.append(Problem(where, port, "each port once"))
    if primary is not None and primary not in ports:
        found.append(Problem(path + ".primary", primary, "one of the ports: " + ", ".join(str(port) for port in ports)))
    return found


def route_problems(path: str, item: t.Mapping[str, t.Any]) -> list[Problem]:
    return listed(path, item.get("routes"), form=ROUTE_FORM, check=lambda where, route: _route_problems(where, route, item.get("addresses")))


def _route_problems(path: str, route: t.Any, addresses: t.Any) -> list[Problem]:
    if not isinstance(route, t.Mapping):
        return [Problem(path, route, ROUTE_FORM)]
    found = unknown_keys(path, route, _wanted.ROUTE_KEYS)
    to, via, metric = route.get("to"), route.get("via"), route.get("metric")
    network = gateway = None
    if to != "default":
        try:
            network = _network(to)
        except ValueError as exc:
            found.append(Problem(path + ".to", to, "a network such as 10.30.0.0/16, or default", str(exc)))
    if via is not None:
        gateway = _gateway(via)
        if gateway is None:
            found.append(Problem(path + ".via", via, "the address of a gateway, such as 10.20.0.254"))
    elif to == "default":
        found.append(Problem(path + ".via", via, "the address of a gateway", "a default route needs one"))
    if network is not None and gateway is not None and network.version != gateway.version:
        found.append(Problem(path + ".via", via, "an IPv%d address, as %s" % (network.version, to)))
    elif gateway is not None and not _reachable(gateway, addresses):
        found.append(Problem(path + ".via", via, "an address in a network of this interface", "the kernel takes no gateway that it can't reach over it"))
    if metric is not None and not 1 <= (_wanted.parse_number(metric) or 0) <= METRIC_MAX:
        found.append(Problem(path + ".metric", metric, "1 to %d" % METRIC_MAX))
    return found


def _network(to: t.Any) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Raises ValueError, with the reason where that is not plain."""
    if not isinstance(to, str) or ("/" in to and decimal(to.split("/", 1)[1]) is None):
        raise ValueError
    return ipaddress.ip_network(to)


def _gateway(via: t.Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(via) if isinstance(via, str) and "%" not in via else None
    except ValueError:
        return None


def _reachable(gateway: ipaddress.IPv4Address | ipaddress.IPv6Address, addresses: t.Any) -> bool:
    """Link-local gateways are always on the link; addresses that are wrong are reported elsewhere."""
    if gateway.version == 6 and gateway.is_link_local:
        return True
    for address in addresses if isinstance(addresses, (list, tuple)) else ():
        try:
            network = ipaddress.ip_interface(address).network
        except (ValueError, TypeError):
            return True
        if network.version == gateway.version and gateway in network:
            return True
    return False


def listed(path: str, value: t.Any, *, form: str, check: t.Callable[[str, t.Any], list[Problem]]) -> list[Problem]:
    """A list, where there is one, with what `check` says of each entry and its place."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return [Problem(path, value, "a list, each entry " + form)]
    return [problem for position, entry in enumerate(value) for problem in check("%s[%d]" % (path, position), entry)]


def unknown_keys(path: str, item: t.Mapping[str, t.Any], keys: t.Sequence[str]) -> list[Problem]:
    found = []
    for key in sorted(str(key) for key in item if key not in keys):
        near = difflib.get_close_matches(key, keys, n=1)
        found.append(Problem("%s.%s" % (path, key), item.get(key), "one of the keys " + ", ".join(keys), "did you mean %s?" % near[0] if near else ""))
    return found
