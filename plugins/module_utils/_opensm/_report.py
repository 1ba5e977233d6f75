# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Report the subnet managers of a node, and those that its ports see. Read-only."""

from __future__ import annotations

import os
import time
import typing as t

from .._errors import RdmaError
from .._facts._portname import is_named, named_ports
from .._facts._ports import Port, read_ports
from .._foreign import decimal
from .._host._units import Unit, show_units, systemd_runs
from .._tools import _sminfo
from ._conf import CONF, parse_conf
from ._fabric._found import see
from ._fabric._judge import missing
from ._look import look
from ._master import Known
from ._places import fabric_of, file_path, unit_name

if t.TYPE_CHECKING:
    from .._host._run import Runner
    from ._fabric._found import FabricFound
    from ._found import Found


def _instances(run: Runner, found: Found, systemd: bool) -> list[dict[str, t.Any]]:
    """The subnet managers of this host: our instances, then all others that run."""
    fabrics = [os.path.basename(os.path.dirname(path)) for path in found.files if os.path.basename(path) == CONF]
    ours = {unit_name(fabric): fabric for fabric in fabrics}
    names = sorted({*ours, *found.running})
    shown = show_units(run, names) if systemd and names else {}
    strays = [Unit("", active="active", main_pid=pid) for pid in found.strays]
    rows = []
    for unit in (*(shown.get(name, Unit(name)) for name in names), *strays):
        conf = parse_conf(found.files.get(file_path(fabric_of(unit.name)), ""))
        rows.append(
            {
                "unit": unit.name,
                "fabric": ours.get(unit.name, ""),
                "active": unit.active,
                "enabled": unit.name in found.enabled,
                "pid": unit.main_pid,
                "port_guid": conf.get("guid", ""),
                "priority": decimal(conf.get("sm_priority", "")),
                "log_file": conf.get("log_file", ""),
            }
        )
    return rows


def _manager(fabric: FabricFound, manager: _sminfo.SmInfo, known: Known) -> dict[str, t.Any]:
    description = fabric.description(manager.lid)
    host = known.host(manager.guid, description)
    return {**manager.details(), "node_description": description, "host": host, "here": manager.guid in known.own}


def _fabric_on(run: Runner, port: Port, *, known: Known, root: str) -> dict[str, t.Any]:
    """What one port sees of its fabric. Where the fabric can't be queried, `problem` says why."""
    base: dict[str, t.Any] = {key: getattr(port, key) for key in ("port_guid", "state", "phys_state", "lid", "sm_lid")}
    groups = port.gid.split(":")
    prefix = "0x%s" % "".join(groups[:4]) if len(groups) == 8 else ""
    base.update(port=port.name, subnet_prefix=prefix, master=None, alive=False, managers=[])
    absent = [tool for tool in _sminfo.TOOLS if not run.has(tool)]
    if absent:
        return {**base, "problem": "%s not installed" % ", ".join(absent)}
    try:
        fabric = see(run, port, root)
        managers = [_manager(fabric, manager, known) for manager in fabric.managers or ()]
        master = fabric.master and _manager(fabric, fabric.master, known)
        alive = fabric.master is not None and fabric.is_alive
        problem = missing(fabric) or ("" if alive else "the master answers, but its activity count does not change: it hangs")
        return {**base, "master": master, "alive": alive, "managers": managers, "problem": problem}
    except RdmaError as exc:
        # The error messages of infiniband-diags span several lines.
        return {**base, "problem": "; ".join(exc.msg.splitlines())}


def report(run: Runner, *, names: t.Sequence[str], inventory: Known, root: str = "/") -> dict[str, t.Any]:
    """The result of the module. `names`: port names; none for all InfiniBand ports. Raises InvalidInput for a port that does not exist.

    `inventory`: the hosts of the inventory, which are reported by name.
    """
    started = time.monotonic()
    ports = [port for port in read_ports(root) if port.infiniband]
    there = [port._asdict() for port in ports]
    named_ports({"ports[%d]" % index: name for index, name in enumerate(names)}, there, none="none: this host has no InfiniBand port")
    found = look(run, root)
    own = _instances(run, found, systemd_runs(root))
    fabrics = {item["port_guid"]: item["fabric"] for item in own if item["port_guid"]}
    known = inventory._replace(own=frozenset(port.port_guid for port in ports))
    asked = [port for port in ports if (is_named(port._asdict(), names) if names else port.in_fabric)]
    return {
        "fabrics": [{**_fabric_on(run, port, known=known, root=root), "fabric": fabrics.get(port.port_guid, "")} for port in asked],
        "instances": own,
        "masked": list(found.masked),
        "seconds": round(time.monotonic() - started, 2),
    }
