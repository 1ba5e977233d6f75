# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Wanted against found: every finding about a node. Pure.

What interfaces, kernel modules and GPU memory should look like is known to the planners of the roles: a change that is
left in a plan is a finding. The rest is what only a live fabric tells.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import Code, Finding, Topic, of_change
from ansible_collections.rdma.ofed.plugins.module_utils._check._who import is_designated, short
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _plan as gpudirect
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import LEGACY, PEERMEM
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._method import decide
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import parse_address, parse_pkey, same_partition
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _plan as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Wanted, WantedGpus
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found as Gpus
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Wanted as Interface

# Logical and physical state of a port.
ACTIVE = "ACTIVE and LinkUp"

MASTER = 3
SM_STATES = {0: "not active", 1: "discovering", 2: "standby", 3: "master"}

# The name under which nvidia_peermem and nv_peer_mem register with the RDMA stack.
PEER_MEMORY_CLIENT = "nv_mem"

# What a datagram interface has where the broadcast group is an ordinary 2K one: 2048 less the 4 bytes of the IPoIB header.
MTU_2K = 2044


def checked_ports(wanted: Wanted, found: Found) -> tuple[str, ...]:
    """The declared ports, else those under the declared interfaces."""
    if wanted.ports:
        return wanted.ports
    under = {netdev.name: netdev.port for netdev in found.netdevs}
    ports = [under.get(item.parent or item.name, "") for item in wanted.interfaces if item.present]
    return tuple(dict.fromkeys(port for port in ports if port))


def fabric_port(wanted: Wanted, found: Found) -> Port | None:
    """The port through which the subnet manager is queried: the first checked one that is ACTIVE, else any that is."""
    names = checked_ports(wanted, found)
    candidates = [port for port in found.ports if port.link_layer == "InfiniBand" and (not wanted.fabric_ports or port.name in wanted.fabric_ports)]
    candidates.sort(key=lambda port: (port.state != "ACTIVE", port.name not in names, port.name))
    return candidates[0] if candidates else None


def findings(wanted: Wanted, found: Found) -> list[Finding]:
    """Everything that is not as declared, in the order ports, subnet manager, interfaces, modules, GPU memory."""
    result = [finding for name in checked_ports(wanted, found) for finding in _port(name, found.ports)]
    if wanted.subnet_manager:
        result += [*_subnet_manager(wanted, found), *_opensm(wanted, found)]
    netdevs = {netdev.name: netdev for netdev in found.netdevs}
    for item in wanted.interfaces:
        result += _interface(item, netdevs.get(item.name))
    if wanted.modules is not None and found.modules is not None:
        result += [of_change(change) for change in kmod.plan(wanted.modules, found.modules).changes]
    if wanted.gpus is not None and found.gpus is not None:
        result += _gpus(wanted.gpus, found.gpus)
    return result


def _port(name: str, ports: t.Sequence[Port]) -> list[Finding]:
    port = next((port for port in ports if port.name == name), None)
    if port is None:
        there = ", ".join(sorted(port.name for port in ports))
        return [Finding(Code.NO_PORT, Topic.PORT, name, wanted=ACTIVE, detail=there or "none")]
    if port.link_layer != "InfiniBand":
        return [Finding(Code.DIFFERS, Topic.PORT, name, "link_layer", "InfiniBand", port.link_layer)]
    state = "%s and %s" % (port.state, port.phys_state)
    if state != ACTIVE:
        return [Finding(Code.PORT_NOT_CONFIGURED if port.phys_state == "LinkUp" else Code.LINK_DOWN, Topic.PORT, name, "", ACTIVE, state)]
    return [] if port.sm_lid else [Finding(Code.NO_SM_LID, Topic.PORT, name, "sm_lid", found="0")]


def _subnet_manager(wanted: Wanted, found: Found) -> list[Finding]:
    def finding(code: Code, master: str, detail: str = "") -> Finding:
        return Finding(code, Topic.SUBNET_MANAGER, wanted.fabric, "", wanted.designated_host or "the designated host", master, detail)

    result = []
    master = found.master
    if master is None:
        result.append(finding(Code.NO_MASTER, "", found.master_error or "no answer"))
    elif master.state != MASTER:
        result.append(finding(Code.NOT_MASTER, short(master), SM_STATES.get(master.state, str(master.state))))
    elif is_designated(wanted, found, master) is False:
        result.append(finding(Code.OTHER_MASTER, short(master)))
    if found.masters is not None and len(found.masters) > 1:
        result.append(finding(Code.SEVERAL_MASTERS, ", ".join(found.masters), str(len(found.masters))))
    return result


def _opensm(wanted: Wanted, found: Found) -> list[Finding]:
    runs = wanted.designated or wanted.standby
    code = Code.OPENSM_DESIGNATED if wanted.designated else Code.OPENSM_STANDBY if wanted.standby else Code.OPENSM_SURPLUS
    result = []
    for aspect, there, (yes, no) in (("state", found.opensm.pids, ("running", "stopped")), ("enabled", found.opensm.enabled, ("enabled", "disabled"))):
        if bool(there) != runs:
            shown = "%s (%s)" % (yes, ", ".join(map(str, there))) if there else no
            result.append(Finding(code, Topic.OPENSM, "", aspect, yes if runs else no, shown, wanted.designated_host or "another one"))
    return result


def _interface(item: Interface, netdev: Netdev | None) -> list[Finding]:
    def finding(aspect: str, wanted: str, found: str, code: Code = Code.DIFFERS, detail: str = "") -> Finding:
        return Finding(code, Kind.INTERFACE, item.name, aspect, wanted, found, detail)

    if not item.present:
        # The interface of the port itself comes with ib_ipoib and can't be absent: only a P_Key child can.
        return [finding("device", "absent", "present")] if netdev is not None and item.is_child else []
    if netdev is None:
        return [finding("device", "present", "absent", Code.NO_INTERFACE)]
    result: list[Finding] = []
    if not netdev.up:
        result.append(finding("state", "up", "down"))
    # The mode of a bond is that of its ports.
    if item.bond is None and item.mode != "auto" and netdev.mode != item.mode:
        result.append(finding("mode", item.mode, netdev.mode or "unknown"))
    if item.mtu and netdev.mtu != item.mtu:
        # Without a carrier the group is not joined yet, and may turn out to allow more.
        clamped = netdev.mode == "datagram" and item.mtu > netdev.mtu == MTU_2K and netdev.carrier
        result.append(finding("mtu", str(item.mtu), str(netdev.mtu), Code.MTU_CLAMPED if clamped else Code.DIFFERS, "5"))
    if item.pkey and not same_partition(item.pkey, parse_pkey(netdev.pkey) or 0):
        result.append(finding("pkey", "0x%04x" % item.pkey, netdev.pkey or "unknown"))
    if netdev.master != item.master:
        result.append(finding("bond", item.master, netdev.master))
    there = {parse_address(address) for address in netdev.addresses}
    missing = [address for address in item.addresses if address not in there]
    if missing:
        result.append(finding("addresses", ", ".join(missing), ", ".join(netdev.addresses)))
    return result


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
