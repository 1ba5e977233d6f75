# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted state of a node's IPoIB interfaces: value types, and the parsers of their notations. Pure."""

from __future__ import annotations

import ipaddress
import re
import typing as t

from .._foreign import decimal, hexadecimal, is_true

MODES = ("auto", "datagram", "connected")
STATES = ("present", "absent")
KEYS = ("addresses", "bond", "dhcp", "mode", "mtu", "name", "parent", "pci", "pkey", "port_guid", "rail", "routes", "state")
BOND_KEYS = ("fail_over_mac", "miimon", "mode", "ports", "primary")
ROUTE_KEYS = ("metric", "to", "via")

# Linux: IPOIB_UD_MTU of a 4096-byte InfiniBand MTU, and IPOIB_CM_MTU. The minimum is 68 for IPv4 and 1280 for IPv6.
MTU_MIN = 68
MTU_MIN_IPV6 = 1280
MTU_MAX = {"datagram": 4092, "connected": 65520}

# The settings of a new ib_ipoib interface: the mode, and the MTU of a 2048-byte broadcast group.
KERNEL_MODE = "datagram"
KERNEL_MTU = 2044

# The default partition, of which every port is a full member.
DEFAULT_PKEY = 0xFFFF
# The membership bit of a P_Key. A full member can talk to all members of the partition, a limited one only to full members.
FULL_MEMBER = 0x8000

# Datagram MTUs that a broadcast group can impose: the InfiniBand MTU minus the 4 bytes of the IPoIB header.
GROUP_MTUS = (252, 508, 1020, 2044, 4092)

# IFNAMSIZ minus the terminating zero, and how many characters of the parent's name the kernel keeps in a child's.
NAME_MAX = 15
PARENT_KEPT = 10


# The only mode and policy of the bonding driver with which the kernel accepts IPoIB ports.
BOND_MODE = "active-backup"
BOND_POLICY = "active"
BOND_MIIMON = 100

_GUID = re.compile(r"^0[xX][0-9a-fA-F]{16}\Z")


class Route(t.NamedTuple):
    """A static route through an interface."""

    to: str
    """A network as `10.30.0.0/16`; a default route is `0.0.0.0/0` or `::/0`."""
    via: str = ""
    """The gateway; "" for a network that is directly on the link."""
    metric: int = 0
    """0 leaves the metric to the kernel."""

    @property
    def family(self) -> str:
        """The option of `ip` for the address family."""
        return "-%d" % version(self.to)

    def words(self, device: str = "") -> list[str]:
        """The arguments of `ip route`."""
        words = [self.to]
        for word, value in (("via", self.via), ("dev", device), ("metric", str(self.metric or ""))):
            words += [word, value] if value else []
        return words


class Bond(t.NamedTuple):
    """The properties of a bond. The mode is active-backup: the kernel accepts IPoIB ports in no other."""

    ports: tuple[str, ...]
    """IPoIB interfaces, or their P_Key children, in declared order."""
    primary: str = ""
    """The port that is preferred while it has a carrier; "" for none."""
    miimon: int = BOND_MIIMON
    """How often the carrier is checked, in ms."""

    @property
    def options(self) -> list[str]:
        """The options under their names in the bonding driver."""
        options = ["mode=" + BOND_MODE, "miimon=%d" % self.miimon, "fail_over_mac=" + BOND_POLICY]
        return [*options, "primary=" + self.primary] if self.primary else options


class Interface(t.NamedTuple):
    """The wanted state of one interface. Addresses are `ADDRESS/PREFIX` in Python's canonical spelling."""

    name: str
    mode: str = KERNEL_MODE
    """`auto` as declared; after `settled`, `datagram` or `connected`. For a bond: the mode of its ports."""
    mode_reason: str = ""
    """Why this mode was chosen; "" for a declared mode."""
    mtu: int = 0
    """0 leaves the MTU to the kernel."""
    addresses: tuple[str, ...] = ()
    parent: str = ""
    """The parent of a P_Key child."""
    pkey: int = 0
    routes: tuple[Route, ...] = ()
    bond: Bond | None = None
    """Set if the interface is a bond."""
    master: str = ""
    """The bond that the interface is a port of. Such an interface has no addresses and no routes."""
    present: bool = True
    dhcp: bool = False
    """Whether it gets an IPv4 address by DHCP, besides `addresses`."""

    @property
    def is_child(self) -> bool:
        return bool(self.parent)

    @property
    def is_limited(self) -> bool:
        """Whether it is a P_Key child with limited membership."""
        return self.is_child and not self.pkey & FULL_MEMBER


class Naming(t.NamedTuple):
    """An interface that is to have a user-defined name."""

    name: str
    guid: str
    """Port GUID, `0x0002c903000f0001`."""
    current: str = ""
    """The present name; "" where the interface does not exist yet."""
    place: str = ""
    """The PCI address of the port, if it is declared by that. In an image, where no port has a GUID yet, `guid` is "" then."""


class Wanted(t.NamedTuple):
    """The declared state of a node's IPoIB interfaces, with open choices settled for this node."""

    interfaces: tuple[Interface, ...] = ()
    """Parents before children, ports before bonds."""
    backend: str = ""
    """The back-end to use; "" where no interface is declared."""
    namings: tuple[Naming, ...] = ()
    rollback: bool = False
    """Whether changes may cut the management connection, because a timer reverts them."""
    dismissed: frozenset[str] | None = frozenset()
    """Interfaces that may be removed although none is declared beside them, because they are declared absent; None for all."""
    adopt: bool = False
    """Whether interfaces are taken over from the files of others."""
    restore: bool = False
    """Whether the files from which interfaces were taken over become what they were before."""
    interruption: bool = False
    """Whether interfaces that are taken over may go down for a moment."""
    image: bool = False
    """Whether this is the tree of an image, in which no interface exists."""


def parse_pkey(value: t.Any) -> int | None:
    """Parse a P_Key given as an integer or as hexadecimal text (`0x8001`, `8001`); None for anything else."""
    if isinstance(value, str):
        return hexadecimal(value) if re.match(r"^(0[xX])?[0-9a-fA-F]{1,4}\Z", value) else None
    return parse_number(value)


def parse_number(value: t.Any) -> int | None:
    """Parse an integer or its digits, which is what a template makes of it; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return decimal(value) if isinstance(value, str) and len(value) <= 10 else None


def parse_address(value: str) -> str:
    """`ADDRESS/PREFIX` in canonical spelling. Raises ValueError for anything else."""
    return str(ipaddress.ip_interface(value))


def is_address(value: str) -> bool:
    """Whether `parse_address` accepts it."""
    try:
        return bool(parse_address(value))
    except ValueError:
        return False


def version(value: str) -> int:
    """The IP version of an address, a network or an address with its prefix length, which has been validated."""
    return 6 if ":" in value else 4


def child_name(parent: str, pkey: int) -> str:
    """The name that the kernel gives to a child: `%.10s.%04x`."""
    return "%s.%04x" % (parent[:PARENT_KEPT], pkey)


def same_partition(one: int, other: int) -> bool:
    """Whether two P_Keys name the same partition: they may differ only in the membership bit."""
    return one & 0x7FFF == other & 0x7FFF


def is_guid(value: t.Any) -> bool:
    """Whether it is a port GUID, `0x0002c903000f0001`. No interface has such a name: it would be too long."""
    return isinstance(value, str) and _GUID.match(value) is not None


def is_reference(value: t.Any) -> bool:
    """Whether it is a name, or the port GUID that stands for one."""
    return is_name(value) or is_guid(value)


def is_name(value: t.Any) -> bool:
    # The kernel accepts more; such names would need quoting in the files of every back-end.
    return isinstance(value, str) and re.match(r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,14}\Z", value) is not None


def parse_route(item: t.Mapping[str, t.Any]) -> Route:
    """Parse one declared route. Raises ValueError or TypeError for what can't be read."""
    via = str(ipaddress.ip_address(item["via"])) if item.get("via") else ""
    default = "::/0" if ":" in via else "0.0.0.0/0"
    to = default if item["to"] == "default" else str(ipaddress.ip_network(item["to"]))
    return Route(to, via, parse_number(item.get("metric")) or 0)


def parse_bond(item: t.Mapping[str, t.Any]) -> Bond:
    """The bond of an entry that has passed `problems`."""
    return Bond(tuple(item["ports"]), item.get("primary") or "", parse_number(item.get("miimon")) or BOND_MIIMON)


def entry_of(item: t.Mapping[str, t.Any]) -> Interface:
    """Parse one entry that has passed `problems`. An interface without a name is named by its reference."""
    parent = item.get("parent") or ""
    pkey = parse_pkey(item.get("pkey")) or 0
    return Interface(
        name=item.get("name") or item.get("port_guid") or item.get("pci") or child_name(parent, pkey),
        addresses=tuple(parse_address(address) for address in item.get("addresses") or ()),
        mode=item.get("mode") or "auto",
        mtu=parse_number(item.get("mtu")) or 0,
        parent=parent,
        pkey=pkey,
        present=(item.get("state") or "present") == "present",
        routes=tuple(parse_route(route) for route in item.get("routes") or ()),
        bond=parse_bond(item["bond"]) if item.get("bond") is not None else None,
        dhcp=is_true(item.get("dhcp")),
    )


def interfaces_of(interfaces: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[Interface, ...]:
    """The declared interfaces, parents before children, ports before bonds. Expects input that has passed `problems`."""
    return together([entry_of(item) for item in interfaces])


def together(entries: t.Sequence[Interface]) -> tuple[Interface, ...]:
    """The entries completed: undeclared ports are added, and a bond shares one mode and one MTU with its ports."""
    found = {entry.name: entry for entry in entries}
    for bond in entries:
        if bond.bond is None or not bond.present:
            continue
        ports = [found.get(port) or Interface(port, "auto") for port in bond.bond.ports]
        mode = next((each.mode for each in (bond, *ports) if each.mode != "auto"), "auto")
        mtu = next((each.mtu for each in (bond, *ports) if each.mtu), 0)
        found[bond.name] = bond._replace(mode=mode, mtu=mtu)
        found.update((port.name, port._replace(mode=mode, mtu=mtu, master=bond.name)) for port in ports)
    return tuple(sorted(found.values(), key=lambda each: (each.bond is not None, each.is_child, each.name)))


def settled(declared: t.Sequence[Interface]) -> tuple[Interface, ...]:
    """The declared interfaces with open choices made: `auto` becomes datagram; a connected interface gets the largest MTU.

    Connected mode is never chosen here: ConnectX-4 and later don't support it, and large packets are lost on a fabric with two MTUs.
    A bond always gets an MTU, which its ports share: otherwise the kernel would create it with Ethernet's 1500 and force that on them.
    """
    found = []
    for item in declared:
        mode, reason = (KERNEL_MODE, "the default") if item.mode == "auto" else (item.mode, "declared")
        bonded = item.bond is not None or bool(item.master)
        mtu = MTU_MAX[mode] if mode == "connected" else (KERNEL_MTU if bonded else 0)
        found.append(item._replace(mode=mode, mode_reason=reason, mtu=item.mtu or mtu))
    return tuple(found)
