# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Network interfaces that belong to RDMA ports, from /sys/class/net and netlink.

Files of an interface are opened by name, and directories are not listed: their content differs between kernels and between the two
ways to create a P_Key child.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._errors import RdmaError
from .._foreign import integer
from .._tools._ip import Link, read_links
from ._apart import SMI
from ._connected import HWADDR, Capability, connected_capability, of_driver, silent_cause
from ._ports import Port, read_ports
from ._sysfs import attribute, entries, guid, link_name, real_path

if t.TYPE_CHECKING:
    from .._host._run import Runner

# ARPHRD_INFINIBAND of if_arp.h; a bond of IPoIB interfaces has it, too.
INFINIBAND = "32"
_IFF_UP = 1
_REPRESENTOR = re.compile(r"^(c\d+)?pf\d+(vf|sf)\d+$")
# Drivers that serve both Ethernet and InfiniBand, and are part of every RDMA stack.
HCA_DRIVERS = ("mlx4_core", "mlx5_core", "mlx5_core.sf")
_KINDS = {"bond": "bond", "vlan": "vlan", "bridge": "bridge", "team": "team"}


class Netdev(t.NamedTuple):
    name: str
    kind: str
    """`ipoib`, `ipoib_child` (a P_Key child), `bond`, `vlan`, `bridge`, `team`, `ethernet` or `other`."""
    port: str = ""
    """The RDMA port below it, `mlx5_0/1`; "" where there is none or several (see `members`)."""
    port_guid: str = ""
    parent: str = ""
    """The interface below a P_Key child or VLAN."""
    pkey: str = ""
    mode: str = ""
    """`datagram` or `connected`; "" for an interface that is not IPoIB."""
    mtu: int = 0
    up: bool = False
    """Whether it is administratively up (IFF_UP)."""
    carrier: bool = False
    addresses: tuple[str, ...] = ()
    dynamic_addresses: tuple[str, ...] = ()
    master: str = ""
    """The bond, bridge or team that it is a member of."""
    members: tuple[str, ...] = ()
    """The members of a bond, bridge or team."""
    hwaddr: str = ""
    driver: str = ""
    connected_capable: bool = False
    connected_reason: str = ""


def hwaddr_guid(hwaddr: str) -> str:
    """The port GUID in a 20-byte hardware address: its last 8 bytes, the only constant part; "" for other addresses."""
    hwaddr = hwaddr.strip().lower()
    return guid("".join(hwaddr.split(":")[12:])) if HWADDR.match(hwaddr) else ""


def find_port(ports: t.Sequence[Port], port_guid: str, *, device_ports: t.Sequence[Port], dev_port: int | None) -> Port | None:
    """The port of an IPoIB interface.

    The port GUID decides; of two devices with the same GUID, one in `device_ports` is preferred, the ports on the interface's own
    PCI function. Without a match, the port on that function with the same number is used (`dev_port` counts from 0).
    """
    same_guid = [port for port in ports if port_guid and port.port_guid == port_guid and port.infiniband and port.apart != SMI]
    best = [port for port in same_guid if port in device_ports] or same_guid
    best = best or [port for port in device_ports if port.infiniband and port.port - 1 == (dev_port or 0)]
    return best[0] if best else None


class _Tree:
    """/sys/class/net and the devices of the RDMA ports below one root."""

    def __init__(self, root: str, ports: t.Sequence[Port], links: t.Mapping[str, Link]) -> None:
        self.base = os.path.join(root, "sys/class/net")
        self._rdma = os.path.join(root, "sys/class/infiniband")
        self.links = links
        self.ports = ports
        self.names = [name for name in entries(self.base) if os.path.isdir(os.path.join(self.base, name))]
        self._devices = {device: real_path(self._rdma, device, "device") for device in {port.device for port in ports}}
        self.roce = {self._roce_netdev(port): port for port in ports if not port.infiniband}

    def _roce_netdev(self, port: Port) -> str:
        # The GID table names the interface; rxe also has a file of its own.
        attrs = os.path.join(self._rdma, port.device, "ports", str(port.port), "gid_attrs/ndevs/0")
        return attribute(attrs) or attribute(self._rdma, port.device, "parent")

    def get(self, name: str, file: str) -> str:
        return attribute(self.base, name, file)

    def device(self, name: str) -> str:
        return real_path(self.base, name, "device")

    def link(self, name: str) -> Link:
        return self.links.get(name, Link(name))

    def hca_type(self, port: Port) -> str:
        return attribute(self._rdma, port.device, "hca_type")

    def master(self, name: str) -> str:
        return link_name(self.base, name, "master") or self.link(name).master

    def device_ports(self, name: str) -> list[Port]:
        device = self.device(name)
        return [port for port in self.ports if device and self._devices[port.device] == device]

    def parent(self, name: str) -> str:
        found = self.get(name, "parent") or self.link(name).parent
        if found:
            return found
        # Children created through netlink have no "parent" file, but every kernel gives the index of the parent as iflink.
        iflink = self.get(name, "iflink")
        return next((other for other in self.names if other != name and iflink and self.get(other, "ifindex") == iflink), "")


def _on(netdev: Netdev, port: Port | None) -> Netdev:
    """The interface with its port, if it has one."""
    return netdev._replace(port=port.name, port_guid=port.port_guid) if port else netdev


def _infiniband(tree: _Tree, netdev: Netdev, refused: str) -> Netdev:
    link = tree.link(netdev.name)
    parent = tree.parent(netdev.name)
    port_guid = hwaddr_guid(netdev.hwaddr)
    device_ports = tree.device_ports(netdev.name) or tree.device_ports(parent)
    port = find_port(tree.ports, port_guid, device_ports=device_ports, dev_port=integer(tree.get(netdev.name, "dev_port")))
    pkey = integer(tree.get(netdev.name, "pkey"))
    mode = tree.get(netdev.name, "mode") or link.mode
    hca_type = tree.hca_type(port) if port is not None else ""
    capable, reason = connected_capability(netdev.hwaddr, mode, refused, cause=silent_cause(netdev.driver, hca_type))
    found = netdev._replace(
        kind="ipoib_child" if parent else "ipoib",
        port_guid=port_guid,
        parent=parent,
        pkey="0x%04x" % pkey if pkey is not None else link.pkey,
        mode=mode,
        connected_capable=capable,
        connected_reason=reason,
    )
    return _on(found, port)


def _ethernet(tree: _Tree, netdev: Netdev) -> Netdev:
    port = tree.roce.get(netdev.name)
    if port is None and not _REPRESENTOR.match(tree.get(netdev.name, "phys_port_name")):
        dev_port = integer(tree.get(netdev.name, "dev_port")) or 0
        port = next((port for port in tree.device_ports(netdev.name) if not port.infiniband and port.port - 1 == dev_port), None)
    kind = "ethernet" if tree.device(netdev.name) else _KINDS.get(tree.link(netdev.name).kind, "other")
    return _on(netdev._replace(kind=kind, parent=tree.link(netdev.name).parent), port)


def _read(tree: _Tree, name: str, *, members: tuple[str, ...], refused: str) -> Netdev:
    netdev = Netdev(
        name=name,
        kind="other",
        mtu=integer(tree.get(name, "mtu")) or 0,
        up=bool((integer(tree.get(name, "flags")) or 0) & _IFF_UP),
        carrier=tree.get(name, "carrier") == "1",
        addresses=tree.link(name).addresses,
        dynamic_addresses=tree.link(name).dynamic_addresses,
        master=tree.master(name),
        members=members,
        hwaddr=tree.get(name, "address").lower(),
        driver=link_name(tree.base, name, "device/driver"),
        connected_reason="it is not an IPoIB interface",
    )
    if tree.link(name).kind == "bond" or os.path.isdir(os.path.join(tree.base, name, "bonding")):
        return _on(netdev._replace(kind="bond", connected_reason="it is a bond: its members decide"), tree.roce.get(name))
    if tree.get(name, "type") == INFINIBAND:
        return _infiniband(tree, netdev, refused)
    return _ethernet(tree, netdev)


def _relevant(netdevs: t.Sequence[Netdev]) -> set[str]:
    """InfiniBand and hardware interfaces, and those on top of them. The hundreds of veth pairs of a container host are left out."""
    keep = {netdev.name for netdev in netdevs if netdev.kind in ("ipoib", "ipoib_child", "bond", "ethernet") or netdev.port}
    while True:
        more = {netdev.name for netdev in netdevs if netdev.parent in keep or keep & set(netdev.members)} - keep
        if not more:
            return keep
        keep |= more


def read_netdevs(root: str = "/", ports: t.Sequence[Port] = (), *, links: t.Mapping[str, Link] | None = None, refused: str = "") -> tuple[Netdev, ...]:
    """The interfaces of RDMA ports, other hardware, and bonds, VLANs and bridges of these, by name.

    `links` comes from `_ip.read_links` and includes the addresses. `refused` is `_stack.connected_refused`:
    why this stack does not support connected mode, whatever the hardware announces.
    """
    tree = _Tree(root, ports, links or {})
    masters: dict[str, list[str]] = {}
    for name in tree.names:
        masters.setdefault(tree.master(name), []).append(name)
    found = [_read(tree, name, members=tuple(masters.get(name, ())), refused=refused) for name in tree.names if name != "lo"]
    keep = _relevant(found)
    return tuple(netdev for netdev in found if netdev.name in keep)


def seen_netdevs(run: Runner, root: str) -> tuple[Netdev, ...]:
    """The same for all ports. A failure to list links is ignored, because sysfs shows bonds and children, too."""
    try:
        links = read_links(run)
    except RdmaError:
        links = {}
    return read_netdevs(root, read_ports(root), links=links)


def with_netdevs(ports: t.Sequence[Port], netdevs: t.Sequence[Netdev]) -> tuple[Port, ...]:
    """The ports with the names of their interfaces."""
    return tuple(port._replace(netdevs=tuple(netdev.name for netdev in netdevs if netdev.port == port.name)) for port in ports)


def port_capability(port: Port, netdevs: t.Sequence[Netdev], *, driver: str, hca_type: str, refused: str = "") -> Capability:
    """The capability of a port: that of its interface or, without an interface, that of its driver."""
    if not port.infiniband:
        return Capability(False, "its link layer is %s, and IPoIB needs InfiniBand" % port.link_layer)
    for netdev in netdevs:
        if netdev.kind == "ipoib" and netdev.port == port.name:
            return Capability(netdev.connected_capable, "%s: %s" % (netdev.name, netdev.connected_reason))
    return of_driver(driver, hca_type, refused)


def with_capability(ports: t.Sequence[Port], netdevs: t.Sequence[Netdev], *, refused: str = "", root: str = "/") -> tuple[Port, ...]:
    """The ports with what is known about connected mode."""
    found = []
    for port in ports:
        base = os.path.join(root, "sys/class/infiniband", port.device)
        capability = port_capability(port, netdevs, driver=link_name(base, "device/driver"), hca_type=attribute(base, "hca_type"), refused=refused)
        found.append(port._replace(connected_capable=capability.capable, connected_reason=capability.reason))
    return tuple(found)


def below(name: str, netdevs: t.Sequence[Netdev]) -> tuple[Netdev, ...]:
    """The interface itself and all interfaces below it: members of a bond, the parent of a child or VLAN."""
    by_name = {netdev.name: netdev for netdev in netdevs}
    found: dict[str, Netdev] = {}
    todo = [name]
    while todo:
        netdev = by_name.get(todo.pop())
        if netdev is not None and netdev.name not in found:
            found[netdev.name] = netdev
            todo += [*netdev.members, netdev.parent]
    return tuple(found.values())


def over_rdma(name: str, netdevs: t.Sequence[Netdev]) -> bool:
    """Whether the interface depends on an RDMA adapter. An Ethernet function counts: its driver is unloaded with the stack."""
    return any(netdev.port or netdev.kind in ("ipoib", "ipoib_child") or netdev.driver in HCA_DRIVERS for netdev in below(name, netdevs))
