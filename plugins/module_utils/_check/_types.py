# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What a node shall be, what it was found to be, and the difference. Pure data."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port


class Interface(t.NamedTuple):
    """A declared IPoIB interface, in the vocabulary of C(ipoib_interfaces)."""

    name: str
    addresses: t.Tuple[str, ...] = ()
    mode: str = "auto"
    """C(datagram), C(connected), or C(auto), which any mode satisfies."""
    mtu: int = 0
    """Bytes; 0 where none is declared."""
    state: str = "present"
    parent: str = ""
    pkey: str = ""


class Declared(t.NamedTuple):
    """What the inventory says about one node."""

    ports: t.Tuple[str, ...] = ()
    """C(mlx5_0/1) ...; where empty, the ports under the declared interfaces are meant."""
    interfaces: t.Tuple[Interface, ...] = ()
    modules: t.Tuple[str, ...] = ()
    fabric: str = "ib"
    subnet_manager: bool = True
    """False where nobody shall look at subnet managers."""
    designated: bool = False
    """Is this node the designated subnet manager of its fabric?"""
    designated_host: str = ""
    designated_guids: t.Tuple[str, ...] = ()
    """Port GUIDs of the designated host, where they are known."""


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

    pids: t.Tuple[int, ...] = ()
    enabled: t.Tuple[str, ...] = ()
    """Units that would start it at boot."""


class Observed(t.NamedTuple):
    """One node as it is now."""

    ports: t.Tuple[Port, ...] = ()
    netdevs: t.Tuple[Netdev, ...] = ()
    loaded: t.FrozenSet[str] = frozenset()
    """Kernel modules in memory or built in, with underscores."""
    persisted: t.FrozenSet[str] = frozenset()
    """Kernel modules that come back after a reboot."""
    master: t.Optional[Master] = None
    master_error: str = ""
    """Why there is no C(master), in words."""
    masters: t.Optional[t.Tuple[str, ...]] = None
    """Port GUIDs of all masters that the subnet administrator lists; None where it was not asked."""
    opensm: Opensm = Opensm()


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


def declared_of(params: Mapping[str, t.Any]) -> Declared:
    """The wanted state from module parameters."""
    return Declared(
        ports=tuple(params["ports"]),
        interfaces=tuple(
            Interface(
                name=item["name"],
                addresses=tuple(item["addresses"] or ()),
                mode=item["mode"],
                mtu=item["mtu"] or 0,
                state=item["state"],
                parent=item["parent"] or "",
                pkey=item["pkey"] or "",
            )
            for item in params["interfaces"]
        ),
        modules=tuple(params["modules"]),
        fabric=params["fabric"],
        subnet_manager=params["subnet_manager"],
        designated=params["designated"],
        designated_host=params["designated_host"],
        designated_guids=tuple(params["designated_guids"]),
    )


__all__ = ("Declared", "Deviation", "Interface", "Master", "Observed", "Opensm", "Row", "declared_of")
