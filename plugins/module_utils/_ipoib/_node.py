# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What was found on a node, and what was decided on it. Pure value types."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import Naming
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import Variant
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Route
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind, Pending, Plan

# How a netdev looks that ib_ipoib, or the bonding driver, has not made yet.
UNBORN = Netdev("", "ipoib", mode=_wanted.KERNEL_MODE, mtu=_wanted.KERNEL_MTU)
UNBORN_BOND = Netdev("", "bond", mtu=1500)


class BondState(t.NamedTuple):
    """The options of a bond that is there, from /sys/class/net/BOND/bonding."""

    mode: str = _wanted.BOND_MODE
    miimon: int = _wanted.BOND_MIIMON
    primary: str = ""
    fail_over_mac: str = _wanted.BOND_POLICY


class Node(t.NamedTuple):
    """What was found on a node."""

    netdevs: t.Mapping[str, Netdev]
    files: t.Mapping[str, str]
    """By path: what the network stacks read, and the files of C(_boot) and C(_rename)."""
    boot_unit: Unit = Unit(_boot.UNIT)
    ssh_path: frozenset[str] = frozenset()
    """The interfaces that the connection of this run goes through."""
    stacks: frozenset[str] = frozenset()
    """The network stacks that are in use."""
    variant: Variant = Variant()
    raised: bool = False
    """Does somebody bring up every interface that appears?"""
    bonds: t.Mapping[str, BondState] = {}
    routes: t.Mapping[str, tuple[Route, ...]] = {}
    """The static routes, by interface."""
    pkeys: t.Mapping[str, tuple[str, ...]] = {}
    """The P_Key table of each port, by the port's name."""
    held: t.Mapping[str, frozenset[str]] = {}
    """By network stack, the interfaces that it has up by files of ours. Of those that are not in it, nothing is known."""


class Decision(t.NamedTuple):
    """What to do and what to say."""

    plan: Plan
    targets: tuple[Target, ...]
    removed: tuple[Record, ...]
    """Interfaces of an earlier run that are not wanted any more: bonds first, then children."""
    reasons: tuple[str, ...]
    renames: tuple[Naming, ...] = ()
    """Interfaces that get their name now."""
    pending: tuple[Pending, ...] = ()
    """What the next start of the node will bring."""
    deferred: frozenset[str] = frozenset()
    """The interfaces that wait for it."""
    cutting: tuple[str, ...] = ()
    """How the connection of this run would be disturbed, in words."""

    def touches(self, name: str, aspects: t.Sequence[str] = ()) -> bool:
        """Whether the interface changes in one of C(aspects); in any where none is given."""
        return any(change.is_about(Kind.INTERFACE, name) and (not aspects or change.aspect in aspects) for change in self.plan.changes)

    @property
    def live(self) -> tuple[Target, ...]:
        """The targets that are carried out now."""
        return tuple(target for target in self.targets if target.name not in self.deferred)
