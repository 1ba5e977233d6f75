# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IPoIB interfaces as drivers/infiniband/ulp/ipoib makes them: parents, P_Key children, modes, MTUs."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Sequence

from .node import Hca, Port
from .portstate import ACTIVE, UNPLUGGED, PortState
from .tap import INFINIBAND, Tap, add_link_local
from .tree import ATTRIBUTE_MODE, Tree, broadcast_address, hardware_address

DATAGRAM_MTU = 2044  # MTU of the broadcast group, which opensm creates with 2048 bytes
CONNECTED_MTU = 65520
FULL_MEMBER = 0x8000
# Files that netlink and the real sysfs provide; the tree links to them.
KERNEL_FILES = (
    "carrier", "carrier_changes", "dormant", "flags", "ifalias", "ifindex", "iflink", "link_mode", "mtu",
    "netdev_group", "operstate", "proto_down", "queues", "speed", "statistics", "tx_queue_len", "uevent",
)  # fmt: skip


def child_name(parent: str, pkey: int) -> str:
    """Return the name that ipoib_vlan_add() gives a child created through sysfs.

    >>> child_name("ib0", 0x8001)
    'ib0.8001'
    """
    return "%.10s.%04x" % (parent, pkey)


def parse_pkey(text: str) -> int:
    """Parse the text written to create_child or delete_child. Like the kernel, it sets the full-member bit."""
    try:
        pkey = int(text.strip(), 0)
    except ValueError:
        raise OSError(errno.EINVAL, "not a number: %r" % text) from None
    if not 0 < pkey < 0x10000 or pkey == FULL_MEMBER:
        raise OSError(errno.EINVAL, "no P_Key: %#x" % pkey)
    return pkey | FULL_MEMBER


def mtu_after_mode(mode: str, mtu: int) -> int:
    """Return the MTU after a mode change: connected raises it, datagram limits it to the MTU of the broadcast group."""
    return CONNECTED_MTU if mode == "connected" else min(mtu, DATAGRAM_MTU)


def largest_mtu(mode: str) -> int:
    return CONNECTED_MTU if mode == "connected" else DATAGRAM_MTU


class Interface:
    """One IPoIB interface and its directory in the tree."""

    def __init__(self, tree: Tree, pci: str, hca: Hca, port: Port, pkey: int = 0, parent: Interface | None = None) -> None:
        """pkey 0: the parent interface of a port, which uses the first entry of the P_Key table."""
        self.tree, self.pci, self.hca, self.port = tree, pci, hca, port
        self.pkey = pkey
        self.parent = parent
        self.name: str = child_name(parent.name, pkey) if parent else port.netdev
        self.directory = "%s/net/%s" % (pci, self.name)
        self.children: dict[int, Interface] = {}
        self.state = UNPLUGGED
        self.was_running = False
        self.tap = Tap(self.name)
        if not self.mode:
            self._appear()

    @property
    def mode(self) -> str:
        return self.tree.read(self.directory + "/mode").strip()

    def _appear(self) -> None:
        self.tap.set_mtu(DATAGRAM_MTU)
        self.show(self.state)
        files = {"type": "%d" % INFINIBAND, "addr_len": "20", "dev_id": "0x%x" % (self.port.number - 1), "dev_port": "%d" % (self.port.number - 1)}
        if self.parent:
            files["parent"] = self.parent.name
        self.tree.write_all({"%s/%s" % (self.directory, name): text + "\n" for name, text in files.items()})
        for name in KERNEL_FILES:
            path = self.tree.path("%s/%s" % (self.directory, name))
            with contextlib.suppress(FileExistsError):
                os.symlink("/sys/devices/virtual/net/%s/%s" % (self.name, name), path)
        # links on a real host too
        self.tree.link_all({self.directory + "/device": self.pci, "sys/class/net/" + self.name: self.directory})
        for name in ("umcast",) if self.parent else ("umcast", "create_child", "delete_child"):
            self._attribute(name, "0" if name == "umcast" else "")
        self._attribute("mode", "datagram")

    def _attribute(self, name: str, text: str) -> None:
        self.tree.write("%s/%s" % (self.directory, name), text + "\n", ATTRIBUTE_MODE)

    def show(self, state: PortState) -> None:
        """Update carrier, P_Key and the addresses derived from the port."""
        self.state = state
        pkey = self.pkey or (state.pkeys[0] if state.pkeys else 0xFFFF)
        address = hardware_address(self.hca, self.port, state.gid_prefix, self._queue_pair())
        self.tree.write_all(
            {
                self.directory + "/pkey": "0x%04x\n" % (pkey | FULL_MEMBER),
                self.directory + "/address": address + "\n",
                self.directory + "/broadcast": broadcast_address(state.gid_prefix, pkey) + "\n",
            }
        )
        assigned = any(entry & 0x7FFF == pkey & 0x7FFF for entry in state.pkeys)
        self.tap.set_carrier(state.state == ACTIVE and assigned)
        for child in self.children.values():
            child.show(state)

    def _queue_pair(self) -> int:
        return 0x48 + 0x10 * self.port.number + (self.pkey & 0x7FFF) % 0x1000

    def watch(self) -> None:
        """Correct the MTU and discard frames. A tap accepts any MTU, an IPoIB interface only what its mode allows."""
        if self.tap.mtu > largest_mtu(self.mode):
            self.tap.set_mtu(largest_mtu(self.mode))
        self.tap.drain()
        running = self.tap.running
        if running and not self.was_running:
            self._make_link_local()
        self.was_running = running
        for child in self.children.values():
            child.watch()

    def _make_link_local(self) -> None:
        """Create the link-local address, unless addr_gen_mode is not the kernel's default (0): networkd, for example, disables it."""
        settings = "/proc/sys/net/ipv6/conf/%s/" % self.name
        with contextlib.suppress(OSError):
            for setting in ("addr_gen_mode", "disable_ipv6"):
                with open(settings + setting, encoding="ascii") as stream:
                    if stream.read().strip() != "0":
                        return
            address = bytes.fromhex(self.tree.read(self.directory + "/address").strip().replace(":", ""))
            add_link_local(socket.if_nametoindex(self.name), address)

    def store(self, attribute: str, text: str) -> None:
        """Handle a write to a file of the interface. Raises OSError as the kernel's store function would."""
        if attribute == "mode":
            self._store_mode(text)
        elif attribute == "create_child":
            self._create_child(parse_pkey(text))
        elif attribute == "delete_child":
            self._delete_child(parse_pkey(text))
        elif attribute == "umcast":
            self._attribute("umcast", "1" if text.strip() not in ("", "0") else "0")
        else:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    def _store_mode(self, text: str) -> None:
        """Set the mode. Like ipoib_set_mode(), it compares the whole text, newline included."""
        if text not in ("connected\n", "datagram\n") or (text == "connected\n" and not self.hca.connected_capable):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        mode = text.strip()
        if mode == self.mode:
            return
        self._attribute("mode", mode)
        self.tap.set_mtu(mtu_after_mode(mode, self.tap.mtu))

    def _create_child(self, pkey: int) -> None:
        own = int(self.tree.read(self.directory + "/pkey"), 16)
        if self.parent:
            raise OSError(errno.EINVAL, "a child has no children")
        if pkey in self.children or pkey == own:
            raise OSError(errno.ENOTUNIQ, os.strerror(errno.ENOTUNIQ))
        self.children[pkey] = child = Interface(self.tree, self.pci, self.hca, self.port, pkey, self)
        child.show(self.state)

    def _delete_child(self, pkey: int) -> None:
        if pkey not in self.children:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        self.children.pop(pkey).remove()

    def adopt_children(self, names: Sequence[str]) -> None:
        """Adopt the children that a previous agent created."""
        for name in names:
            stem, _dot, pkey = name.rpartition(".")
            if stem == self.name:
                self.children[int(pkey, 16)] = Interface(self.tree, self.pci, self.hca, self.port, int(pkey, 16), self)

    def remove(self) -> None:
        for pkey in list(self.children):
            self._delete_child(pkey)
        self.tree.remove(["sys/class/net/" + self.name, self.directory])
        self.tap.remove()
