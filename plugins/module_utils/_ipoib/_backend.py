# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Which network stack manages this node now. Pure: it decides on what was observed."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit

NETWORKD = "systemd-networkd"
IFUPDOWN = "ifupdown"
NETWORKMANAGER = "networkmanager"
NETPLAN = "netplan"
IFCFG = "ifcfg"
WICKED = "wicked"
SUPPORTED = (NETWORKD, IFUPDOWN, NETWORKMANAGER, NETPLAN, IFCFG, WICKED)

UNITS = ("systemd-networkd.service", "NetworkManager.service", "networking.service", "wickedd.service", "rdma-ofed-ipoib-mode.service")


class Evidence(t.NamedTuple):
    """What there is to decide on."""

    units: t.Mapping[str, Unit]
    tools: frozenset[str] = frozenset()
    """Those of C(ifup), C(netplan), C(networkctl) that are installed."""
    netplan_files: tuple[str, ...] = ()
    networkd_files: tuple[str, ...] = ()
    """The administrator's own .network files, without those of this collection."""
    ifupdown_names: tuple[str, ...] = ()
    """The interfaces that ifupdown's files configure, without those of this collection."""

    def active(self, name: str) -> bool:
        """Does the unit run?"""
        unit = self.units.get(name)
        return unit is not None and unit.active in ("active", "activating", "reloading")


class Claim(t.NamedTuple):
    """A network stack that manages interfaces here, and how that is known."""

    backend: str
    because: str
    weight: int
    """2: it has interfaces of its own; 1: it runs, and manages nothing yet; 0: it was installed with the system."""


def claims(evidence: Evidence) -> tuple[Claim, ...]:
    """Every stack that could be meant."""
    found = []
    if evidence.netplan_files and "netplan" in evidence.tools:
        found.append(Claim("netplan", "%s exists" % evidence.netplan_files[0], 2))
    if evidence.active("NetworkManager.service"):
        found.append(Claim("NetworkManager", "NetworkManager.service is active", 2))
    if evidence.active("wickedd.service"):
        found.append(Claim("wicked", "wickedd.service is active", 2))
    if evidence.active("systemd-networkd.service"):
        own = evidence.networkd_files
        because = "systemd-networkd.service is active" + (" and %s exists" % own[0] if own else "")
        found.append(Claim(NETWORKD, because, 2 if own else 1))
    networking = evidence.units.get("networking.service", Unit("networking.service"))
    if "ifup" in evidence.tools and (networking.active == "active" or networking.enabled == "enabled"):
        names = [name for name in evidence.ifupdown_names if name != "lo"]
        because = "networking.service is %s" % ("active" if networking.active == "active" else "enabled")
        found.append(Claim(IFUPDOWN, because + (" and configures %s" % ", ".join(names) if names else ""), 2 if names else 0))
    return tuple(found)


def choose(asked: str, evidence: Evidence) -> str:
    """The back-end to use. Raises Refused where two stacks claim the node, or the named one does not run."""
    if asked != "auto":
        _check_named(asked, evidence)
        return asked
    found = claims(evidence)
    if not found:
        raise Unsupported(
            "no network stack that this module knows manages this node: neither systemd-networkd nor ifupdown is in use; "
            "enable one of them, or name it in ipoib_backend to learn what it lacks"
        )
    weight = max(claim.weight for claim in found)
    strongest = [claim for claim in found if claim.weight == weight]
    if len(strongest) > 1:
        listed = "; ".join("%s (%s)" % (claim.backend, claim.because) for claim in strongest)
        usable = [claim.backend for claim in strongest if claim.backend in SUPPORTED]
        advice = "name the one to use in ipoib_backend: %s" % " or ".join(usable) if usable else "neither is supported in this release"
        raise Refused("more than one network stack manages this node: %s; %s" % (listed, advice))
    claim = strongest[0]
    if claim.backend not in SUPPORTED:
        raise Unsupported(
            "this node's network is managed by %s (%s): planned, not in this release; use a node on %s, or set ipoib_backend to one that runs beside it"
            % (claim.backend, claim.because, " or ".join(SUPPORTED))
        )
    return claim.backend


def _check_named(asked: str, evidence: Evidence) -> None:
    if asked == NETWORKD and not evidence.active("systemd-networkd.service"):
        raise Refused("ipoib_backend is systemd-networkd, but systemd-networkd.service is not active here: start and enable it, or name another back-end")
    if asked == IFUPDOWN and "ifup" not in evidence.tools:
        raise Refused("ipoib_backend is ifupdown, but ifup is not installed here: install the package ifupdown, or name another back-end")


__all__ = ("IFUPDOWN", "NETWORKD", "SUPPORTED", "UNITS", "Claim", "Evidence", "choose", "claims")
