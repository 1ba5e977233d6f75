# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What a node shall be, what it was found to be, and the difference. Pure data."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found as Gpus
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface


# Hint of a deviation that time does not mend: the kernel has joined the broadcast group, and takes its MTU.
CLAMPED_MTU = "the broadcast group of the partition allows 2044: give the partition mtu=5 in the subnet manager's partitions.conf"


class Declared(t.NamedTuple):
    """What the inventory says about one node."""

    ports: tuple[str, ...] = ()
    """C(mlx5_0/1) ...; where empty, the ports under the declared interfaces are meant."""
    interfaces: tuple[Interface, ...] = ()
    modules: tuple[str, ...] = ()
    fabric: str = "ib"
    subnet_manager: bool = True
    """False where nobody shall look at subnet managers."""
    designated: bool = False
    """Is this node the designated subnet manager of its fabric?"""
    standby: bool = False
    """Does this node run a subnet manager that stands by?"""
    fabric_ports: tuple[str, ...] = ()
    """The ports on the fabric, where the node is on several; none means any of them."""
    designated_host: str = ""
    designated_names: tuple[str, ...] = ()
    """Other names that the designated host goes by."""
    designated_guids: tuple[str, ...] = ()
    """Port GUIDs of the designated host, where they are known."""
    gpudirect: str = "none"
    """The way to GPU memory, as the role gpudirect knows it."""


class Master(t.NamedTuple):
    """The subnet manager that a port answers to, as C(sminfo) and the node description tell."""

    guid: str
    lid: int
    priority: int
    state: int
    """0 not active, 1 discovering, 2 standby, 3 master."""
    description: str = ""
    """Node description of the HCA that it runs on; "" where it can't be read."""


class Opensm(t.NamedTuple):
    """opensm on this node, whoever started it."""

    pids: tuple[int, ...] = ()
    enabled: tuple[str, ...] = ()
    """Units that would start it at boot."""


class Observed(t.NamedTuple):
    """One node as it is now."""

    ports: tuple[Port, ...] = ()
    netdevs: tuple[Netdev, ...] = ()
    loaded: frozenset[str] = frozenset()
    """The declared kernel modules that are in memory or built in, by their declared names."""
    persisted: frozenset[str] = frozenset()
    """The declared kernel modules that come back after a reboot."""
    master: Master | None = None
    master_error: str = ""
    """Why there is no C(master), in words."""
    masters: tuple[str, ...] | None = None
    """Port GUIDs of all masters that the subnet administrator lists; None where it was not asked."""
    opensm: Opensm = Opensm()
    gpus: Gpus | None = None
    """None where nobody asked for them."""


class Deviation(t.NamedTuple):
    """One thing that is not as declared."""

    object: str
    wanted: str
    found: str
    hint: str = ""

    def words(self) -> str:
        """In one line, as it stands below the table and in a failure."""
        text = "%s: wanted %s, found %s" % (self.object, self.wanted, self.found)
        return "%s (%s)" % (text, self.hint) if self.hint else text

    @property
    def lasting(self) -> bool:
        """Will it be the same however long one waits?"""
        return self.hint == CLAMPED_MTU


class Row(t.NamedTuple):
    """One line of the table: a port, and the interface on it."""

    port: str = "-"
    state: str = "-"
    lid: str = "-"
    sm_lid: str = "-"
    rate: str = "-"
    interface: str = "-"
    mode: str = "-"
    mtu: str = "-"
    addresses: str = "-"
    sm: str = "-"
    result: str = "OK"
