# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Reads from a node what the inventory declares. Changes nothing and decides nothing."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._findings import fabric_port
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Found, Master, Opensm, Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import read_netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import read_processes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import entries
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look as look_at_gpus
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import look_whole as look_at_interfaces
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import look as look_at_modules
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import TOOLS
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import is_masked
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ip import read_links

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def look(run: Runner, wanted: Wanted, release: str, *, environ: t.Mapping[str, str], root: str = "/") -> Found:
    """`release` is the running kernel. What can't be read comes out as missing, with the reason."""
    ipoib = look_at_interfaces(run, environ, root) if wanted.ipoib is not None else None
    ports = ipoib.ports if ipoib is not None else read_ports(root)
    found = Found(
        ports=ports,
        netdevs=tuple(ipoib.netdevs.values()) if ipoib is not None else read_netdevs(root, ports, links=read_links(run)),
        ipoib=ipoib,
        kmod=look_at_modules(run, release, load_now=wanted.kmod.load_now, root=root) if wanted.kmod is not None else None,
        gpus=look_at_gpus(run, release, root=root) if wanted.gpus is not None else None,
        stack=read_stack(run, root) if wanted.stack is not None else None,
        opensm=read_opensm(root),
    )
    return _with_master(run, wanted, found) if wanted.subnet_manager else found


def read_opensm(root: str = "/") -> Opensm:
    """opensm processes, and the units named after it that a target wants at boot.

    From the links that `systemctl enable` makes: they tell what happens at the next boot, whatever systemd has loaded.
    """
    base = os.path.join(root, "etc/systemd/system")
    enabled: set[str] = set()
    for wants in entries(base):
        if wants.endswith((".wants", ".requires")):
            enabled.update(unit for unit in entries(base, wants) if "opensm" in unit and not is_masked(os.path.join(base, unit)))
    pids = [process.pid for process in read_processes(root) if process.comm == "opensm"]
    return Opensm(tuple(pids), tuple(sorted(enabled)))


def _with_master(run: Runner, wanted: Wanted, found: Found) -> Found:
    port = fabric_port(wanted, found)
    reason = _why_not(run, port)
    if port is None or reason:
        return found._replace(master_error=reason)
    try:
        answer = _sminfo.query(run, port.device, port.port)
        if answer is None:
            return found._replace(master_error="no subnet manager answers on port %s" % port.name)
        master = Master(answer.guid, answer.state)
        if wanted.designated:
            records = _saquery.sm_records(run, port.device, port.port)
            masters = tuple(record.guid for record in records if record.is_master) if records is not None else None
            return found._replace(master=master, masters=masters)
        return found._replace(master=master._replace(description=_smpquery.node_description(run, port.device, port.port, lid=answer.lid)))
    except RdmaError as exc:
        # The tools of infiniband-diags explain themselves over several lines; a deviation is one.
        return found._replace(master_error="; ".join(exc.msg.splitlines()))


def _why_not(run: Runner, port: Port | None) -> str:
    """Why the subnet manager can't be queried; "" where it can."""
    if port is None:
        return "this node has no InfiniBand port"
    if port.phys_state != "LinkUp":
        return "no link on port %s: it is %s" % (port.name, port.phys_state)
    missing = [tool for tool in TOOLS if not run.has(tool)]
    return "%s not installed: the role ofed installs them (ofed_tools)" % " and ".join(missing) if missing else ""
