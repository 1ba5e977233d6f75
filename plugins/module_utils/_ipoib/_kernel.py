# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Direct changes of interfaces through sysfs and iproute2, for all back-ends."""

from __future__ import annotations

import os
import typing as t

from .._errors import CommandFailed
from .._facts._netdevs import Netdev
from .._foreign import hexadecimal
from .._host._run import Runner, failure
from . import _wanted
from ._found import BondState, Found, Record
from ._ipv6 import ipv6_switch, is_ipv6_off
from ._linkplan import canonical, fixed, reset_mtu, unequal_routes
from ._wanted import Interface, Route


class Kernel:
    """The kernel's side of IPoIB interfaces."""

    def __init__(self, run: Runner, root: str = "/") -> None:
        self._run = run
        self._root = root

    def set_mode(self, name: str, mode: str) -> None:
        """Write the mode with a newline: without it, the kernel returns EINVAL."""
        path = self._attribute(name, "mode")
        if not os.path.exists(path):
            # A child created through netlink has no such file.
            self._run(["ip", "link", "set", "dev", name, "type", "ipoib", "mode", mode])
            return
        self._write(path, mode + "\n", "set %s to mode %s" % (name, mode))

    def set_link(self, name: str, *words: str) -> None:
        """Change one setting of an interface, in the words of `ip link set`."""
        self._run(["ip", "link", "set", "dev", name, *words])

    def add_address(self, name: str, address: str) -> None:
        if ":" in address and is_ipv6_off(self._root, name):
            self._write(ipv6_switch(self._root, name), "0\n", "switch IPv6 on for %s" % name)
        # Without it, an IPv4 interface has no broadcast address.
        broadcast = [] if ":" in address else ["broadcast", "+"]
        self._run(["ip", "address", "replace", address, *broadcast, "dev", name])

    def delete_address(self, name: str, address: str) -> None:
        # Exit status 2: the kernel has already removed it with the primary address of its network.
        self._run(["ip", "address", "del", address, "dev", name], ok=(0, 2))

    def add_child(self, interface: Interface) -> None:
        """Create a child through netlink: back-ends that create children in this way accept it as their own."""
        kind = ["type", "ipoib", "pkey", "0x%04x" % interface.pkey, "mode", interface.mode]
        self._run(["ip", "link", "add", "link", interface.parent, "name", interface.name, *kind])

    def delete_child(self, netdev: Netdev) -> None:
        """Delete a child through the interface that created it: a child created through sysfs has a file that names its parent."""
        if not os.path.exists(self._attribute(netdev.name, "parent")):
            self._delete(netdev.name)
            return
        path = self._attribute(netdev.parent, "delete_child")
        self._write(path, "0x%04x\n" % hexadecimal(netdev.pkey, 0), "delete the child %s" % netdev.name)

    def _delete(self, name: str) -> None:
        """Delete an interface. A back-end that was told to release it may have deleted it first."""
        argv = ["ip", "link", "delete", "dev", name]
        done = self._run(argv, ok=None)
        if done.rc != 0 and os.path.exists(self._attribute(name, "")):
            raise failure(argv, done)

    def _attribute(self, name: str, file: str) -> str:
        return os.path.join(self._root, "sys/class/net", name, file)

    @staticmethod
    def _write(path: str, text: str, purpose: str) -> None:
        try:
            with open(path, "w", encoding="ascii") as stream:
                stream.write(text)
        except OSError as exc:
            raise CommandFailed("the kernel refused to %s (%s: %s); see 'dmesg' and connected_reason of rdma_facts" % (purpose, path, exc.strerror)) from exc

    def mode_and_mtu(self, interface: Interface, netdev: Netdev) -> None:
        """Set the mode before the MTU: the mode changes the MTU and limits it."""
        mtu = netdev.mtu
        if netdev.mode and netdev.mode != interface.mode:
            self.set_mode(interface.name, interface.mode)
            mtu = 0
        if interface.mtu and interface.mtu != mtu:
            self.set_link(interface.name, "mtu", str(interface.mtu))

    def addresses(self, interface: Interface, netdev: Netdev) -> None:
        """Add new addresses before old ones are removed, so that the interface always has one."""
        found, wanted = fixed(interface, netdev.addresses), canonical(interface.addresses)
        old = [address for address in found if address not in wanted]
        for address in wanted:
            if address not in found:
                self.add_address(interface.name, address)
        for address in old:
            self.delete_address(interface.name, address)
        # With a primary IPv4 address the kernel may also remove all other addresses of its network.
        for address in wanted if old else ():
            self.add_address(interface.name, address)

    def routes(self, interface: Interface, found: t.Sequence[Route]) -> None:
        """Add new routes before old ones are removed."""
        missing, left = unequal_routes(found, interface.routes)
        for route in missing:
            self._run(["ip", route.family, "route", "replace", *route.words(interface.name)])
        for route in left:
            # Exit status 2: the kernel has already removed it with the network of its gateway.
            self._run(["ip", route.family, "route", "del", *route.words(interface.name)], ok=(0, 2))

    def alter(self, interface: Interface, netdev: Netdev, found: Found) -> None:
        """Change an interface without taking it down."""
        self.addresses(interface, netdev)
        if not netdev.up:
            self.set_link(interface.name, "up")
        self.routes(interface, found.routes.get(interface.name, ()))

    def clear(self, netdev: Netdev) -> None:
        """Remove all addresses from an interface."""
        for address in netdev.addresses:
            self.delete_address(netdev.name, address)

    def release(self, record: Record, netdev: Netdev) -> None:
        """Undo our settings: a child is deleted, a parent gets the kernel's defaults."""
        if netdev.kind == "bond":
            self._delete(netdev.name)
            return
        if netdev.parent:
            self.delete_child(netdev)
            return
        if netdev.master:
            self.set_link(netdev.name, "nomaster")
        ours = canonical(record.addresses)
        for address in canonical(netdev.addresses):
            if address in ours:
                self.delete_address(record.name, address)
        if netdev.mode == "connected":
            self.set_mode(record.name, _wanted.KERNEL_MODE)
        if reset_mtu(record, netdev):
            self.set_link(record.name, "mtu", str(_wanted.KERNEL_MTU))
        if netdev.up and all(address in ours for address in canonical(netdev.addresses)):
            self.set_link(record.name, "down")

    def bond(self, interface: Interface, found: Found) -> None:
        """Create or change the bond with its options and its ports, whose modes are already set. Its MTU precedes the ports, which get it on joining."""
        bond, name = interface.bond, interface.name
        if bond is None:
            return
        netdev, state = found.netdevs.get(name), found.bonds.get(name, BondState())
        if netdev is not None and not self._is_fit(interface, netdev, state):
            self._run(["ip", "link", "delete", "dev", name])
            netdev = None
        options = ["miimon", str(bond.miimon)]
        if netdev is None:
            state = BondState()
            self._add_bond(name, ["mode", _wanted.BOND_MODE, "fail_over_mac", _wanted.BOND_POLICY, *options])
            if interface.mtu:
                self.set_link(name, "mtu", str(interface.mtu))
        elif state.miimon != bond.miimon:
            self.set_link(name, "type", "bond", *options)
        members = netdev.members if netdev is not None else ()
        for port in members:
            if port not in bond.ports:
                self.set_link(port, "nomaster")
        for port in bond.ports:
            # A missing port joins when the back-end brings it up.
            if port not in members and port in found.netdevs:
                self._enter(port, name, found.netdevs[port])
        if not bond.primary and state.primary:
            self._write(self._attribute(name, "bonding/primary"), "\n", "take back the primary port of %s" % name)
        elif bond.primary != state.primary and bond.primary in found.netdevs:
            self.set_link(name, "type", "bond", "primary", bond.primary)

    def _is_fit(self, interface: Interface, netdev: Netdev, state: BondState) -> bool:
        """Whether the bond can be changed in place. Both options can only be changed while it is down and has no ports; such a bond has no IPoIB ports."""
        if (state.mode, state.fail_over_mac) != (_wanted.BOND_MODE, _wanted.BOND_POLICY):
            return False
        return not interface.mtu or netdev.mtu == interface.mtu or self._took_mtu(interface.name, interface.mtu)

    def _took_mtu(self, name: str, mtu: int) -> bool:
        """Set the MTU of the bond; return whether the kernel accepted it. A bond that has refused its first port becomes an Ethernet bond with a maximum
        MTU of 1500, even with IPoIB ports: only a new bond can have more. Observed with ports whose mode another program had not changed yet.
        """
        argv = ["ip", "link", "set", "dev", name, "mtu", str(mtu)]
        done = self._run(argv, ok=None)
        if done.rc != 0 and "device maximum" not in done.stderr:
            raise failure(argv, done)
        return done.rc == 0

    def _add_bond(self, name: str, options: t.Sequence[str]) -> None:
        kind = ["type", "bond", *options]
        added = self._run(["ip", "link", "add", "name", name, *kind], ok=None)
        if added.rc != 0:
            # Loading the module may have just created this bond, because of its option max_bonds, or the back-end from the file that it has
            # just read. Neither has the options, and a bond with ports accepts none. If there is another cause, the next attempt reports it.
            self._run(["ip", "link", "delete", "dev", name], ok=None)
            self._run(["ip", "link", "add", "name", name, *kind])

    def _enter(self, port: str, bond: str, netdev: Netdev) -> None:
        """Add a port to its bond. The kernel enslaves no interface that is up, and a port of a bond has no addresses of its own."""
        self.clear(netdev)
        self.set_link(port, "down")
        self.set_link(port, "master", bond)
