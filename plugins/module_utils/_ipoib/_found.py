# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a node's IPoIB interfaces, as one look found it. Pure; _record.py carries it to the controller."""

from __future__ import annotations

import typing as t

from .._facts._netdevs import Netdev
from .._facts._ports import Hca, Port
from .._facts._stack import Stack
from .._foreign import decimal
from .._host._saved import Saved
from .._host._units import Unit
from . import _wanted
from ._wanted import Route

# In place of a name in `ipv6_refused`: the default for interfaces that do not exist yet.
DEFAULT = "default"
# An interface that ib_ipoib or the bonding driver has not created yet.
UNBORN = Netdev("", "ipoib", mode=_wanted.KERNEL_MODE, mtu=_wanted.KERNEL_MTU)
UNBORN_BOND = Netdev("", "bond", mtu=1500)


class BondState(t.NamedTuple):
    """The options of an existing bond, from /sys/class/net/BOND/bonding."""

    mode: str = _wanted.BOND_MODE
    miimon: int = _wanted.BOND_MIIMON
    primary: str = ""
    fail_over_mac: str = _wanted.BOND_POLICY


class Record(t.NamedTuple):
    """What a file of this collection says about an interface. It tells a later run what an earlier one did."""

    name: str
    addresses: tuple[str, ...] = ()
    mtu: int = 0


def records_of(rows: t.Iterable[tuple[str, t.Iterable[str], str]]) -> dict[str, Record]:
    """Records from the names, addresses and MTUs in our files. Values that an editor has made invalid are left out."""
    found = {}
    for name, addresses, mtu in rows:
        if _wanted.is_name(name):
            # A gateway may follow.
            plain = (address.partition(",")[0].strip() for address in addresses)
            found[name] = Record(name, tuple(address for address in plain if _wanted.is_address(address)), decimal(mtu, 0))
    return found


def lent_to(netdev: Netdev | None) -> tuple[str, ...]:
    """The addresses that an interface has from others, for a time, besides that of the link."""
    return tuple(address for address in netdev.dynamic_addresses if not address.startswith("fe80:")) if netdev is not None else ()


class Claim(t.NamedTuple):
    """The claim of a back-end that manages interfaces of the node."""

    because: str
    """The evidence, in words."""
    weight: int
    """2: it has interfaces of its own; 1: it runs and manages none yet; 0: it was installed with the system."""
    presumed: bool = False
    """Whether interfaces of its own are only presumed, because it runs. As the renderer of another back-end it counts as having none."""
    renderer: str = ""
    """The back-end that it hands its files to."""


class Place(t.NamedTuple):
    """One line of a foreign file."""

    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return "%s line %d: %s" % self


class Standing(t.NamedTuple):
    """What the daemon that reads the files reports about an interface, in its own words."""

    state: str = ""
    file: str = ""
    """The file that it configures the interface from; "" where unknown."""


class Active(t.NamedTuple):
    """The active configuration that a back-end has for an interface."""

    profile: str = ""
    uuid: str = ""
    activating: bool = False
    """Whether it is still being brought up."""


class Presence(t.NamedTuple):
    """One back-end on the node."""

    claim: Claim | None = None
    missing: str = ""
    """Why it can't be used, in words."""
    in_use: bool = False
    """Whether its files take effect, whichever service reads them."""
    raises: bool = False
    """Whether it brings up every interface that appears."""
    unfinished: bool = False
    """Whether an interrupted run has left its `leftover` to do."""
    settings: t.Mapping[str, str] = {}
    """Properties that rendering depends on. Only the back-end itself knows the keys."""
    active: t.Mapping[str, Active] = {}
    """By interface."""
    standings: t.Mapping[str, Standing] = {}
    """By interface."""
    told: t.Mapping[str, tuple[Place, ...]] = {}
    """By interface: where udev tells the back-end to leave it alone."""


class Takeover(t.NamedTuple):
    """What becomes of files of others from which interfaces are taken over."""

    files: t.Mapping[str, str] = {}
    """What is left of each file, by path; "" for nothing: the file is removed."""
    losses: t.Mapping[str, tuple[str, ...]] = {}
    """The interfaces that are taken over, each with its settings that no variable expresses, and the file and line of each setting."""
    owners: t.Mapping[str, tuple[str, ...]] = {}
    """By path: the interfaces that are taken out of the file."""
    continued: t.Mapping[str, str] = {}
    """By interface: the UUID of its active profile, with which ours goes on. The interface is not activated again."""
    lent: t.Mapping[str, tuple[str, ...]] = {}
    """By interface: the addresses that it has for a time, from DHCP or a router. Ours asks for none."""

    def of(self, names: t.Container[str]) -> Takeover:
        """The part that is about these interfaces."""
        return self._replace(losses={name: settings for name, settings in self.losses.items() if name in names})


class Found(t.NamedTuple):
    netdevs: t.Mapping[str, Netdev] = {}
    files: t.Mapping[str, str] = {}
    """By path: files that back-ends read, and the files of _boot and _rename."""
    backends: t.Mapping[str, Presence] = {}
    boot_unit: Unit = Unit("")
    """The unit of _boot."""
    ssh_path: frozenset[str] = frozenset()
    """The interfaces that the management connection uses."""
    bonds: t.Mapping[str, BondState] = {}
    routes: t.Mapping[str, tuple[Route, ...]] = {}
    """The static routes, by interface."""
    hcas: tuple[Hca, ...] = ()
    ports: tuple[Port, ...] = ()
    stack: Stack = Stack("")
    loaded: bool = False
    """Whether ib_ipoib is loaded."""
    ipv6_refused: t.Mapping[str, str] = {}
    """Why an interface, or `DEFAULT`, can't have an IPv6 address."""
    no_bonding: str = ""
    """Why the kernel can't create bonds; "" where it can, or where that is unknown."""
    armed: bool = False
    """Whether an earlier run has armed a rollback that has neither fired nor been confirmed."""
    returns: frozenset[str] = frozenset()
    """The files with carriage returns, which the texts are without."""
    saved: t.Mapping[str, Saved] = {}
    """By path: the files from which interfaces were taken over."""
    foreign: t.Mapping[str, t.Mapping[str, tuple[str, ...]]] | None = None
    """In a condensed state, in place of the foreign files: those that configure an interface, by back-end and interface."""
    aloof: t.Mapping[str, t.Mapping[str, tuple[Place, ...]]] = {}
    """Likewise: where each back-end is told to leave an interface alone."""
    taken: Takeover = Takeover()
    """Where interfaces are to be taken over: the state is without them. In a condensed state, the texts stay on the node."""
    examined: frozenset[str] = frozenset()
    """The interfaces for which `foreign` and `aloof` were made, whether or not there are such files."""

    @property
    def facts(self) -> dict[str, t.Any]:
        """The parts of the `rdma` facts that validation reads, plus `ipv6_refused`."""
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
        """Whether anything brings up every interface that appears."""
        return any(presence.raises for presence in self.backends.values())
