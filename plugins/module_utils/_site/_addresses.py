# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Addresses of IPoIB interfaces that several hosts declare. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._hosts import fold
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import fabrics_of

_LINK_LOCAL = "fe80:"


class Claim(t.NamedTuple):
    """An address that a host declares, and where. Hosts compete for it that are on the same fabrics, in the same partition."""

    address: str
    """With its prefix length."""
    variable: str
    network: str
    """The fabrics of the host, and the partition of the interface."""


def claims_of(variables: t.Mapping[str, t.Any]) -> list[Claim]:
    """The addresses that a host declares. Its variables have passed the validation."""
    if variables.get("ipoib_state") == "absent":
        return []
    entries = [_wanted.entry_of(item) for item in variables.get("ipoib_interfaces") or ()]
    partitions = {entry.name: entry.pkey & 0x7FFF for entry in entries}
    fabrics = ",".join(sorted(fabrics_of(variables)))
    found = []
    for position, entry in enumerate(entries):
        port = entry.bond.ports[0] if entry.bond is not None else entry.name
        network = "%s/%x" % (fabrics, partitions.get(port, 0))
        for number, address in enumerate(entry.addresses if entry.present else ()):
            if not address.startswith(_LINK_LOCAL):
                found.append(Claim(address, "ipoib_interfaces[%d].addresses[%d]" % (position, number), network))
    return found


def shared(claims: t.Mapping[str, t.Iterable[Claim]]) -> dict[str, list[Problem]]:
    """What is wrong by host, of the claims by host: every host that declares the address of another."""
    holders: dict[tuple[str, str], dict[str, Claim]] = {}
    for host, own in claims.items():
        for claim in own:
            holders.setdefault((claim.network, claim.address.split("/")[0]), {})[host] = claim
    found: dict[str, list[Problem]] = {}
    for by_host in holders.values():
        hint = "%s declare it" % fold(by_host) if len(by_host) > 1 else ""
        for host, claim in by_host.items() if hint else ():
            found.setdefault(host, []).append(Problem(claim.variable, claim.address, "an address that no other host has", hint))
    return found
