# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What no two hosts may declare. Pure; linear in hosts."""

from __future__ import annotations

import typing as t

from .._concern import Claim, Subject
from .._concerns._registry import CONCERNS
from .._errors import Problem
from .._hosts import fold
from .._opensm._fabrics import fabrics_of


def claims_of(subject: Subject) -> list[Claim]:
    """What a host claims, on the networks of its fabrics. Its variables have passed the validation."""
    fabrics = ",".join(sorted(fabrics_of(subject.variables)))
    return [claim._replace(network="%s/%s" % (fabrics, claim.network)) for concern in CONCERNS.values() for claim in concern.claims(subject)]


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
