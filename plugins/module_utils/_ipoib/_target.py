# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What an interface shall be on this node once open choices are made, and what is on record of it. Pure value types."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._capability import verdict_on


class Route(t.NamedTuple):
    """A static route over an interface."""

    to: str
    """A network as C(10.30.0.0/16); a default route is C(0.0.0.0/0) or C(::/0)."""
    via: str = ""
    """The gateway; "" for a network that is on the link itself."""
    metric: int = 0
    """0: the kernel's choice."""


class Bond(t.NamedTuple):
    """What makes an interface a bond. The bonding mode is active-backup: the kernel takes IPoIB ports into no other."""

    ports: tuple[str, ...]
    """IPoIB interfaces, or their P_Key children, in the declared order."""
    primary: str = ""
    """The port that is preferred while it has a carrier; "" for none."""
    miimon: int = 100
    """How often the carrier is looked at, in ms."""


class Target(t.NamedTuple):
    """An interface as it shall be: what back-ends render and the kernel part applies."""

    name: str
    mode: str = _wanted.KERNEL_MODE
    """Of a bond: that of its ports."""
    mode_reason: str = ""
    mtu: int = 0
    """0: the kernel's choice is left alone."""
    addresses: tuple[str, ...] = ()
    parent: str = ""
    """Of a P_Key child."""
    pkey: int = 0
    routes: tuple[Route, ...] = ()
    bond: Bond | None = None
    """The interface is a bond."""
    master: str = ""
    """The bond that the interface is a port of. Such an interface has no addresses and no routes."""

    @property
    def is_child(self) -> bool:
        return bool(self.parent)


class Record(t.NamedTuple):
    """What a file of this collection says of an interface: how a later run knows what an earlier one did."""

    name: str
    addresses: tuple[str, ...] = ()
    mtu: int = 0


class Backend(t.Protocol):
    """What planning needs of a network stack. A new stack is one more module with these functions, and an applier."""

    def render(self, targets: t.Sequence[Target]) -> dict[str, str]:
        """The files, whole, by path."""

    def records(self, files: t.Mapping[str, str]) -> dict[str, Record]:
        """What the files of this collection among C(files) say, by interface."""

    def conflicts(self, name: str, files: t.Mapping[str, str]) -> tuple[str, ...]:
        """The files of others that configure the interface."""


def target_of(wanted: _wanted.Wanted, facts: t.Mapping[str, t.Any]) -> Target:
    """Make the open choices: C(auto) is connected where the port can; a connected interface gets the largest MTU."""
    verdict = verdict_on(wanted.name, wanted.parent, facts)
    if wanted.mode == "auto":
        mode, reason = ("connected" if verdict.capable else "datagram"), "auto: " + verdict.reason
    else:
        mode, reason = wanted.mode, "declared"
    mtu = wanted.mtu or (_wanted.MTU_MAX["connected"] if mode == "connected" else 0)
    return Target(wanted.name, mode, reason, mtu, wanted.addresses, wanted.parent, wanted.pkey)


__all__ = ("Backend", "Bond", "Record", "Route", "Target", "target_of")
