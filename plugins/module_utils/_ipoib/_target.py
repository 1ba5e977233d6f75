# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What an interface shall be on this node once open choices are made, and what is on record of it. Pure value types."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._capability import Verdict, verdict_on
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Route


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


def target_of(wanted: _wanted.Wanted, facts: t.Mapping[str, t.Any]) -> Target:
    """One interface that is no bond and no port of one, see C(targets_of)."""
    return _target(wanted, verdict_on(wanted.name, wanted.parent, facts))


def targets_of(wanted: t.Sequence[_wanted.Wanted], facts: t.Mapping[str, t.Any]) -> tuple[Target, ...]:
    """Make the open choices: C(auto) is connected where the port can; a connected interface gets the largest MTU.

    C(auto) of a bond is connected where each of its ports can. C(wanted) is what C(_wanted.wanted_of) gives.
    """
    by_name = {item.name: item for item in wanted}
    ports = {item.name: tuple(by_name[port] for port in item.bond.ports) for item in wanted if item.bond is not None}
    return tuple(_target(item, _verdict(ports.get(item.name) or ports.get(item.master) or (item,), facts)) for item in wanted)


def _verdict(ports: t.Sequence[_wanted.Wanted], facts: t.Mapping[str, t.Any]) -> Verdict:
    """Of all ports together: what one can't do, the others must not."""
    verdicts = [(port.name, verdict_on(port.name, port.parent, facts)) for port in ports]
    name, verdict = next(((name, verdict) for name, verdict in verdicts if not verdict.capable), verdicts[0])
    return verdict if len(ports) == 1 else Verdict(verdict.capable, "%s: %s" % (name, verdict.reason))


def _target(wanted: _wanted.Wanted, verdict: Verdict) -> Target:
    if wanted.mode == "auto":
        mode, reason = ("connected" if verdict.capable else "datagram"), "auto: " + verdict.reason
    else:
        mode, reason = wanted.mode, "declared"
    mtu = wanted.mtu or (_wanted.MTU_MAX["connected"] if mode == "connected" else 0)
    return Target(wanted.name, mode, reason, mtu, wanted.addresses, wanted.parent, wanted.pkey, wanted.routes, wanted.bond, wanted.master)
