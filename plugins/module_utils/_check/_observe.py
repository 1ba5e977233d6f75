# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Reads of a node what the inventory speaks of. Changes nothing and decides nothing."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._compare import fabric_port
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Master, Observed, Opensm
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._facts._hcas import read_hcas
from ansible_collections.rdma.ofed.plugins.module_utils._facts._links import read_links
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import read_netdevs
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import read_processes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import entries
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._input import NONE
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._look import look as look_at_gpus
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import LOAD_PATH, RDMA_PATH, parse_list
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Interest
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import canonical
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._plan import is_loaded, persisted_by
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery, _sminfo, _smpquery

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def observe(run: Runner, declared: Declared, release: str, root: str = "/") -> Observed:
    """The node as it is. C(release) is the running kernel. What can't be read comes out as missing, with the reason."""
    ports = read_ports(root)
    netdevs = read_netdevs(root, ports, read_links(run))
    found = Observed(ports=ports, netdevs=netdevs, opensm=read_opensm(root))
    if declared.modules:
        loaded, persisted = _modules(run, declared, release, root)
        found = found._replace(loaded=loaded, persisted=persisted)
    if declared.gpudirect != NONE:
        found = found._replace(gpus=look_at_gpus(run, release, root=root))
    if declared.subnet_manager:
        found = _with_master(run, declared, found)
    return found


def identities(run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Adapters, ports and interfaces, in the shape of the rdma facts: what interfaces are called that are declared by their port."""
    ports = read_ports(root)
    netdevs = read_netdevs(root, ports, read_links(run))
    return {
        "hcas": [hca._asdict() for hca in read_hcas(root)],
        "ports": [port._asdict() for port in ports],
        "netdevs": [netdev._asdict() for netdev in netdevs],
    }


def _modules(run: Runner, declared: Declared, release: str, root: str) -> tuple[frozenset[str], frozenset[str]]:
    """The declared modules that are loaded, and those that something loads at boot."""
    found = look(run, release, Interest(), root)
    own = parse_list(LOAD_PATH, found.load_text) + (parse_list(RDMA_PATH, found.rdma_text) if found.rdma_core else [])
    listed = {found.catalogue.resolve(entry.name) or entry.name for entry in own}
    loaded, persisted = set(), set()
    for name in declared.modules:
        module = found.catalogue.resolve(name) or canonical(name)
        if is_loaded(module, found):
            loaded.add(name)
        if module in listed or persisted_by(module, found):
            persisted.add(name)
    return frozenset(loaded), frozenset(persisted)


def read_opensm(root: str = "/") -> Opensm:
    """opensm processes, and the units named after it that a target wants at boot.

    From the links that C(systemctl enable) makes: they say what happens at the next boot, whatever systemd has loaded.
    """
    base = os.path.join(root, "etc/systemd/system")
    enabled: set[str] = set()
    for wants in entries(base):
        if wants.endswith((".wants", ".requires")):
            enabled.update(unit for unit in entries(base, wants) if "opensm" in unit and not _masked(base, unit))
    pids = [process.pid for process in read_processes(root) if process.comm == "opensm"]
    return Opensm(tuple(pids), tuple(sorted(enabled)))


def _masked(base: str, unit: str) -> bool:
    path = os.path.join(base, unit)
    return os.path.islink(path) and os.readlink(path) == "/dev/null"


def _with_master(run: Runner, declared: Declared, found: Observed) -> Observed:
    port = fabric_port(declared, found)
    reason = _why_not(run, port)
    if port is None or reason:
        return found._replace(master_error=reason)
    try:
        answer = _sminfo.query(run, port.device, port.port)
        if answer is None:
            return found._replace(master_error="nobody answers on port %s" % port.name)
        master = Master(answer.guid, answer.lid, answer.priority, answer.state)
        if declared.designated:
            records = _saquery.sm_records(run, port.device, port.port)
            masters = tuple(record.guid for record in records if record.is_master) if records is not None else None
            return found._replace(master=master, masters=masters)
        return found._replace(master=master._replace(description=_smpquery.node_description(run, port.device, port.port, master.lid)))
    except RdmaError as exc:
        # The tools of infiniband-diags explain themselves over several lines; a deviation is one.
        return found._replace(master_error="; ".join(exc.msg.splitlines()))


def _why_not(run: Runner, port: Port | None) -> str:
    """Why the subnet manager can't be asked; "" where it can."""
    if port is None:
        return "this node has no InfiniBand port"
    if port.phys_state != "LinkUp":
        return "no link on port %s: it is %s" % (port.name, port.phys_state)
    missing = [tool for tool in ("sminfo", "saquery", "smpquery") if not run.has(tool)]
    return "%s not installed: the role ofed does that (ofed_tools)" % " and ".join(missing) if missing else ""
