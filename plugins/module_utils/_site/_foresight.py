# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known before anything is changed on any host: what the roles would refuse, from one look at each, and addresses that several declare.

Pure; linear in hosts.
"""

from __future__ import annotations

import typing as t

from .._errors import Problem
from .._hosts import fold
from .._ipoib import _concern as ipoib
from .._ipoib import _wanted
from .._ipoib._found import Found as IpoibFound
from .._kmod import _concern as kernel_modules
from .._kmod._found import Seen
from .._opensm._fabrics import fabrics_of
from .._schema import _ipoib, _kernel_modules

_ROLES = ("ofed", "kernel_modules", "soft_rdma", "opensm", "ipoib", "gpudirect", "node_check")


class Concern(t.NamedTuple):
    """A role whose refusals follow from the look. Its name is that of the look, of the tag, and the prefix of the variables."""

    seen: type
    """The form of what the look found."""
    options: t.Mapping[str, t.Any]
    """The argument specification of its module."""
    declared: t.Mapping[str, t.Mapping[str, t.Any]]
    """The variables of the role, with their defaults."""
    refusals: t.Callable[[t.Mapping[str, t.Any], t.Any], t.Sequence[str]]
    """Options of the module and what the look found -> what the module would refuse, in words."""
    elsewhere: t.Mapping[str, str] = {}
    """The options that get a variable without the prefix of the role."""


CONCERNS: t.Mapping[str, Concern] = {
    "kernel_modules": Concern(Seen, _kernel_modules.OPTIONS, _kernel_modules.VARIABLES, kernel_modules.refusals),
    "ipoib": Concern(IpoibFound, _ipoib.OPTIONS, _ipoib.VARIABLES, ipoib.refusals, {"allow_removal": "rdma_allow_removal"}),
}


def arguments(name: str, variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What the role hands to its module."""
    concern = CONCERNS[name]
    named = {option: concern.elsewhere.get(option, "%s_%s" % (name, option)) for option in concern.options}
    values = {**{variable: entry["default"] for variable, entry in concern.declared.items() if "default" in entry}, **variables}
    return {option: values[variable] for option, variable in named.items() if variable in values}


def takes_part(name: str, tags: t.Collection[str], skipped: t.Collection[str]) -> bool:
    """Whether a run with these tags comes to the role. With tags of the user's own, it may."""
    return name not in skipped and (name in tags or not tags or not set(tags) <= {*_ROLES, "always"})


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
