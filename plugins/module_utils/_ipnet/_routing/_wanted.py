# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The source addresses whose traffic leaves by their own interface. Pure."""

from __future__ import annotations

import ipaddress
import typing as t

from ._found import FIRST_TABLE, LAST_TABLE


class Source(t.NamedTuple):
    """One address of an interface that shares its subnet with others."""

    table: int
    """The routing table of the interface, and the priority of the rules for its addresses."""
    name: str
    address: str
    """Without prefix length."""
    network: str


def sources_of(shared: t.Sequence[str], addresses: t.Mapping[str, t.Sequence[str]]) -> tuple[Source, ...]:
    """The sources of these interfaces, from their addresses with prefix length. No host has more interfaces than there are tables."""
    found = []
    for table, name in zip(range(FIRST_TABLE, LAST_TABLE + 1), shared):
        for each in map(ipaddress.ip_interface, addresses[name]):
            if each.version == 4 and each.network.prefixlen < each.max_prefixlen:
                found.append(Source(table, name, str(each.ip), str(each.network)))
    return tuple(found)
