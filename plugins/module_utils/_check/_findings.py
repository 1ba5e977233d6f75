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
from .._errors import RdmaError
from .._facts._portname import describe_all, is_named, renaming
from .._finding import Code, Finding, Topic, of_change, rank_of
from .._gpudirect import _plan as gpudirect
from .._gpudirect._found import LEGACY, PEERMEM
from .._gpudirect._method import decide
from .._hosts import natural
from .._ipoib import _plan as ipoib
from .._ipoib._concern import wanted_of as ipoib_wanted
from .._ipoib._references import resolve
from .._ipoib._wanted import GROUP_MTUS, KERNEL_MTU, interfaces_of, parse_pkey, same_partition
from .._kmod import _plan as kmod
from .._kmod._config import IMAGE_PATHS, NAMING_PATH, UNMANAGED
from .._kmod._limits import KEEP, reaches
from .._kmod._limits import others as limits_of_others
from .._opensm._told import findings as told_findings
from .._plan import Kind
from .._tools._smpquery import SPEEDS
from ._live import SERVICE, SESSION, Query, Scope, choose_port, names_of
from ._managers import manager_findings, opensm_findings

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev
    from .._facts._ports import Port
    from .._facts._stack import Stack
    from .._gpudirect._found import Found as Gpus
    from .._ipoib._concern import Options as IpoibOptions
    from .._ipoib._found import Found as Ipoib
    from .._ipoib._wanted import Interface
    from .._kmod._found import Found as Modules
    from .._stack._states import Wanted as WantedStack
    from ._live import Card, Live
    from ._types import Differences, Fabric, Found, Wanted, WantedGpus

# Logical and physical state of a port.
ACTIVE = "ACTIVE and LinkUp"

# The name under which nvidia_peermem and nv_peer_mem register with the RDMA stack.
WIDTHS = ("1X", "2X", "4X", "8X", "12X")
PEER_MEMORY_CLIENT = "nv_mem"


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
    result = _stack(wanted.stack, live.stack) if wanted.stack is not None and live.stack is not None else []
    result += [*_ports(wanted, found), *found.links]
    checked = {_without_function(card.pci) for card in cards_of(wanted, found)}
    accepted = set(map(_without_function, wanted.pcie_accepted))
    for slot in live.slots:
        if slot.degraded and _without_function(slot.pci) in checked - accepted:
            result.append(Finding(Code.PCIE_DEGRADED, Topic.ADAPTER, slot.pci, wanted=slot.able.words, found=slot.now.words))
    result += _firmware(found.firmware) if found.firmware is not None else []
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
        result += _interfaces(wanted.ipoib, found.ipoib, interfaces(wanted, found))
    if wanted.kmod is not None and found.kmod is not None:
        result += _modules(wanted.kmod, found.kmod)
        result += _pending(wanted, found)
        result += _limits(wanted.kmod.memlock, found.kmod, live.limits)
        result += _daemons(wanted.kmod.memlock, found.kmod, live)
    if wanted.gpus is not None and found.gpus is not None:
        result += _gpus(wanted.gpus, found.gpus)
    return sorted(result, key=lambda finding: rank_of(finding.code.value, finding.kind.value))


def _stack(wanted: WantedStack, found: Stack) -> list[Finding]:
    if not wanted.fits(found):
        return [Finding(Code.OTHER_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]
    return [] if found.complete else [Finding(Code.HALF_STACK, Kind.STACK, wanted=wanted.words, found=found.words)]


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


def _firmware(found: Differences) -> list[Finding]:
    """What the role hca_firmware would change, what waits for the next start of an adapter, and what can't be as declared."""
    result = [of_change(change) for change in found.changes]
    # What waits for other firmware to run is not set, and has a reason for that.
    result += [of_change(entry.change)._replace(code=Code.DIFFERS if entry.why else Code.FIRMWARE_PENDING) for entry in found.pending]
    return [*result, Finding(Code.REFUSED, Topic.ADAPTERS, detail="; ".join(found.errors))] if found.errors else result


def _why_absent(item: Interface, found: Ipoib) -> str:
    if item.is_child:
        return _finding.ABSENT_CHILD if item.parent in found.netdevs else _finding.ABSENT_PARENT
    if not found.loaded:
        return _finding.ABSENT_DRIVER
    return _finding.ABSENT_NAME if any(port.link_layer == "InfiniBand" for port in found.ports) else _finding.ABSENT_PORT


def _interfaces(options: IpoibOptions, found: Ipoib, declared: t.Sequence[Interface]) -> list[Finding]:
    """What the planner would change, or why it refuses; then what no plan changes."""
    absent = {
        item.name: Finding(Code.NO_INTERFACE, Kind.INTERFACE, item.name, "device", "present", "absent", _why_absent(item, found))
        for item in sorted(declared, key=lambda item: item.name)
        if item.present and item.name not in found.netdevs
    }
    try:
        wanted = ipoib_wanted(options, found)
        todo = ipoib.plan(wanted, found)
    except RdmaError as exc:
        return [*absent.values(), Finding(Code.REFUSED, Topic.IPOIB, detail="; ".join(exc.msg.splitlines()))]
    for name in (*todo.deferred, *(naming.name for naming in todo.renames)):
        absent.pop(name, None)
    result = list(absent.values())
    gone = {record.name for record in todo.removed} - {item.name for item in declared}
    for change in todo.plan.changes:
        # The check may be for a part of what the role declares: what is there besides is no finding, nor are files that both share.
        if gone and (change.kind == Kind.FILE or change.subject in gone):
            continue
        # One that is absent differs in all aspects. The MTU is compared below: the planner leaves it to a broadcast group that clamps it.
        if not (change.kind == Kind.INTERFACE and (change.subject in absent or change.aspect == "mtu")):
            result.append(of_change(change))
    for item in todo.live:
        if item.name in found.netdevs:
            result += _mtu(item, found.netdevs[item.name])
    for dissent in todo.dissents:
        result.append(Finding(Code.DIFFERS, Kind.INTERFACE, dissent.name, _finding.MANAGER, dissent.backend, dissent.said, dissent.remedy()))
    for item in declared:
        if item.is_child and item.name in found.netdevs and not todo.touches(item.name, ("device",)):
            result += _child(item, found.netdevs[item.name], found.ports)
    return result


def _modules(wanted: kmod.Wanted, found: Modules) -> list[Finding]:
    """What the planner would change for these modules. The check may be for a part of what the role declares, whose files list more."""
    names = kmod.kernel_names(wanted, found)
    # Options and drivers for the initramfs may be declared for the role alone, where the check does not see them.
    images = bool(wanted.options or wanted.initramfs_drivers or wanted.initramfs_cmdline)
    changes = [change for change in kmod.plan(wanted._replace(load=wanted.load | found.ours), found).changes if not change.is_about(Kind.FILE, NAMING_PATH)]
    result = [
        of_change(change)
        for change in changes
        if (change.kind != Kind.MODULE or change.subject in names) and (images or not change.is_about(Kind.FILE) or change.subject not in IMAGE_PATHS)
    ]
    if wanted.device_names != UNMANAGED:
        # The rule for the names of RDMA devices, and those that do not follow it.
        result += [of_change(change) for change in (kmod.naming_change(wanted, found), *kmod.misnamed(wanted, found)) if change is not None]
    return result


def _pending(wanted: Wanted, found: Found) -> list[Finding]:
    """Options of loaded modules that are set and not in effect yet. Names of devices are findings of their own."""
    if wanted.kmod is None or found.kmod is None:
        return []
    # Of options that are yet to be set, the file is the finding.
    declared = set(wanted.kmod.options) - set(kmod.changed_options(wanted.kmod, found.kmod))
    changes = [entry.change for entry in kmod.pending(wanted.kmod, found.kmod) if entry.change.kind == Kind.PARAMETER and entry.change.subject in declared]
    return [of_change(change)._replace(code=Code.PENDING, detail=change.needs.replace("_", " ")) for change in changes]


def _limits(limit: str, found: Modules, live: t.Mapping[str, str]) -> list[Finding]:
    """The limit of locked memory, as a session and a service have it. What may not be raised is no finding."""
    result = []
    for name, lines in ((SESSION, found.session_limits), (SERVICE, found.service_limits)):
        if found.may_raise and name in live and not reaches(live[name], limit):
            others = ["%s line %d" % (line.path, line.line) for line in limits_of_others(lines, limit)]
            result.append(Finding(Code.LOW_LIMIT, Topic.LIMIT, name, "", limit, live[name], ", ".join(others)))
    return result


def _daemons(limit: str, found: Modules, live: Live) -> list[Finding]:
    """Those that began before the limit was raised. Where a service that begins now has no more, that is the finding."""
    if not found.may_raise or not reaches(live.limits.get(SERVICE, limit), limit):
        return []
    low = (daemon for daemon in live.daemons if not reaches(daemon.memlock, limit))
    return [Finding(Code.DAEMON_LIMIT, Topic.DAEMON, daemon.name, "memlock", limit, daemon.memlock, daemon.unit) for daemon in low]


def _mtu(item: Interface, netdev: Netdev) -> list[Finding]:
    if not item.mtu or netdev.mtu == item.mtu:
        return []
    # Without a carrier the group is not joined yet, and may turn out to allow more.
    clamped = netdev.mode == "datagram" and netdev.carrier and netdev.mtu < item.mtu and netdev.mtu in GROUP_MTUS
    code = Code.MTU_CLAMPED if clamped else Code.DIFFERS
    return [Finding(code, Kind.INTERFACE, item.name, "mtu", str(item.mtu), str(netdev.mtu), "4096" if item.mtu > KERNEL_MTU else "2048")]


def _child(item: Interface, netdev: Netdev, ports: t.Sequence[Port]) -> list[Finding]:
    """A P_Key child that was created by other means."""
    if not item.present:
        return [Finding(Code.DIFFERS, Kind.INTERFACE, item.name, "device", "absent", "present")]
    if same_partition(item.pkey, parse_pkey(netdev.pkey) or 0):
        active = any(port.name == netdev.port and port.state == "ACTIVE" for port in ports)
        silent = active and netdev.up and not netdev.carrier
        return [Finding(Code.NO_CARRIER, Kind.INTERFACE, item.name, "carrier", "present", "none", "0x%04x" % item.pkey)] if silent else []
    return [Finding(Code.DIFFERS, Kind.INTERFACE, item.name, "pkey", "0x%04x" % item.pkey, netdev.pkey or "unknown")]


def _gpus(wanted: WantedGpus, found: Gpus) -> list[Finding]:
    """Nothing for a node without GPU, and nothing that waits for the installed stack to be loaded."""
    if not found.gpu.devices:
        return []
    method = decide(wanted.method, found, wanted.allow_rebuild)
    if method.obstacles:
        why = "; ".join(dict.fromkeys(obstacle.cause for obstacle in method.obstacles))
        return [Finding(Code.GPU_OUT_OF_REACH, Topic.GPU_MEMORY, wanted=wanted.method, detail=why)]
    result = [of_change(change) for change in gpudirect.plan(found, wanted.options, method).changes]
    registers = method.name in (PEERMEM, LEGACY) and found.gpu.peer(method.name).loaded and not found.waits
    if registers and found.shows_clients and PEER_MEMORY_CLIENT not in found.gpu.clients:
        result.append(Finding(Code.GPU_NOT_REGISTERED, Topic.GPU_MEMORY, "", "", PEER_MEMORY_CLIENT, ", ".join(found.gpu.clients)))
    return result
