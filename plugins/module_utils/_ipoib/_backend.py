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

UNITS = (
    "systemd-networkd.service",
    "NetworkManager.service",
    "networking.service",
    "network.service",
    "wickedd.service",
    "rdma-ofed-ipoib-mode.service",
)


class Evidence(t.NamedTuple):
    """What there is to decide on."""

    units: t.Mapping[str, Unit]
    tools: frozenset[str] = frozenset()
    """Those of C(ifup), C(netplan), C(networkctl), C(nmcli), C(wicked) that are installed."""
    netplan_files: tuple[str, ...] = ()
    networkd_files: tuple[str, ...] = ()
    """The administrator's own .network files, without those of this collection."""
    ifupdown_names: tuple[str, ...] = ()
    """The interfaces that ifupdown's files configure, without those of this collection."""
    netplan_renderer: str = "networkd"
    ifcfg_files: tuple[str, ...] = ()
    """The administrator's own ifcfg files of Red Hat's kind."""

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
    by_netplan = ""
    if evidence.netplan_files and "netplan" in evidence.tools:
        by_netplan = evidence.netplan_renderer
        found.append(Claim(NETPLAN, "%s exists" % evidence.netplan_files[0], 2))
    nm = evidence.active("NetworkManager.service")
    if nm:
        # What netplan hands its files to is no stack beside it.
        found.append(Claim(NETWORKMANAGER, "NetworkManager.service is active", 1 if by_netplan == "NetworkManager" else 2))
    if evidence.active("wickedd.service"):
        found.append(Claim(WICKED, "wickedd.service is active", 2))
    if evidence.active("systemd-networkd.service"):
        own = evidence.networkd_files
        because = "systemd-networkd.service is active" + (" and %s exists" % own[0] if own else "")
        found.append(Claim(NETWORKD, because, 2 if own else 1))
    if evidence.active("network.service") and evidence.ifcfg_files:
        # Where NetworkManager runs, it reads these files, and the service passes them over.
        found.append(Claim(IFCFG, "network.service is active and %s exists" % evidence.ifcfg_files[0], 1 if nm else 2))
    networking = evidence.units.get("networking.service", Unit("networking.service"))
    if "ifup" in evidence.tools and (networking.active == "active" or networking.enabled == "enabled"):
        names = [name for name in evidence.ifupdown_names if name != "lo"]
        because = "networking.service is %s" % ("active" if networking.active == "active" else "enabled")
        found.append(Claim(IFUPDOWN, because + (" and configures %s" % ", ".join(names) if names else ""), 2 if names else 0))
    return tuple(found)


def in_use(evidence: Evidence) -> frozenset[str]:
    """The stacks whose files matter here, whoever reads them."""
    found = {claim.backend for claim in claims(evidence)}
    return frozenset(found | {IFCFG} if evidence.ifcfg_files else found)


def choose(asked: str, evidence: Evidence) -> str:
    """The back-end to use. Raises Refused where two stacks claim the node, or the named one does not run."""
    if asked != "auto":
        _check_named(asked, evidence)
        return asked
    found = claims(evidence)
    if not found:
        raise Unsupported(
            "no network stack that this module knows manages this node: none of %s is in use; enable one of them, or name it in ipoib_backend "
            "to learn what it lacks" % ", ".join(SUPPORTED)
        )
    weight = max(claim.weight for claim in found)
    strongest = [claim for claim in found if claim.weight == weight]
    if len(strongest) > 1:
        listed = "; ".join("%s (%s)" % (claim.backend, claim.because) for claim in strongest)
        advice = " or ".join(claim.backend for claim in strongest)
        raise Refused("more than one network stack manages this node: %s; name the one to use in ipoib_backend: %s" % (listed, advice))
    _check_named(strongest[0].backend, evidence)
    return strongest[0].backend


# What has to run, or to be installed, for a back-end to be of use.
_SERVICES = {NETWORKD: "systemd-networkd.service", NETWORKMANAGER: "NetworkManager.service", WICKED: "wickedd.service"}
_TOOLS = {NETWORKD: "networkctl", IFUPDOWN: "ifup", NETWORKMANAGER: "nmcli", NETPLAN: "netplan", WICKED: "wicked"}
_RENDERERS = {"networkd": NETWORKD, "NetworkManager": NETWORKMANAGER}


def _check_named(asked: str, evidence: Evidence) -> None:
    service = _SERVICES.get(asked, "")
    if service and not evidence.active(service):
        raise Refused("ipoib_backend is %s, but %s is not active here: start and enable it, or name another back-end" % (asked, service))
    tool = _TOOLS.get(asked, "")
    if tool and tool not in evidence.tools and asked != NETWORKD:
        raise Refused("ipoib_backend is %s, but %s is not installed here: install it, or name another back-end" % (asked, tool))
    if asked == IFCFG and "ifup" not in evidence.tools and not evidence.active("NetworkManager.service"):
        raise Refused("ipoib_backend is ifcfg, but neither network-scripts (ifup) nor NetworkManager is here to read such files: name another back-end")
    if asked == NETPLAN:
        renderer = _SERVICES[_RENDERERS[evidence.netplan_renderer]]
        if not evidence.active(renderer):
            raise Refused("netplan's renderer here is %s, but %s is not active: start and enable it" % (evidence.netplan_renderer, renderer))
