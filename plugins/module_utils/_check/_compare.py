# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Declared against observed: every deviation, and the rows of the table. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._types import CLAMPED_MTU, Deviation, Row
from ansible_collections.rdma.ofed.plugins.module_utils._check._who import is_designated, short
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._verify import findings
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import parse_address, parse_pkey, same_partition

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Observed
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface

MASTER = 3
SM_STATES = {0: "not active", 1: "discovering", 2: "standby", 3: "master"}

# What a datagram interface has where the broadcast group is an ordinary 2K one: 2048 less the 4 bytes of the IPoIB header.
MTU_2K = 2044


def checked_ports(declared: Declared, observed: Observed) -> tuple[str, ...]:
    """The ports that are looked at: the declared ones, else those under the declared interfaces."""
    if declared.ports:
        return declared.ports
    under = {netdev.name: netdev.port for netdev in observed.netdevs}
    wanted = [under.get(item.parent or item.name, "") for item in declared.interfaces if item.present]
    return tuple(dict.fromkeys(port for port in wanted if port))


def fabric_port(declared: Declared, observed: Observed) -> Port | None:
    """The port through which the subnet manager is asked: the first checked one that is ACTIVE, else any that is."""
    names = checked_ports(declared, observed)
    candidates = [port for port in observed.ports if port.link_layer == "InfiniBand" and (not declared.fabric_ports or port.name in declared.fabric_ports)]
    candidates.sort(key=lambda port: (port.state != "ACTIVE", port.name not in names, port.name))
    return candidates[0] if candidates else None


def compare(declared: Declared, observed: Observed) -> list[Deviation]:
    """Everything that is not as declared, in the order ports, subnet manager, interfaces, modules, GPU memory."""
    found: list[Deviation] = []
    for name in checked_ports(declared, observed):
        found += _port(name, observed.ports)
    if declared.subnet_manager:
        found += _subnet_manager(declared, observed)
    netdevs = {netdev.name: netdev for netdev in observed.netdevs}
    for item in declared.interfaces:
        found += _interface(item, netdevs.get(item.name))
    for module in declared.modules:
        found += _module(module, observed)
    if observed.gpus is not None:
        found += [Deviation(*finding) for finding in findings(declared.gpudirect, observed.gpus)]
    return found


def _port(name: str, ports: t.Sequence[Port]) -> list[Deviation]:
    what = "port %s" % name
    port = next((port for port in ports if port.name == name), None)
    if port is None:
        there = ", ".join(sorted(port.name for port in ports))
        return [Deviation(what, "ACTIVE and LinkUp", "no such port", "this node has %s" % (there or "no RDMA port at all"))]
    if port.link_layer != "InfiniBand":
        return [Deviation(what, "link layer InfiniBand", port.link_layer)]
    if port.state != "ACTIVE" or port.phys_state != "LinkUp":
        hint = "the link is up: no subnet manager has configured the port yet" if port.phys_state == "LinkUp" else "look at the cable and the switch port"
        return [Deviation(what, "ACTIVE and LinkUp", "%s and %s" % (port.state, port.phys_state), hint)]
    if not port.sm_lid:
        return [Deviation("%s sm_lid" % what, "the LID of the subnet manager", "0", "no subnet manager has introduced itself to the port")]
    return []


def _subnet_manager(declared: Declared, observed: Observed) -> list[Deviation]:
    what = "subnet manager of fabric %s" % declared.fabric
    wanted = "one master on %s" % (declared.designated_host or "the designated host")
    found: list[Deviation] = []
    master = observed.master
    if master is None:
        found.append(Deviation(what, wanted, "none", observed.master_error or "no answer"))
    elif master.state != MASTER:
        found.append(Deviation(what, wanted, "%s in state %s" % (short(master), SM_STATES.get(master.state, str(master.state)))))
    elif is_designated(declared, observed, master) is False:
        found.append(
            Deviation(
                what,
                wanted,
                "the master is %s" % short(master),
                "another opensm or a managed switch; or the designated host under a name that fabric_check_designated_names lacks",
            )
        )
    if observed.masters is not None and len(observed.masters) > 1:
        found.append(Deviation(what, wanted, "%d masters: %s" % (len(observed.masters), ", ".join(observed.masters))))
    found += _opensm(declared, observed)
    return found


def _opensm(declared: Declared, observed: Observed) -> list[Deviation]:
    running = "running (process %s)" % ", ".join(map(str, observed.opensm.pids)) if observed.opensm.pids else "not running"
    enabled = "enabled (%s)" % ", ".join(observed.opensm.enabled) if observed.opensm.enabled else "not enabled at boot"
    as_found = "%s, %s" % (running, enabled)
    if (declared.designated or declared.standby) and not (observed.opensm.pids and observed.opensm.enabled):
        hint = "this is the designated host" if declared.designated else "it stands by for the designated host %s" % declared.designated_host
        return [Deviation("opensm", "running, enabled at boot", as_found, hint)]
    if not declared.designated and not declared.standby and (observed.opensm.pids or observed.opensm.enabled):
        return [Deviation("opensm", "not running, not enabled at boot", as_found, "the designated host is %s" % (declared.designated_host or "another one"))]
    return []


def _interface(item: Interface, netdev: Netdev | None) -> list[Deviation]:
    what = "interface %s" % item.name
    if not item.present:
        # The interface of the port itself comes with ib_ipoib and can't be absent: only a P_Key child can.
        return [Deviation(what, "absent", "present")] if netdev is not None and item.is_child else []
    if netdev is None:
        return [Deviation(what, "present", "absent", "is ib_ipoib loaded, and is the port there?")]
    found: list[Deviation] = []
    if not netdev.up:
        found.append(Deviation(what, "up", "down"))
    # The mode of a bond is that of its ports.
    if item.bond is None and item.mode != "auto" and netdev.mode != item.mode:
        found.append(Deviation("%s mode" % what, item.mode, netdev.mode or "unknown"))
    if item.mtu and netdev.mtu != item.mtu:
        clamped = netdev.mode == "datagram" and item.mtu > netdev.mtu == MTU_2K
        # Without a carrier the group is not joined yet, and may turn out to allow more.
        clamped = clamped and netdev.carrier
        found.append(Deviation("%s mtu" % what, str(item.mtu), str(netdev.mtu), CLAMPED_MTU if clamped else ""))
    if item.pkey and not same_partition(item.pkey, parse_pkey(netdev.pkey) or 0):
        found.append(Deviation("%s pkey" % what, "0x%04x" % item.pkey, netdev.pkey or "unknown"))
    if netdev.master != item.master:
        found.append(Deviation("%s bond" % what, item.master or "none", netdev.master or "none"))
    there = {parse_address(address) for address in netdev.addresses}
    missing = [address for address in item.addresses if address not in there]
    if missing:
        found.append(Deviation("%s addresses" % what, ", ".join(missing), ", ".join(netdev.addresses) or "none"))
    return found


def _module(name: str, observed: Observed) -> list[Deviation]:
    what = "kernel module %s" % name
    found: list[Deviation] = []
    if name not in observed.loaded:
        found.append(Deviation(what, "loaded", "not loaded"))
    if name not in observed.persisted:
        found.append(Deviation(what, "loaded at boot", "in no list of modules to load at boot"))
    return found


def table_rows(declared: Declared, observed: Observed, deviations: t.Sequence[Deviation]) -> list[Row]:
    """One row for each declared interface with the port under it, and for each checked port without a declared interface."""
    ports = {port.name: port for port in observed.ports}
    netdevs = {netdev.name: netdev for netdev in observed.netdevs}
    wanted = [item.name for item in declared.interfaces if item.present]
    pairs = [(netdevs[name].port if name in netdevs else "", name) for name in wanted]
    covered = {port for port, _name in pairs}
    pairs += [(port, "") for port in checked_ports(declared, observed) if port not in covered]
    if not pairs:
        port = fabric_port(declared, observed)
        pairs = [(port.name if port else "", "")]
    subjects = {deviation.object.split(" ")[1] for deviation in deviations if deviation.object.startswith(("port ", "interface "))}
    of_rows = {name for pair in pairs for name in pair if name}
    # A deviation of the node as a whole makes each of its rows bad: no row of a bad node may read OK.
    whole_node = any(not deviation.object.startswith(("port ", "interface ")) for deviation in deviations) or bool(subjects - of_rows)
    rows = []
    for port_name, name in sorted(pairs):
        bad = whole_node or port_name in subjects or name in subjects
        rows.append(_row(ports.get(port_name), port_name, netdevs.get(name), name, _sm_column(declared, observed))._replace(result="BAD" if bad else "OK"))
    return rows


def _row(port: Port | None, port_name: str, netdev: Netdev | None, name: str, manager: str) -> Row:
    row = Row(port=port_name or "-", interface=name or "-", sm=manager)
    if port is not None:
        row = row._replace(state=port.state, lid=str(port.lid), sm_lid=str(port.sm_lid), rate=port.rate.split(" (")[0] or "-")
    if netdev is not None:
        row = row._replace(mode=netdev.mode or "-", mtu=str(netdev.mtu), addresses=" ".join(netdev.addresses) or "-")
    return row


def _sm_column(declared: Declared, observed: Observed) -> str:
    """C(master) on the node that holds the master, else who the master is."""
    if observed.master is None:
        return "-"
    if any(port.port_guid == observed.master.guid for port in observed.ports):
        return "master"
    return declared.designated_host if is_designated(declared, observed, observed.master) else short(observed.master)
