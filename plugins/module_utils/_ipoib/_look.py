# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""Look at a node: files of the network stacks, interfaces, ports, and the path of this run's connection."""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts import _hcas, _links, _modules, _netdevs, _ports, _ssh, _stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, number
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, show_units
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import (
    _backend,
    _boot,
    _ifcfg,
    _ifupdown,
    _ipv6,
    _netplan,
    _networkd,
    _networkmanager,
    _nmcli,
    _rename,
    _wicked,
)
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import BondState, Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._stacks import Variant
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Route

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

TOOLS = ("ifup", "netplan", "networkctl", "nmcli", "wicked")


class Look(t.NamedTuple):
    """Everything that one look found."""

    node: Node
    evidence: _backend.Evidence
    facts: dict[str, t.Any]
    """The parts of the C(rdma) facts that validation reads, and C(ipv6_refused), see _ipv6."""
    ifupdown_up: frozenset[str]
    nm_active: t.Mapping[str, _nmcli.Active]
    """What NetworkManager has active, by interface."""


def look(run: Runner, environ: t.Mapping[str, str], root: str = "/") -> Look:
    """A few processes: C(ip) three times and C(systemctl), and one or two more where ssh, OFED, netplan or NetworkManager is there."""
    ports = _ports.read_ports(root)
    stack = _stack.read_stack(run, root)
    netdevs = _netdevs.read_netdevs(root, ports, _links.read_links(run), _stack.connected_refused(stack))
    units = show_units(run, _backend.UNITS) if run.has("systemctl") else {}
    files = read_files(root)
    device = _ssh.read_ssh(run, netdevs, environ, root).device
    evidence = _evidence(run, units, files)
    nm_active = _nmcli.read_active(run) if _nm_runs(evidence) else {}
    ifupdown_up = _ifupdown.up_interfaces(read_text(_above(root, _ifupdown.STATE)))
    node = Node(
        netdevs={netdev.name: netdev for netdev in netdevs},
        files=files,
        boot_unit=units.get(_boot.UNIT, Unit(_boot.UNIT)),
        ssh_path=frozenset(netdev.name for netdev in _netdevs.below(device, netdevs)),
        stacks=_backend.in_use(evidence),
        variant=_variant(run, evidence),
        raised=_nm_runs(evidence),
        bonds={netdev.name: read_bond(root, netdev.name) for netdev in netdevs if netdev.kind == "bond"},
        routes=_routes(run),
        pkeys={port.name: port.pkeys for port in ports},
        held=_held(files, netdevs, ifupdown_up, nm_active, evidence.netplan_renderer),
    )
    facts: dict[str, t.Any] = {
        "hcas": [hca._asdict() for hca in _hcas.read_hcas(root)],
        "ports": [port._asdict() for port in ports],
        "netdevs": [netdev._asdict() for netdev in netdevs],
        "modules": [module._asdict() for module in _modules.read_loaded(root)],
        "stack": stack._asdict(),
        "ipv6_refused": _ipv6.refused(root, node.netdevs, node.stacks),
    }
    return Look(node, evidence, facts, ifupdown_up, nm_active)


def _evidence(run: Runner, units: t.Mapping[str, Unit], files: t.Mapping[str, str]) -> _backend.Evidence:
    netplan_files = _netplan.own_files(files)
    said = [match for path in netplan_files for match in re.findall(r"^\s*renderer\s*:\s*[\"']?(\w+)", files[path], re.MULTILINE)]
    return _backend.Evidence(
        units=units,
        tools=frozenset(tool for tool in TOOLS if run.has(tool)),
        netplan_files=netplan_files,
        networkd_files=_networkd.own_files(files),
        ifupdown_names=_ifupdown.own_names(files),
        netplan_renderer=_netplan.NETWORKMANAGER if said and said[0] == _netplan.NETWORKMANAGER else _netplan.NETWORKD,
        ifcfg_files=_ifcfg.own_files(files),
    )


def _nm_runs(evidence: _backend.Evidence) -> bool:
    return "nmcli" in evidence.tools and evidence.active("NetworkManager.service")


def _variant(run: Runner, evidence: _backend.Evidence) -> Variant:
    knows = True
    if evidence.netplan_files and "netplan" in evidence.tools:
        # The list of features: the version is not said by every release.
        knows = re.search(r"\binfiniband\b", run(["netplan", "info"], ok=None).stdout) is not None
    return Variant(evidence.netplan_renderer, knows, _nmcli.read_version(run) if _nm_runs(evidence) else None)


def _routes(run: Runner) -> dict[str, tuple[Route, ...]]:
    found: dict[str, tuple[Route, ...]] = {}
    for row in _links.read_static_routes(run):
        found[row.device] = (*found.get(row.device, ()), Route(row.to, row.via, row.metric))
    return found


def _held(
    files: t.Mapping[str, str], netdevs: t.Sequence[Netdev], ifupdown_up: frozenset[str], nm_active: t.Mapping[str, _nmcli.Active], renderer: str
) -> dict[str, frozenset[str]]:
    """See C(Node.held). Where a stack has no list of its own: those that are up and have a file of ours."""
    up = {netdev.name for netdev in netdevs if netdev.up}
    keyfiles = frozenset(name for name, active in nm_active.items() if active.name in (_networkmanager.connection_id(name), "netplan-" + name))
    found = {
        _backend.IFUPDOWN: ifupdown_up,
        _backend.NETWORKMANAGER: keyfiles,
        _backend.IFCFG: frozenset(up.intersection(_ifcfg.records(files))),
        _backend.WICKED: frozenset(up.intersection(_wicked.records(files))),
    }
    if renderer == _netplan.NETWORKMANAGER:
        found[_backend.NETPLAN] = keyfiles
    return found


def read_bond(root: str, name: str) -> BondState:
    """The options of a bond, as sysfs has them: C(active-backup 1)."""
    base = os.path.join(root, "sys/class/net", name, "bonding")

    def word(option: str) -> str:
        return (attribute(base, option).split() or [""])[0]

    return BondState(word("mode"), number(word("miimon")) or 0, word("primary"), word("fail_over_mac"))


def read_files(root: str = "/") -> dict[str, str]:
    """The text of every file that a decision depends on, by its path below C(root)."""
    patterns = ["%s/*.%s" % (directory, suffix) for directory in _networkd.DIRECTORIES for suffix in ("network", "netdev")]
    patterns += [_networkd.DIRECTORY + "/*.network.d/50-rdma-ofed.conf", _ifupdown.DIRECTORY + "/*", _ifupdown.MAIN, *_boot.PATHS, _rename.RULE_PATH]
    patterns += [directory + "/*" for directory in _networkmanager.DIRECTORIES]
    patterns += [_networkmanager.CARRIER_PATH, *(directory + "/*.yaml" for directory in _netplan.DIRECTORIES)]
    patterns += ["%s/%s-*" % (_ifcfg.DIRECTORY, kind) for kind in ("ifcfg", "route", "route6")]
    patterns += ["%s/%s-*" % (_wicked.DIRECTORY, kind) for kind in ("ifcfg", "ifroute", "ifsysctl")] + [_wicked.SHARED_ROUTES]
    paths = sorted({path for pattern in patterns for path in glob.glob(_above(root, pattern)) if os.path.isfile(path)})
    return {_below(root, path): read_text(path) for path in paths}


def _above(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _below(root: str, path: str) -> str:
    return "/" + os.path.relpath(path, root)
