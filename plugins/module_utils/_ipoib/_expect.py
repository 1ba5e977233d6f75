# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the check of a node expects of its interfaces: the planner of the role would change nothing, and the state outside of plans is right."""

from __future__ import annotations

import typing as t

from .. import _expectation as expect
from .. import _finding
from .._errors import RdmaError
from .._finding import Code, Finding, Topic, of_change
from .._plan import Kind
from ._concern import Options, hints, wanted_of
from ._found import Found
from ._input import ROLLBACK_MIN, problems
from ._linkplan import is_lent
from ._look import whole
from ._plan import plan
from ._references import resolve
from ._wanted import GROUP_MTUS, KERNEL_MTU, interfaces_of, is_guid, parse_pkey, same_partition

if t.TYPE_CHECKING:
    from .._facts._netdevs import Netdev
    from .._facts._ports import Port
    from ._wanted import Interface


def _as_now(found: Found, around: expect.Around) -> Found:
    """Add the state of links, which the plan of the role does not need. Only this look knows what the stack refuses."""

    def of_stack(netdev: Netdev) -> Netdev:
        known = found.netdevs.get(netdev.name, netdev)
        return netdev._replace(connected_capable=known.connected_capable, connected_reason=known.connected_reason)

    return found._replace(ports=around.ports, netdevs={netdev.name: of_stack(netdev) for netdev in around.netdevs})


def _declared(options: Options, found: Found) -> tuple[Interface, ...]:
    """The declared interfaces by their names on this node. An interface whose port is missing keeps the GUID as its name."""
    return interfaces_of(resolve([("", item) for item in options.interfaces], found.facts).interfaces)


def findings(options: Options, found: Found, around: expect.Around) -> list[Finding]:
    """What the planner would change, or why it refuses; then deviations that no plan changes."""
    found = _as_now(found, around)
    declared = _declared(options, found)
    absent = {
        item.name: Finding(Code.NO_INTERFACE, Kind.INTERFACE, item.name, "device", "present", "absent", _why_absent(item, found))
        for item in sorted(declared, key=lambda item: item.name)
        if item.present and item.name not in found.netdevs
    }
    try:
        wanted = wanted_of(options, found)
        todo = plan(wanted, found)
    except RdmaError as exc:
        return [*absent.values(), Finding(Code.REFUSED, Topic.IPOIB, detail="; ".join(exc.msg.splitlines()))]
    for name in (*todo.deferred, *(naming.name for naming in todo.renames)):
        absent.pop(name, None)
    result = list(absent.values())
    gone = {record.name for record in todo.removed} - {item.name for item in declared}
    for change in todo.plan.changes:
        # The check may cover a part of what the role declares: other interfaces are no findings, nor are files that both parts share.
        if gone and (change.kind == Kind.FILE or change.subject in gone):
            continue
        # A missing interface differs in every aspect. The MTU is compared below: the planner leaves it to a broadcast group that limits it.
        if not (change.kind == Kind.INTERFACE and (change.subject in absent or change.aspect == "mtu")):
            result.append(of_change(change))
    for item in todo.live:
        if item.name in found.netdevs:
            result += [*_mtu(item, found.netdevs[item.name]), *_lease(item, found.netdevs[item.name])]
    for dissent in todo.dissents:
        result.append(Finding(Code.DIFFERS, Kind.INTERFACE, dissent.name, _finding.MANAGER, dissent.backend, dissent.said, dissent.remedy()))
    for item in declared:
        if item.is_child and item.name in found.netdevs and not todo.touches(item.name, ("device",)):
            result += _child(item, found.netdevs[item.name], found.ports)
    return result


def _why_absent(item: Interface, found: Found) -> str:
    if item.is_child:
        return _finding.ABSENT_CHILD if item.parent in found.netdevs else _finding.ABSENT_PARENT
    if not found.loaded:
        return _finding.ABSENT_DRIVER
    return _finding.ABSENT_NAME if any(port.link_layer == "InfiniBand" for port in found.ports) else _finding.ABSENT_PORT


def _mtu(item: Interface, netdev: Netdev) -> list[Finding]:
    if not item.mtu or netdev.mtu == item.mtu:
        return []
    # Without a carrier the group is not joined yet, and may allow a larger MTU.
    clamped = netdev.mode == "datagram" and netdev.carrier and netdev.mtu < item.mtu and netdev.mtu in GROUP_MTUS
    code = Code.MTU_CLAMPED if clamped else Code.DIFFERS
    return [Finding(code, Kind.INTERFACE, item.name, "mtu", str(item.mtu), str(netdev.mtu), "4096" if item.mtu > KERNEL_MTU else "2048")]


def _lease(item: Interface, netdev: Netdev) -> list[Finding]:
    """The finding about an interface without an address from DHCP. Which one it is, is up to the server."""
    lent = [address for address in (*netdev.dynamic_addresses, *netdev.addresses) if is_lent(item, address)]
    return [Finding(Code.NO_LEASE, Kind.INTERFACE, item.name, "dhcp", "present", "absent")] if item.dhcp and not lent else []


def _child(item: Interface, netdev: Netdev, ports: t.Sequence[Port]) -> list[Finding]:
    """Findings about a P_Key child that was created by other means."""
    if not item.present:
        return [Finding(Code.DIFFERS, Kind.INTERFACE, item.name, "device", "absent", "present")]
    if same_partition(item.pkey, parse_pkey(netdev.pkey) or 0):
        active = any(port.name == netdev.port and port.state == "ACTIVE" for port in ports)
        silent = active and netdev.up and not netdev.carrier
        return [Finding(Code.NO_CARRIER, Kind.INTERFACE, item.name, "carrier", "present", "none", "0x%04x" % item.pkey)] if silent else []
    return [Finding(Code.DIFFERS, Kind.INTERFACE, item.name, "pkey", "0x%04x" % item.pkey, netdev.pkey or "unknown")]


def _wanted(variables: expect.Variables) -> Options | None:
    """The options. Nothing is changed here, so the planner need not refuse changes that cut the management connection or remove interfaces."""
    interfaces = variables["ipoib_interfaces"]
    return Options(interfaces, variables["ipoib_backend"], rollback_timeout=ROLLBACK_MIN, allow_removal=True) if interfaces else None


def _interfaces(options: Options, found: Found | None) -> list[expect.Interface]:
    declared = interfaces_of(options.interfaces) if found is None else _declared(options, found)
    over = ((item, item.parent or item.name) for item in declared if item.present)
    return [expect.Interface(item.name, name.lower() if is_guid(name) else name) for item, name in over]


EXPECTATION = expect.Expectation(
    "ipoib",
    options={"interfaces": "ipoib_interfaces"},
    problems=problems,
    wanted=_wanted,
    hints=hints,
    look=lambda node, _options, _around: node.once(whole),
    form=Found,
    findings=findings,
    interfaces=_interfaces,
)
