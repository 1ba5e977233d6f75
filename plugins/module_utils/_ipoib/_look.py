# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at a node: files of the back-ends, interfaces, ports, and the path of the management connection.

The state leaves the node in a small form without the content of foreign files, which may hold secrets. Planning on it gives
the same result, or raises Undecided.
"""

from __future__ import annotations

import glob
import os
import typing as t

from .._errors import RdmaError
from .._facts import _connections, _modules, _netdevs, _ports, _shared, _stack
from .._facts._sysfs import attribute
from .._foreign import integer
from .._host._files import read_text, under
from .._host._node import Node
from .._host._units import Systemd, Unit, show_units
from .._tools import _ip
from . import _boot, _registry, _rename
from ._backend import Backend, Evidence
from ._found import BondState, Found, Place, Presence, Takeover
from ._identity import coming
from ._ipv6 import ipv6_refused
from ._readers import Described, described
from ._saved import LEDGER
from ._takeover import after, takeover
from ._wanted import Route

if t.TYPE_CHECKING:
    from .._host._run import Runner


# The name of the timer and the service of a rollback, and the location of its script (_rollback.py).
ROLLBACK = "rdma-ofed-ipoib-rollback"
ROLLBACK_DIRECTORY = "/run/" + ROLLBACK

# Files that a daemon reads from several directories, of which the first with a name counts.
_MASKED = (".network", ".netdev", ".conf")


def look_whole(run: Runner, environ: t.Mapping[str, str], root: str = "/") -> Found:
    return whole(Node(run, "", environ, root))


def whole(node: Node) -> Found:
    """The state with complete files. Takes a few processes: `ip` three times, `systemctl`, and one or two more for ssh, OFED and back-ends."""
    run, environ, root = node.run, node.environ, node.root
    ports, stack = node.once(_shared.ports), node.once(_shared.stack)
    netdevs = _netdevs.read_netdevs(root, ports, links=node.once(_shared.links), refused=_stack.connected_refused(stack))
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
        ipv6_refused=ipv6_refused(root, by_name, enabled),
        no_bonding=no_bonding(root),
        saved=LEDGER.read(root),
        returns=frozenset(path for path in files if _has_returns(under(root, path))),
        armed=os.path.isdir(under(root, ROLLBACK_DIRECTORY)) and Systemd(run).is_active(ROLLBACK + ".timer", ROLLBACK + ".service"),
    )


def no_bonding(root: str) -> str:
    """Why no bond can be created: the driver is not loaded, and the running kernel has no such module."""
    if has_bonding(root):
        return ""
    release = read_text(under(root, "proc/sys/kernel/osrelease")).strip()
    texts = [read_text(under(root, "lib/modules/%s/%s" % (release, name))) for name in ("modules.dep", "modules.builtin")] if release else []
    if not any(texts) or any("/bonding.ko" in text for text in texts):
        return ""
    return "kernel %s has no bonding driver: /lib/modules/%s has no module bonding; install the package with the kernel's extra modules, or declare no bond" % (
        release,
        release,
    )


def has_bonding(root: str) -> bool:
    """Whether the bonding driver is loaded or built into the kernel."""
    return os.path.exists(os.path.join(root, "sys/class/net/bonding_masters"))


def _routes(run: Runner) -> dict[str, tuple[Route, ...]]:
    found: dict[str, tuple[Route, ...]] = {}
    for row in _ip.read_static_routes(run):
        found[row.device] = (*found.get(row.device, ()), Route(row.to, row.via, row.metric))
    return found


def read_bond(root: str, name: str) -> BondState:
    """The options of a bond from sysfs, in the form `active-backup 1`."""
    base = os.path.join(root, "sys/class/net", name, "bonding")

    def word(option: str) -> str:
        return (attribute(base, option).split() or [""])[0]

    return BondState(word("mode"), integer(word("miimon")) or 0, word("primary"), word("fail_over_mac"))


def read_files(root: str = "/") -> dict[str, str]:
    """The text of every file that a decision depends on, by its path below `root`."""
    patterns = [*_boot.PATHS, *_rename.PATHS, *(pattern for backend in _registry.BACKENDS for pattern in backend.patterns)]
    paths = sorted({path for pattern in patterns for path in glob.glob(under(root, pattern)) if os.path.isfile(path) or _is_mask(path)})
    return {"/" + os.path.relpath(path, root): read_text(path) for path in paths}


def _has_returns(path: str) -> bool:
    try:
        with open(path, "rb") as stream:
            return b"\r" in stream.read()
    except OSError:
        return False


def _is_mask(path: str) -> bool:
    """Whether a path is a link to /dev/null. It hides files of the same name in other directories, and reads as an empty file."""
    return path.endswith(_MASKED) and os.path.realpath(path) == os.devnull


def _on(found: Found, places: t.Collection[str]) -> list[str]:
    """The interfaces on these ports, named by port GUID, PCI address, or PCI address and number."""
    functions = {hca.name: hca.pci for hca in found.hcas}
    forms = {port.port_guid: (port.port_guid, functions.get(port.device, ""), "%s/%d" % (functions.get(port.device, ""), port.port)) for port in found.ports}
    return [name for name, netdev in found.netdevs.items() if netdev.kind == "ipoib" and not set(places).isdisjoint(forms.get(netdev.port_guid, ()))]


def _taken(found: Found, name: str, names: t.Sequence[str], *, guids: t.Mapping[str, str]) -> Takeover:
    """What a back-end would take over; nothing where none can be used."""
    try:
        return takeover(names, found, _registry.choose(name, found.backends, found.saved), guids=guids)
    except RdmaError:
        return Takeover()


def condensed(found: Found, declared: t.Mapping[str, str] | None = None, *, adopt: t.Mapping[str, t.Any] | None = None) -> Found:
    """The state in the form in which it may leave the node.

    `declared`: the interfaces that a plan will be about, existing or not, with their port GUIDs or "". `adopt`: the hint of that name, where they are to
    be taken over from others.
    """
    declared = declared or {}
    own = {name for name, netdev in found.netdevs.items() if _is_own(netdev)}
    names = sorted({*own, *_registry.recorded(found.files), *declared, *coming(found.facts)})
    taken = _taken(found, adopt["backend"], sorted({*declared, *_on(found, adopt["ports"])}), guids=declared) if adopt else Takeover()
    found = after(found, taken)
    return found._replace(
        netdevs={name: _netdev(netdev) for name, netdev in found.netdevs.items()},
        files=_files(found),
        backends={name: _presence(presence, own) for name, presence in found.backends.items()},
        ssh_path=found.ssh_path & own,
        bonds={name: bond for name, bond in found.bonds.items() if name in own},
        routes={name: routes for name, routes in found.routes.items() if name in own},
        hcas=tuple(_ports.Hca(hca.name, hca.type, hca.driver, hca.pci) for hca in found.hcas),
        ports=tuple(
            _ports.Port(port.name, port.device, port.port, port.port_guid, link_layer=port.link_layer, rate_gbps=0.0, pkeys=port.pkeys, apart=port.apart)
            for port in found.ports
        ),
        stack=_stack.Stack(found.stack.kind, ofed_version=found.stack.ofed_version),
        ipv6_refused={name: reason for name, reason in found.ipv6_refused.items() if name in own or name not in found.netdevs},
        examined=frozenset(names),
        taken=taken._replace(files={}),
        saved={path: saved._replace(text="") for path, saved in found.saved.items()},
        foreign={backend.name: _conflicts(backend, names, found, guids=declared) for backend in _registry.BACKENDS},
        aloof={backend.name: _aloof(backend, names, found, guids=declared) for backend in _registry.BACKENDS},
    )


def _is_own(netdev: _netdevs.Netdev) -> bool:
    """Whether a declared interface may refer to it."""
    return netdev.kind in ("ipoib", "ipoib_child", "bond")


def _netdev(netdev: _netdevs.Netdev) -> _netdevs.Netdev:
    """The fields that planning reads; for other interfaces, those that validation needs to report name conflicts."""
    if _is_own(netdev):
        return netdev._replace(carrier=False, dynamic_addresses=(), hwaddr="", driver="")
    return _netdevs.Netdev(netdev.name, netdev.kind, parent=netdev.parent, master=netdev.master, members=netdev.members)


def _files(found: Found) -> dict[str, str]:
    files = {path: text for path, text in found.files.items() if path not in _registry.SHARED and _registry.is_ours(path, text)}
    files.update({path: backend.outline(found.files[path]) for path, backend in _registry.SHARED.items() if path in found.files})
    return files


def _presence(presence: Presence, names: t.Collection[str]) -> Presence:
    return presence._replace(
        active={name: active for name, active in presence.active.items() if name in names},
        standings={name: standing for name, standing in presence.standings.items() if name in names},
        told={},
    )


def _conflicts(backend: Backend, names: t.Iterable[str], found: Found, *, guids: t.Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    conflicts = {name: _registry.conflicts(backend, name, found, guids=guids) for name in names}
    return {name: paths for name, paths in conflicts.items() if paths}


def _aloof(backend: Backend, names: t.Iterable[str], found: Found, *, guids: t.Mapping[str, str]) -> dict[str, tuple[Place, ...]]:
    places = {name: _registry.aloof(backend, name, found, guids=guids) for name in names}
    return {name: where for name, where in places.items() if where}


def seen(node: Node, hints: t.Mapping[str, t.Any]) -> Found | Described:
    """The look of the concern. For a discovery, it has what the files say about the interfaces that exist."""
    found = node.once(whole)
    reduced = condensed(found, hints["names"], adopt=hints.get("adopt"))
    return described(found, reduced) if hints.get("files") else reduced
