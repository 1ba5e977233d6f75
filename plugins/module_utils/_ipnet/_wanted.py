# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What IPoIB wants of a node's network. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from .._foreign import decimal, is_true
from .._ipoib._wanted import child_name, is_guid, is_name, parse_address, parse_pkey, version
from ._firewall._wanted import Trusted
from ._routing._wanted import Source, sources_of

AUTO, KEEP, TRUSTED = "auto", "keep", "trusted"
MOST_NEIGHBOURS = 1_000_000
# The group whose hosts count, unless rdma_hosts names another one.
_GROUP = "rdma"
# Addresses of no subnet.
_HOST_BITS = {4: 32, 6: 128}


class Reference(t.NamedTuple):
    """How a declaration refers to an interface."""

    name: str = ""
    place: str = ""
    """The port GUID or PCI address."""
    parent: str = ""
    pkey: int = 0

    @property
    def places(self) -> tuple[str, ...]:
        """What has to be looked up on the node."""
        return tuple(place for place in ("" if self.name else self.place, self.parent if is_guid(self.parent) else "") if place)

    def on(self, named: t.Mapping[str, str]) -> str:
        """The name of the interface on a node; "" where it is unknown there. `named`: names by port GUID or PCI address."""
        if self.name or not self.parent:
            name = self.name or named.get(self.place, "")
        else:
            parent = named.get(self.parent, "") if is_guid(self.parent) else self.parent
            name = child_name(parent, self.pkey) if parent else ""
        # The kernel accepts names that no back-end can configure.
        return name if is_name(name) else ""


class Wanted(t.NamedTuple):
    """The declared state. All of it is empty where the state is absent."""

    shared: tuple[str, ...] = ()
    """The interfaces with an IPv4 address in a subnet in which another one of the host has an address, too."""
    neighbours: t.Mapping[int, int] = {}
    """By IP version: how many neighbours the kernel is to remember. Without a version, its limits are left alone."""
    unsized: bool = False
    """Whether the size of the inventory is unknown: limits of an earlier run stay."""
    names: frozenset[str] = frozenset()
    """All interfaces with addresses."""
    late: frozenset[str] = frozenset()
    """Those of `shared` that may get their name only at the next boot."""
    trusted: Trusted = Trusted()
    sources: tuple[Source, ...] = ()
    """Empty unless policy routing is declared."""


def reference_of(item: t.Any) -> Reference | None:
    """The reference in one declared entry; None where the entry is malformed, or has no addresses of its own."""
    if not isinstance(item, dict) or item.get("state") == "absent" or not item.get("addresses"):
        return None
    name, parent = item.get("name") or "", item.get("parent") or ""
    place = item.get("port_guid") or item.get("pci") or ""
    pkey = parse_pkey(item.get("pkey")) if item.get("pkey") is not None else 0
    if not all(isinstance(word, str) for word in (name, parent, place)) or pkey is None:
        return None
    return Reference(name, place, parent, pkey)


def hosts_of(groups: t.Mapping[str, t.Collection[str]], group: t.Any = None) -> int:
    """The number of hosts that an inventory declares, 1 or more. `group`: the variable `rdma_hosts`; where it is no group, all hosts count."""
    return max(1, len(groups.get(str(group or _GROUP)) or groups.get("all") or ()))


def counted(neighbours: t.Any, groups: t.Mapping[str, t.Collection[str]], group: t.Any = None) -> t.Any:
    """The value of the option `neighbours`, with the number of hosts in place of `auto`."""
    return str(hosts_of(groups, group)) if neighbours == AUTO else neighbours


def wanted_of(options: t.Mapping[str, t.Any], named: t.Mapping[str, str]) -> Wanted:
    """The wanted state, from options that have passed `problems`. `named`: names of interfaces by port GUID or PCI address."""
    if options["state"] == "absent":
        return Wanted()
    addresses: dict[str, tuple[str, ...]] = {}
    late = set()
    for item in options["interfaces"]:
        reference = reference_of(item)
        name = reference.on(named) if reference is not None else ""
        if reference is not None and name:
            addresses[name] = tuple(parse_address(address) for address in item["addresses"])
            late.update([name] if reference.name and reference.place else [])
    in_common = _shared(addresses)
    shared = in_common if options["arp"] == AUTO else ()
    hosts = decimal(str(options["neighbours"]), 0)
    counts = {family: sum(any(version(address) == family for address in own) for own in addresses.values()) for family in (4, 6)}
    neighbours = {family: hosts * count for family, count in counts.items() if hosts * count}
    names = frozenset(addresses)
    trusted = Trusted(names, str(options["firewall_zone"])) if options["firewall"] == TRUSTED else Trusted()
    sources = sources_of(in_common, addresses) if is_true(options["policy_routing"]) else ()
    return Wanted(shared, neighbours, options["neighbours"] == AUTO, names=names, late=frozenset(late) & frozenset(shared), trusted=trusted, sources=sources)


def _shared(addresses: t.Mapping[str, t.Sequence[str]]) -> tuple[str, ...]:
    networks = {
        name: [
            network for network in (ipaddress.ip_interface(address).network for address in own) if network.version == 4 and network.prefixlen < _HOST_BITS[4]
        ]
        for name, own in addresses.items()
    }
    pairs = ((one, other) for one in networks for other in networks if one != other)
    return tuple(sorted({one for one, other in pairs if any(mine.overlaps(theirs) for mine in networks[one] for theirs in networks[other])}))
