# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of the module: a whole fabric, or its selected nodes."""

from __future__ import annotations

import operator
import time
import typing as t

from .._errors import InvalidInput, Problem, Unshown
from .._facts._asked import asked_port
from .._facts._sysfs import entries
from .._foreign import integer
from .._host._files import read_text, under
from .._opensm._conf import CONF, parse_conf
from .._opensm._places import SETTINGS
from .._opensm._told._expect import findings
from .._opensm._told._look import listen
from .._opensm._words import row
from .._record import as_data
from . import _look
from ._choice import Filter, chosen, filter_of
from ._gap import Code, Gap
from ._subnet import Group, Partition, Subnet, end_ports, groups, partitions
from ._words import problem

if t.TYPE_CHECKING:
    from .._facts._ports import Port
    from .._host._run import Runner
    from .._tools._sminfo import SmInfo
    from .._tools._smpquery import SwitchFirmware

MANAGERS, PARTITIONS, GROUPS, FIRMWARE = "subnet_managers", "partitions", "multicast_groups", "switch_firmware"


class Fabric(t.NamedTuple):
    """All that is known about a fabric."""

    subnet: Subnet = Subnet()
    managers: tuple[SmInfo, ...] = ()
    partitions: tuple[Partition, ...] = ()
    groups: tuple[Group, ...] = ()
    firmware: t.Mapping[str, SwitchFirmware] = {}
    """The firmware of switches, by node GUID."""
    gaps: tuple[Gap, ...] = ()


def _key(text: str) -> str:
    """The key for trusted queries. Anything but a number is rejected, because saquery would prompt for it on a terminal."""
    if text and integer(text) is None:
        raise InvalidInput([Problem("sa_key", Unshown("hidden"), "a number such as 0x1")])
    return text or _look.DEFAULT_SA_KEY


def read_fabric(run: Runner, port: Port, options: t.Mapping[str, t.Any]) -> Fabric:
    """Everything that the options request, for all nodes."""
    key = _key(options["sa_key"])
    asking = _look.Asking(run, port)
    subnet = asking.subnet(options["node_name_map"])
    gather = options["gather"]
    managers = asking.managers() if {MANAGERS, PARTITIONS, GROUPS}.intersection(gather) else None
    switches = {node.guid: node.lid for node in subnet.nodes if node.port_guid and node.lid}
    return Fabric(
        subnet,
        managers or (),
        partitions(asking.pkeys(key), end_ports(subnet)) if managers is not None and PARTITIONS in gather else (),
        groups(asking.members(key), _owners(subnet)) if managers is not None and GROUPS in gather else (),
        asking.firmware(switches) if FIRMWARE in gather else {},
        # Evaluated last: each query before may add gaps.
        (*asking.gaps, *subnet.gaps),
    )


def _owners(subnet: Subnet) -> dict[str, str]:
    """Names of nodes by port GUID."""
    found = {port.port_guid: port.name for port in subnet.ports}
    return {**found, **{node.port_guid: subnet.names[node.guid] for node in subnet.nodes if node.port_guid}}


_OF_END = ("node_guid", "name", "port", "port_guid", "lid", "state", "width", "speed")
_values_of_end = operator.attrgetter(*_OF_END)


def shown(fabric: Fabric, wanted: Filter) -> dict[str, t.Any]:
    """The data in the form of a result; if nodes are selected, only theirs."""
    subnet = fabric.subnet
    nodes, absent = chosen(subnet, wanted)
    ports = [port for port in subnet.ports if nodes is None or port.node_guid in nodes]
    links = [link for link in subnet.links if nodes is None or any(end.node_guid in nodes for end in link.ends)]
    there = [node for node in subnet.nodes if nodes is None or node.guid in nodes]
    lids: dict[str, list[int]] = {node.guid: [node.lid] if node.lid else [] for node in there}
    for port in ports:
        if port.lid and port.lid not in lids[port.node_guid]:
            lids[port.node_guid].append(port.lid)
    guids = {port.port_guid for port in ports} | {node.port_guid for node in there}
    names = _owners(subnet)
    rows = []
    for node in there:
        firmware = fabric.firmware.get(node.guid)
        row = {key: value for key, value in node._asdict().items() if key not in ("lid", "lmc", "kind")}
        about = {"type": node.kind, "name": subnet.names[node.guid], "lids": lids[node.guid]}
        rows.append({**row, **about, "firmware": firmware.version if firmware else "", "psid": firmware.psid if firmware else ""})

    def of_these(members: tuple[str, ...]) -> tuple[str, ...]:
        return members if nodes is None else tuple(guid for guid in members if guid in guids)

    partitioned = [each._replace(full=of_these(each.full), limited=of_these(each.limited)) for each in fabric.partitions]
    grouped = [each._replace(members=tuple(one for one in each.members if nodes is None or one.port_guid in guids)) for each in fabric.groups]
    return {
        "nodes": rows,
        "ports": [port._asdict() for port in ports],
        "links": [{**link._asdict(), "ends": [dict(zip(_OF_END, _values_of_end(end))) for end in link.ends]} for link in links],
        "subnet_managers": [{**manager.details(), "name": names.get(manager.guid, "")} for manager in fabric.managers],
        "partitions": [as_data(each) for each in partitioned if nodes is None or each.full or each.limited],
        "multicast_groups": [as_data(each) for each in grouped if nodes is None or each.members],
        "totals": {
            **{plural: sum(node.kind == kind for node in subnet.nodes) for plural, kind in (("switches", "switch"), ("cas", "ca"), ("routers", "router"))},
            "ports": len(subnet.ports),
            "links": len(subnet.links),
            "degraded": sum(link.degraded is True for link in subnet.links),
        },
        "problems": [problem(gap) for gap in (*fabric.gaps, *absent)],
    }


def _manager(run: Runner, port: Port, root: str) -> list[dict[str, str]]:
    """Where our subnet manager on this port did not apply its files as declared. Empty without such a manager."""
    folder = under(root, SETTINGS)
    fabrics = [name for name in entries(folder) if parse_conf(read_text("%s/%s/%s" % (folder, name, CONF))).get("guid") == port.port_guid]
    return [row(finding) for fabric in fabrics for finding in findings(listen(run, fabric, port, root=root))]


def report(run: Runner, options: t.Mapping[str, t.Any], root: str = "/") -> dict[str, t.Any]:
    """The result of the module. Raises InvalidInput."""
    started = time.monotonic()
    wanted = filter_of(options)
    port = asked_port(options["port"], root)
    fabric = read_fabric(run, port, options) if port else Fabric(gaps=(Gap(Code.NO_PORT),))
    result = shown(fabric, wanted)
    manager = _manager(run, port, root) if port else []
    return {**result, "manager": manager, "port": port.name if port else "", "seconds": round(time.monotonic() - started, 2)}
