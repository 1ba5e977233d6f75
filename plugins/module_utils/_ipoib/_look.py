# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Look at a node: files of the back-ends, interfaces, ports, and the path of this run's connection."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts import _connections, _modules, _netdevs, _ports, _stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, number
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, show_units
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _condense, _ipv6, _registry, _rename, _rollback
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Evidence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import BondState, Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Route
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _ip

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def look(run: Runner, environ: t.Mapping[str, str], root: str = "/", *, declared: t.Mapping[str, str] | None = None) -> Found:
    """The state in the form in which it may leave the node, see _condense."""
    return _condense.condensed(look_whole(run, environ, root), declared)


def look_whole(run: Runner, environ: t.Mapping[str, str], root: str = "/") -> Found:
    """The state with all files whole. A few processes: `ip` three times and `systemctl`, and one or two more for ssh, OFED and back-ends."""
    ports = _ports.read_ports(root)
    stack = _stack.read_stack(run, root)
    netdevs = _netdevs.read_netdevs(root, ports, links=_ip.read_links(run), refused=_stack.connected_refused(stack))
    names = {_boot.UNIT, *(name for backend in _registry.BACKENDS for name in (backend.service, *backend.units) if name)}
    units = show_units(run, sorted(names)) if run.has("systemctl") else {}
    files = read_files(root)
    device = _connections.read_ssh(run, netdevs, environ, root=root).device
    tools = {tool for backend in _registry.BACKENDS for tool in (backend.tool, *backend.tools) if tool and run.has(tool)}
    evidence = Evidence(units, frozenset(tools), files)
    backends = {backend.name: backend.look(run, evidence, root) for backend in _registry.BACKENDS}
    by_name = {netdev.name: netdev for netdev in netdevs}
    enabled = any(backend.enables_ipv6 and backends[backend.name].in_use for backend in _registry.BACKENDS)
    return Found(
        netdevs=by_name,
        files=files,
        backends=backends,
        boot_unit=units.get(_boot.UNIT, Unit(_boot.UNIT)),
        ssh_path=frozenset(netdev.name for netdev in _netdevs.below(device, netdevs)),
        bonds={netdev.name: read_bond(root, netdev.name) for netdev in netdevs if netdev.kind == "bond"},
        routes=_routes(run),
        hcas=tuple(_ports.read_hcas(root)),
        ports=tuple(ports),
        stack=stack,
        loaded=any(module.name == "ib_ipoib" for module in _modules.read_loaded(root)),
        ipv6_refused=_ipv6.refused(root, by_name, enabled),
        armed=_rollback.is_armed(run, root),
    )


def _routes(run: Runner) -> dict[str, tuple[Route, ...]]:
    found: dict[str, tuple[Route, ...]] = {}
    for row in _ip.read_static_routes(run):
        found[row.device] = (*found.get(row.device, ()), Route(row.to, row.via, row.metric))
    return found


def read_bond(root: str, name: str) -> BondState:
    """The options of a bond, as sysfs has them: `active-backup 1`."""
    base = os.path.join(root, "sys/class/net", name, "bonding")

    def word(option: str) -> str:
        return (attribute(base, option).split() or [""])[0]

    return BondState(word("mode"), number(word("miimon")) or 0, word("primary"), word("fail_over_mac"))


def read_files(root: str = "/") -> dict[str, str]:
    """The text of every file that a decision depends on, by its path below `root`."""
    patterns = [*_boot.PATHS, _rename.RULE_PATH, *(pattern for backend in _registry.BACKENDS for pattern in backend.patterns)]
    paths = sorted({path for pattern in patterns for path in glob.glob(os.path.join(root, pattern.lstrip("/"))) if os.path.isfile(path)})
    return {"/" + os.path.relpath(path, root): read_text(path) for path in paths}
