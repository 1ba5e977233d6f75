# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Look at a node: files of the network stacks, interfaces, ports, and the path of this run's connection."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts import _hcas, _links, _modules, _netdevs, _ports, _ssh, _stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, show_units
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _backend, _boot, _ifupdown, _ipv6, _networkd
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import Node

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

NETPLAN = "/etc/netplan"


class Look(t.NamedTuple):
    """Everything that one look found."""

    node: Node
    evidence: _backend.Evidence
    facts: dict[str, t.Any]
    """The parts of the C(rdma) facts that validation reads, and C(ipv6_refused), see _ipv6."""
    ifupdown_up: frozenset[str]


def look(run: Runner, environ: t.Mapping[str, str], root: str = "/") -> Look:
    """Two processes, C(ip) and C(systemctl), and one more each where the connection comes over ssh or OFED is installed."""
    ports = _ports.read_ports(root)
    stack = _stack.read_stack(run, root)
    netdevs = _netdevs.read_netdevs(root, ports, _links.read_links(run), _stack.connected_refused(stack))
    units = show_units(run, _backend.UNITS) if run.has("systemctl") else {}
    files = read_files(root)
    device = _ssh.read_ssh(run, netdevs, environ, root).device
    evidence = _backend.Evidence(
        units=units,
        tools=frozenset(tool for tool in ("ifup", "netplan", "networkctl") if run.has(tool)),
        netplan_files=tuple(sorted(_below(root, path) for path in glob.glob(_above(root, NETPLAN) + "/*.yaml"))),
        networkd_files=_networkd.own_files(files),
        ifupdown_names=_ifupdown.own_names(files),
    )
    node = Node(
        netdevs={netdev.name: netdev for netdev in netdevs},
        files=files,
        boot_unit=units.get(_boot.UNIT, Unit(_boot.UNIT)),
        ssh_path=frozenset(netdev.name for netdev in _netdevs.below(device, netdevs)),
        stacks=frozenset(claim.backend for claim in _backend.claims(evidence)),
    )
    facts: dict[str, t.Any] = {
        "hcas": [hca._asdict() for hca in _hcas.read_hcas(root)],
        "ports": [port._asdict() for port in ports],
        "netdevs": [netdev._asdict() for netdev in netdevs],
        "modules": [module._asdict() for module in _modules.read_loaded(root)],
        "stack": stack._asdict(),
        "ipv6_refused": _ipv6.refused(root, node.netdevs, node.stacks),
    }
    return Look(node, evidence, facts, _ifupdown.up_interfaces(read_text(_above(root, _ifupdown.STATE))))


def read_files(root: str = "/") -> dict[str, str]:
    """The text of every file that a decision depends on, by its path below C(root)."""
    patterns = ["%s/*.%s" % (directory, suffix) for directory in _networkd.DIRECTORIES for suffix in ("network", "netdev")]
    patterns += [_ifupdown.DIRECTORY + "/*", _ifupdown.MAIN, *_boot.PATHS]
    paths = sorted({path for pattern in patterns for path in glob.glob(_above(root, pattern)) if os.path.isfile(path)})
    return {_below(root, path): read_text(path) for path in paths}


def _above(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _below(root: str, path: str) -> str:
    return "/" + os.path.relpath(path, root)


__all__ = ("Look", "look", "read_files")
