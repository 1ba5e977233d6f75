# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wanted against found: every finding about a node. Pure.

What interfaces, kernel modules and GPU memory should look like is known to the planners of the roles: a change that is
left in a plan is a finding. The rest is what only a live fabric tells.
"""

from __future__ import annotations

import typing as t

from .. import _finding
from .._facts._portname import describe_all, is_named, renaming
from .._finding import Code, Finding, Topic, rank_of
from .._firmware import _expect as firmware
from .._gpudirect import _expect as gpudirect
from .._hosts import natural
from .._ipoib import _expect as ipoib
from .._ipoib._references import resolve
from .._ipoib._wanted import interfaces_of
from .._kmod import _expect as kmod
from .._kmod._limits import KEEP
from .._opensm._told import findings as told_findings
from .._stack import _expect as stack
from .._tools._smpquery import SPEEDS
from ._live import Query, Scope, choose_port, names_of
from ._managers import manager_findings, opensm_findings

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from .._ipoib._wanted import Interface
    from ._live import Card
    from ._types import Fabric, Found, Wanted

# Logical and physical state of a port.
ACTIVE = "ACTIVE and LinkUp"

WIDTHS = ("1X", "2X", "4X", "8X", "12X")


def interfaces(wanted: Wanted, found: Found) -> tuple[Interface, ...]:
    """The declared interfaces, by the names that they have on this node. One whose port is missing keeps the GUID as its name."""
    if wanted.ipoib is None or found.ipoib is None:
        return ()
    return interfaces_of(resolve([("", item) for item in wanted.ipoib.interfaces], found.ipoib.facts).interfaces)


def scope_of(wanted: Wanted) -> Scope:
    """What a look is to read for a check, without the interfaces that are meant."""
    return Scope(
        ports=wanted.ports,
        queries=tuple(Query(each.fabric, each.ports, each.designated, each.standby) for each in wanted.fabrics) if wanted.subnet_manager else (),
        limits=wanted.kmod is not None and wanted.kmod.memlock != KEEP,
        stack=wanted.stack is not None,
        pcie=wanted.pcie,
    )


def checked_ports(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """The declared ports by the names that they have on this node, else those under the declared interfaces."""
    under = [item.parent or item.name for item in interfaces(wanted, found) if item.present]
    return names_of(Scope(wanted.ports, under), found.live.ports, found.live.netdevs, virtual=found.live.virtual)


def cards_of(wanted: Wanted, found: Found) -> list[Card]:
    """The adapters under the checked ports."""
    devices = sorted({name.partition("/")[0] for name in checked_ports(wanted, found)}, key=natural)
    return [found.live.cards[device] for device in devices if device in found.live.cards]


def fabric_port(wanted: Wanted, found: Found, fabric: Fabric) -> Port | None:
    """The port through which the subnet manager of a fabric is queried."""
    return choose_port(checked_ports(wanted, found), found.live.ports, fabric.ports)


def fabric_of_port(wanted: Wanted, port: Port | None) -> Fabric | None:
    """The fabric that a port of this node is on; None where that is not declared."""
    if len(wanted.fabrics) == 1 and not wanted.fabrics[0].ports:
        return wanted.fabrics[0]
    return next((each for each in wanted.fabrics if port is not None and is_named(port._asdict(), each.ports)), None)


def findings(wanted: Wanted, found: Found) -> list[Finding]:
    """Everything that is not as declared; what explains others comes before them."""
    live = found.live
    result = stack.findings(wanted.stack, live.stack) if wanted.stack is not None and live.stack is not None else []
    result += [*_ports(wanted, found), *found.links]
    checked = {_without_function(card.pci) for card in cards_of(wanted, found)}
    accepted = set(map(_without_function, wanted.pcie_accepted))
    for slot in live.slots:
        if slot.degraded and _without_function(slot.pci) in checked - accepted:
            result.append(Finding(Code.PCIE_DEGRADED, Topic.ADAPTER, slot.pci, wanted=slot.able.words, found=slot.now.words))
    result += firmware.findings(found.firmware) if found.firmware is not None else []
    if wanted.subnet_manager:
        for fabric in wanted.fabrics:
            port = fabric_port(wanted, found, fabric)
            # A finding of the port tells why no subnet manager can be asked.
            explained = port is not None and port.phys_state != "LinkUp" and port.name in checked_ports(wanted, found)
            result += [] if explained else manager_findings(wanted, live, fabric, port=port)
        result += opensm_findings(wanted.fabrics, live)
        for manager in live.managers:
            result += told_findings(manager.told)
    if wanted.ipoib is not None and found.ipoib is not None:
        result += ipoib.findings(wanted.ipoib, found.ipoib, interfaces(wanted, found))
    if wanted.kmod is not None and found.kmod is not None:
        result += kmod.findings(wanted.kmod, found.kmod, limits=live.limits, daemons=live.daemons)
    if wanted.gpus is not None and found.gpus is not None:
        result += gpudirect.findings(wanted.gpus, found.gpus)
    return sorted(result, key=lambda finding: rank_of(finding.code.value, finding.kind.value))


def _ports(wanted: Wanted, found: Found) -> list[Finding]:
    """Each checked port that is not as it should be; with a declared number of ports, those that are not declared are counted instead."""
    declared = set(names_of(Scope(wanted.ports), found.live.ports, (), virtual=found.live.virtual)) if wanted.ports else set()
    under = {item.parent or item.name for item in interfaces(wanted, found) if item.present}
    declared |= {netdev.port for netdev in found.live.netdevs if netdev.name in under}
    told = {finding.subject for finding in found.links if finding.code == Code.LINK_DEGRADED}
    result, short_of = [], []
    for name in checked_ports(wanted, found):
        own = _port(name, found.live.ports) or ([] if name in told else _pace(wanted, name, found.live.ports))
        if own and name not in declared and wanted.port_count:
            short_of.append(name)
        elif own and name not in declared:
            # Such a port may be meant to be empty.
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
    """The link of a port that has fewer lanes, or slower ones, than it must have. Fast lanes are used in pairs, as by HDR100; slower ones never."""
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
    """Any function of a card stands for it."""
    return pci.rpartition(".")[0]
