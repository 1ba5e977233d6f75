# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a node's IPoIB interfaces as one look found it. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from .._facts._netdevs import Netdev
from .._facts._ports import Hca, Port
from .._facts._stack import Stack
from .._foreign import decimal
from .._host._units import Unit
from . import _wanted
from ._wanted import Route

# Instead of a name in `ipv6_refused`: what an interface starts with that is still to come.
DEFAULT = "default"
# A netdev that ib_ipoib, or the bonding driver, has not made yet.
UNBORN = Netdev("", "ipoib", mode=_wanted.KERNEL_MODE, mtu=_wanted.KERNEL_MTU)
UNBORN_BOND = Netdev("", "bond", mtu=1500)


class BondState(t.NamedTuple):
    """The options of an existing bond, from /sys/class/net/BOND/bonding."""

    mode: str = _wanted.BOND_MODE
    miimon: int = _wanted.BOND_MIIMON
    primary: str = ""
    fail_over_mac: str = _wanted.BOND_POLICY


class Record(t.NamedTuple):
    """What a file of this collection says of an interface: how a later run knows what an earlier one did."""

    name: str
    addresses: tuple[str, ...] = ()
    mtu: int = 0


def records_of(rows: t.Iterable[tuple[str, t.Iterable[str], str]]) -> dict[str, Record]:
    """Records from the names, addresses and MTUs that files of ours have. An editor may have been there: what is none of these is left out."""
    found = {}
    for name, addresses, mtu in rows:
        if _wanted.is_name(name):
            # A gateway may follow.
            plain = (address.partition(",")[0].strip() for address in addresses)
            found[name] = Record(name, tuple(address for address in plain if _wanted.is_address(address)), decimal(mtu, 0))
    return found


class Claim(t.NamedTuple):
    """A back-end manages interfaces of the node."""

    because: str
    """How that is known, in words."""
    weight: int
    """2: it has interfaces of its own; 1: it runs, and manages nothing yet; 0: it was installed with the system."""
    presumed: bool = False
    """Interfaces of its own are presumed, because it runs. As the renderer of another back-end it counts as having none."""
    renderer: str = ""
    """The back-end that it hands its files to."""


class Place(t.NamedTuple):
    """One line of a file of others."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return "%s line %d: %s" % self


class Standing(t.NamedTuple):
    """What the reader of the files says of an interface, in its own words."""

    state: str = ""
    file: str = ""
    """By which it configures the interface; "" where that is not known."""


class Active(t.NamedTuple):
    """What a back-end has in force on an interface."""

    profile: str = ""
    uuid: str = ""
    activating: bool = False
    """It is still being brought up."""


class Presence(t.NamedTuple):
    """One back-end on the node."""

    claim: Claim | None = None
    missing: str = ""
    """Why it can't be used, in words."""
    in_use: bool = False
    """Its files count, whichever service reads them."""
    raises: bool = False
    """It brings up every interface that appears."""
    unfinished: bool = False
    """A run that was interrupted has left its `leftover` to do."""
    settings: t.Mapping[str, str] = {}
    """What rendering depends on. Only the back-end itself knows the keys."""
    active: t.Mapping[str, Active] = {}
    """By interface."""
    standings: t.Mapping[str, Standing] = {}
    """By interface."""
    told: t.Mapping[str, tuple[Place, ...]] = {}
    """By interface: where udev says that the back-end shall leave it alone."""


class Found(t.NamedTuple):
    netdevs: t.Mapping[str, Netdev] = {}
    files: t.Mapping[str, str] = {}
    """By path: what back-ends read, and the files of _boot and _rename."""
    backends: t.Mapping[str, Presence] = {}
    boot_unit: Unit = Unit("")
    """The unit of _boot."""
    ssh_path: frozenset[str] = frozenset()
    """The interfaces that the connection of this run goes through."""
    bonds: t.Mapping[str, BondState] = {}
    routes: t.Mapping[str, tuple[Route, ...]] = {}
    """The static routes, by interface."""
    hcas: tuple[Hca, ...] = ()
    ports: tuple[Port, ...] = ()
    stack: Stack = Stack("")
    loaded: bool = False
    """ib_ipoib is loaded."""
    ipv6_refused: t.Mapping[str, str] = {}
    """Why an interface, or `DEFAULT`, can have no IPv6 address."""
    no_bonding: str = ""
    """Why the kernel can make no bond; "" where it can, and where nothing tells."""
    armed: bool = False
    """An earlier run has armed a rollback that neither went off nor was confirmed."""
    foreign: t.Mapping[str, t.Mapping[str, tuple[str, ...]]] | None = None
    """In a condensed state, instead of the foreign files: by back-end and interface, those that configure it."""
    aloof: t.Mapping[str, t.Mapping[str, tuple[Place, ...]]] = {}
    """The same: where each back-end is told to leave an interface alone."""
    examined: frozenset[str] = frozenset()
    """The interfaces that `foreign` and `aloof` were made for, whether there are such files or not."""

    @property
    def facts(self) -> dict[str, t.Any]:
        """The parts of the `rdma` facts that validation reads, and `ipv6_refused`."""
        return {
            "hcas": [hca._asdict() for hca in self.hcas],
            "ports": [port._asdict() for port in self.ports],
            "netdevs": [netdev._asdict() for netdev in self.netdevs.values()],
            "modules": [{"name": "ib_ipoib"}] if self.loaded else [],
            "stack": self.stack._asdict(),
            "ipv6_refused": self.ipv6_refused,
        }

    @property
    def raised(self) -> bool:
        """Whether something brings up every interface that appears."""
        return any(presence.raises for presence in self.backends.values())
