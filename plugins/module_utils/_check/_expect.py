# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compare the wanted state of a node with the found state, and list every finding. Pure.

The planners of the roles know what the concerns should look like: each change left in a plan is a finding. This module adds what only a live
fabric tells.
"""

from __future__ import annotations

import typing as t

from .. import _finding
from .._expectation import Around
from .._expectations import EXPECTATIONS
from .._facts._portname import describe_all, is_named, renaming
from .._finding import Code, Finding, Topic, rank_of
from .._hosts import natural
from .._opensm._told._expect import findings as told_findings
from .._performance._expect import findings as performance_findings
from .._tools._smpquery import SPEEDS
from ._live._types import Query, Scope, choose_port, names_of
from ._managers import manager_findings, opensm_findings
from ._partitions import partition_findings
from ._wanted import FAILS, UNCHECKED

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from ._found import Found
    from ._live._types import Card
    from ._types import Fabric
    from ._wanted import Wanted

# Logical and physical state of a port.
ACTIVE = "ACTIVE and LinkUp"

WIDTHS = ("1X", "2X", "4X", "8X", "12X")


def scope_of(wanted: Wanted) -> Scope:
    """What a look has to read for a check, except the declared interfaces."""
    fabrics = wanted.fabrics if wanted.subnet_manager else ()
    return Scope(
        ports=wanted.ports,
        queries=tuple(Query(each.fabric, each.ports, each.designated, each.standby, bool(each.partitions)) for each in fabrics),
        pcie=wanted.pcie,
        performance=wanted.performance != UNCHECKED,
    )


def checked_ports(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """The declared ports under their names on this node, else the ports under the declared interfaces."""
    under = [interface.over for interface in wanted.interfaces(found)]
    return names_of(Scope(wanted.ports, under), found.live.ports, found.live.netdevs, virtual=found.live.virtual)


def around(wanted: Wanted, found: Found) -> Around:
    return Around(found.live.ports, found.live.netdevs, checked_ports(wanted, found))


def cards_of(wanted: Wanted, found: Found) -> list[Card]:
    """The adapters of the checked ports."""
    devices = sorted({name.partition("/")[0] for name in checked_ports(wanted, found)}, key=natural)
    return [found.live.cards[device] for device in devices if device in found.live.cards]


def fabric_port(wanted: Wanted, found: Found, fabric: Fabric) -> Port | None:
    """The port through which the subnet manager of a fabric is queried."""
    return choose_port(checked_ports(wanted, found), found.live.ports, fabric.ports)


def fabric_of_port(wanted: Wanted, port: Port | None) -> Fabric | None:
    """The fabric that a port of this node is on; None where it is not declared."""
    if len(wanted.fabrics) == 1 and not wanted.fabrics[0].ports:
        return wanted.fabrics[0]
    return next((each for each in wanted.fabrics if port is not None and is_named(port._asdict(), each.ports)), None)


def findings(wanted: Wanted, found: Found) -> list[Finding]:
    """Everything that is not as declared. A finding that explains others comes before them."""
    here = around(wanted, found)
    of_concerns = [
        finding
        for each in EXPECTATIONS
        if each.name in wanted.concerns and each.name in found.concerns
        for finding in each.findings(wanted.concerns[each.name], found.concerns[each.name], here)
    ]
    # A vendor tool reports more about a degraded link than the kernel does.
    degraded = {finding.subject for finding in of_concerns if finding.code == Code.LINK_DEGRADED}
    result = [*_ports(wanted, found, degraded), *_slots(wanted, found), *_managers(wanted, found), *of_concerns, *_performance(wanted, found)]
    return sorted(result, key=lambda finding: rank_of(finding.code.value, finding.kind.value))


def _slots(wanted: Wanted, found: Found) -> list[Finding]:
    checked = {_without_function(card.pci) for card in cards_of(wanted, found)}
    due = checked - set(map(_without_function, wanted.pcie_accepted))
    slow = [slot for slot in found.live.slots if slot.degraded and _without_function(slot.pci) in due]
    return [Finding(Code.PCIE_DEGRADED, Topic.ADAPTER, slot.pci, wanted=slot.able.words, found=slot.now.words) for slot in slow]


def _performance(wanted: Wanted, found: Found) -> list[Finding]:
    """Findings about what slows down the adapters of the checked ports."""
    if wanted.performance == UNCHECKED:
        return []
    judged = {card.pci for card in cards_of(wanted, found)}
    rates = {pci: max((port.rate_gbps for port in found.live.ports if port.pci == pci), default=0.0) for pci in judged}
    return performance_findings(found.live.performance, rates, strict=wanted.performance == FAILS)


def _managers(wanted: Wanted, found: Found) -> list[Finding]:
    if not wanted.subnet_manager:
        return []
    live, result = found.live, []
    for fabric in wanted.fabrics:
        port = fabric_port(wanted, found, fabric)
        # The finding about the port explains why no subnet manager can be queried.
        explained = port is not None and port.phys_state != "LinkUp" and port.name in checked_ports(wanted, found)
        result += [] if explained else [*manager_findings(wanted, live, fabric, port=port), *partition_findings(live, fabric)]
    told = [finding for manager in live.managers for finding in told_findings(manager.told)]
    return [*result, *opensm_findings(wanted.fabrics, live), *told]


def _ports(wanted: Wanted, found: Found, degraded: t.Container[str]) -> list[Finding]:
    """Findings about each checked port. With a declared number of ports, ports that are not declared themselves are counted instead.

    A port in `degraded` already has a finding about its link.
    """
    declared = set(names_of(Scope(wanted.ports), found.live.ports, (), virtual=found.live.virtual)) if wanted.ports else set()
    under = {interface.over for interface in wanted.interfaces(found)}
    declared |= {netdev.port for netdev in found.live.netdevs if netdev.name in under}
    result, short_of = [], []
    for name in checked_ports(wanted, found):
        own = _port(name, found.live.ports) or ([] if name in degraded else _pace(wanted, name, found.live.ports))
        if own and name not in declared and wanted.port_count:
            short_of.append(name)
        elif own and name not in declared:
            # An undeclared port may be left empty on purpose.
            result += [each._replace(detail=_finding.UNDECLARED) if each.code == Code.LINK_DOWN else each for each in own]
        else:
            result += own
    ports = [port for port in found.live.ports if port.in_fabric and port.device not in found.live.virtual]
    good = [port for port in ports if not _port(port.name, (port,)) and not _pace(wanted, port.name, (port,))]
    if wanted.port_count and len(good) < wanted.port_count:
        least = " at %s or faster" % wanted.min_speed if wanted.min_speed else ""
        detail = ", ".join(port.name for port in ports if port not in good)
        result.append(Finding(Code.TOO_FEW_PORTS, Topic.PORTS, "", "", "%d %s%s" % (wanted.port_count, ACTIVE, least), str(len(good)), detail))
    return result


def _pace(wanted: Wanted, name: str, ports: t.Sequence[Port]) -> list[Finding]:
    """The finding about a link that is narrower or slower than required. By default HDR and faster need 2X (as HDR100), EDR 4X, and slower ones 1X."""
    port = next((port for port in ports if port.name == name), None)
    if port is None or port.speed not in SPEEDS or port.width not in WIDTHS:
        return []
    speed, width = SPEEDS.index(port.speed), WIDTHS.index(port.width)
    usual = "2X" if speed >= SPEEDS.index("HDR") else "4X" if speed >= SPEEDS.index("EDR") else "1X"
    least = wanted.min_width or usual
    slow = bool(wanted.min_speed) and speed < SPEEDS.index(wanted.min_speed)
    if not slow and width >= WIDTHS.index(least):
        return []
    words = "it runs at %s %s, %s %s is wanted" % (port.width, port.speed, least, wanted.min_speed or port.speed)
    return [Finding(Code.LINK_DEGRADED, Topic.PORT, name, found=words)]


def _port(name: str, ports: t.Sequence[Port]) -> list[Finding]:
    port = next((port for port in ports if port.name == name), None)
    if port is None:
        there = [port._asdict() for port in ports]
        detail = "; ".join(text for text in (describe_all(there) or "none", renaming(name, there)) if text)
        return [Finding(Code.NO_PORT, Topic.PORT, name, wanted=ACTIVE, detail=detail)]
    if port.link_layer != "InfiniBand":
        return [Finding(Code.DIFFERS, Topic.PORT, name, "link_layer", "InfiniBand", port.link_layer)]
    state = "%s and %s" % (port.state, port.phys_state)
    if (port.state, port.phys_state) != ("ACTIVE", "LinkUp"):
        return [Finding(Code.PORT_NOT_CONFIGURED if port.phys_state == "LinkUp" else Code.LINK_DOWN, Topic.PORT, name, "", ACTIVE, state)]
    return [] if port.sm_lid else [Finding(Code.NO_SM_LID, Topic.PORT, name, "sm_lid", found="0")]


def _without_function(pci: str) -> str:
    """The PCI address of a card without the function: any function stands for the card."""
    return pci.rpartition(".")[0]
