# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses that several hosts declare. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from .._concern import Address, Subject
from .._concerns._registry import CONCERNS
from .._errors import Problem
from .._hosts import fold


def addresses_of(subject: Subject) -> list[Address]:
    """The addresses that a host declares, on the networks of its fabrics. Expects validated variables."""
    networks = ",".join(name for concern in CONCERNS.values() for name in concern.networks(subject))
    return [each._replace(network="%s/%s" % (networks, each.network)) for concern in CONCERNS.values() for each in concern.addresses(subject)]


def shared(declared: t.Mapping[str, t.Iterable[Address]]) -> dict[str, list[Problem]]:
    """The problems by host, from the addresses by host: each host that declares the address of another host has one."""
    holders: dict[tuple[str, str], dict[str, Address]] = {}
    for host, own in declared.items():
        for address in own:
            holders.setdefault((address.network, address.address.split("/")[0]), {})[host] = address
    found: dict[str, list[Problem]] = {}
    for by_host in holders.values():
        hint = "%s declare it" % fold(by_host) if len(by_host) > 1 else ""
        for host, address in by_host.items() if hint else ():
            found.setdefault(host, []).append(Problem(address.variable, address.address, "an address that no other host has", hint))
    return found
