# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the IPoIB interfaces of a host by declarations: from what files say about them, and from what the kernel has. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Discovery, Subject
from .._discovered import Left, Reading, Reference, Value, variable_name
from .._errors import RdmaError
from .._facts._netdevs import Netdev
from .._hosts import natural
from ._entry import entry_problems
from ._found import Found
from ._input import problems
from ._parsed import Parsed
from ._readers import Described, Said
from ._registry import choose
from ._rename import RULE_PATH
from ._wanted import BOND_MIIMON, BOND_MODE, BOND_POLICY, GROUP_MTUS, KERNEL_MODE, KERNEL_MTU, MTU_MAX, Route

_LINK_LOCAL = "fe80:"
_VARIABLE = "ipoib_interfaces"
_STUCK = "the interface is refused: it can't be taken out of %s with ipoib_adopt, so remove it there yourself, without restarting the network"


def _listed(items: t.Iterable[t.Any]) -> str:
    return ", ".join(map(str, items)) or "none"


class _Host:
    """The interfaces of one host, as they are described."""

    def __init__(self, described: Described) -> None:
        self.described = described
        self.found: Found = described.found
        self.left: list[Left] = []
        self.dangers: list[str] = []
        self.variables: list[Value] = []
        self.backends: list[str] = []
        self._functions = {hca.name: hca.pci for hca in self.found.hcas}
        self._names = self.found.files.get(RULE_PATH, "")

    def said(self, name: str) -> Said | None:
        """What the files say: those of the back-end that manages the node, if it says anything."""
        answers = self.described.said.get(name, ())
        if len(answers) > 1:
            words = "%s is configured by more than one back-end: %s" % (name, "; ".join("%s (%s)" % (each.backend, ", ".join(each.paths)) for each in answers))
            self.dangers.append(words)
        chosen = self.chosen()
        return next((each for each in answers if each.backend == chosen), answers[0] if answers else None)

    def chosen(self) -> str:
        """The back-end that a run would use; "" where it would refuse to choose."""
        try:
            return choose("auto", self.found.backends).name
        except RdmaError:
            return ""

    def place(self, netdev: Netdev) -> str:
        """The port by PCI address, with its number where that is needed; "" where it has none."""
        port = next((port for port in self.found.ports if port.port_guid == netdev.port_guid), None)
        pci = self._functions.get(port.device, "") if port is not None else ""
        if port is None or not pci:
            return ""
        several = sum(self._functions.get(other.device) == pci and other.infiniband for other in self.found.ports) > 1
        return "%s/%d" % (pci, port.port) if several else pci

    def is_named(self, netdev: Netdev) -> bool:
        """Whether the interface has its name from a rule of ours."""
        return 'NAME="%s"' % netdev.name in self._names

    def carries(self, name: str) -> bool:
        """Whether another interface is on it: its children are called by its name, so that is declared."""
        return any(name == netdev.parent or name in netdev.members for netdev in self.found.netdevs.values())

    def port(self, netdev: Netdev) -> Reference:
        """The GUID of its port, in a variable of the host."""
        variable = variable_name(netdev.name, "port")
        self.variables.append(Value(variable, netdev.port_guid, "the port of %s" % netdev.name))
        return Reference(variable)

    def addresses(self, name: str, texts: t.Sequence[str], source: str) -> list[Reference]:
        """The addresses, each in a variable of the host."""
        references = []
        for number, text in enumerate(texts, 1):
            variable = variable_name(name, "address", *([str(number)] if number > 1 else []))
            self.variables.append(Value(variable, text, source))
            references.append(Reference(variable))
        return references


def _mtu(netdev: Netdev, parsed: Parsed | None, *, bonded: bool) -> int:
    """The MTU to declare; 0 where the collection or the kernel chooses the same."""
    declared = parsed.mtu if parsed is not None else 0
    usual = MTU_MAX["connected"] if netdev.mode == "connected" else KERNEL_MTU if bonded else 0
    if not declared and netdev.mtu not in (usual, *(GROUP_MTUS if netdev.mode != "connected" and not bonded else ())):
        declared = netdev.mtu
    return 0 if declared == usual else declared


def _routes(host: _Host, name: str, parsed: Parsed | None) -> list[dict[str, t.Any]]:
    live = list(host.found.routes.get(name, ()))
    written = list(parsed.routes) if parsed is not None else []
    unwritten = [route for route in live if _key(route) not in set(map(_key, written))]
    if parsed is not None and unwritten:
        words = ", ".join(" ".join(route.words()) for route in unwritten)
        host.dangers.append("%s has routes that no file has: %s. The next boot would lose them; they were declared" % (name, words))
    return [
        {"to": route.to, **({"via": route.via} if route.via else {}), **({"metric": route.metric} if route.metric else {})} for route in (*written, *unwritten)
    ]


def _key(route: Route) -> tuple[str, str]:
    # The kernel gives a metric to IPv6 routes, and network daemons to all of theirs.
    return (route.to, route.via)


def _settings(host: _Host, netdev: Netdev, said: Said | None) -> dict[str, t.Any]:
    """Addresses, MTU, mode and routes of an interface."""
    name, parsed = netdev.name, said.parsed if said is not None else None
    source = ", ".join(said.paths) if said is not None else "the kernel; no file has it"
    live = [address for address in host.described.static.get(name, ()) if not address.startswith(_LINK_LOCAL)]
    known = [address for address in parsed.addresses if not address.startswith(_LINK_LOCAL)] if parsed is not None else []
    # Files of others with DHCP are reported: what else they ask a server for is theirs.
    asks = said is not None and said.ours and said.parsed.dynamic
    if parsed is not None and not asks and (parsed.dynamic or (known and set(known) != set(live))):
        what = "gets addresses by DHCP" if parsed.dynamic and not known else "has the addresses %s, and its files say %s" % (_listed(live), _listed(known))
        host.dangers.append("%s %s" % (name, what) + ("" if known else ": the collection sets fixed addresses only"))
    lent = host.described.lent.get(name, ())
    if lent and not asks:
        words = "%s has %s from DHCP or a router: the collection sets fixed addresses only, so ipoib_adopt refuses to lose %s"
        host.dangers.append(words % (name, ", ".join(lent), "it" if len(lent) == 1 else "them"))
    if parsed is not None and parsed.mode and netdev.mode and parsed.mode != netdev.mode:
        host.dangers.append("%s is in %s mode, and its files say %s" % (name, netdev.mode, parsed.mode))
    if parsed is not None and parsed.mtu and parsed.mtu != netdev.mtu:
        host.dangers.append("%s has an MTU of %d, and its files say %d" % (name, netdev.mtu, parsed.mtu))
    addresses = known or ([] if parsed is not None and parsed.dynamic else live)
    entry: dict[str, t.Any] = {}
    if netdev.mode not in ("", KERNEL_MODE):
        entry["mode"] = netdev.mode
    mtu = _mtu(netdev, parsed, bonded=netdev.kind == "bond")
    entry.update({"mtu": mtu} if mtu else {})
    entry.update({"dhcp": True} if asks else {})
    if addresses:
        entry["addresses"] = host.addresses(name, addresses, source)
    routes = _routes(host, name, parsed)
    entry.update({"routes": routes} if routes else {})
    return entry


def _identity(host: _Host, netdev: Netdev) -> dict[str, t.Any]:
    """What the interface is called, or on which port it is."""
    if netdev.kind == "ipoib_child":
        return {"parent": netdev.parent, "pkey": netdev.pkey}
    if netdev.kind == "bond" or not netdev.port_guid:
        return {"name": netdev.name}
    place = host.place(netdev)
    if host.carries(netdev.name) and not host.is_named(netdev):
        return {"name": netdev.name}
    named = {"name": netdev.name} if host.is_named(netdev) else {}
    return {**named, **({"pci": place} if place else {"port_guid": host.port(netdev)})}


def _bond(host: _Host, netdev: Netdev) -> dict[str, t.Any]:
    """What only a bond has, and the mode of its ports."""
    state = host.found.bonds[netdev.name]
    if (state.mode, state.fail_over_mac) != (BOND_MODE, BOND_POLICY):
        host.left.append(Left("mode %s of the bond %s" % (state.mode, netdev.name), "the collection sets up active-backup only"))
    bond: dict[str, t.Any] = {"ports": list(netdev.members)}
    bond.update({"primary": state.primary} if state.primary else {})
    bond.update({"miimon": state.miimon} if state.miimon != BOND_MIIMON else {})
    mode = host.found.netdevs[netdev.members[0]].mode
    return {**({"mode": mode} if mode not in ("", KERNEL_MODE) else {}), "bond": bond}


def _plain(host: _Host, value: t.Any) -> t.Any:
    """The value with its references resolved, as the validation gets it."""
    known = {each.variable: each.value for each in host.variables}
    if isinstance(value, Reference):
        return known[value.variable]
    if isinstance(value, dict):
        return {key: _plain(host, item) for key, item in value.items()}
    return [_plain(host, item) for item in value] if isinstance(value, list) else value


def _report(host: _Host, name: str, said: Said) -> None:
    """What the files say that no declaration has."""
    host.backends.append(said.backend)
    lost = "no variable has it; ipoib_adopt refuses to lose it, so remove it from the file if it may go"
    host.left += [Left("%s of %s" % (setting, name), lost) for setting in said.parsed.left]
    idle = "it is not active, so what it says is not declared; ipoib_adopt removes it and keeps a copy"
    host.left += [Left("%s, another profile of %s" % (path, name), idle) for path in said.idle]
    if not said.ours:
        taken = tuple(path for path in said.paths if path not in (*said.stuck, *said.idle))
        for paths, why in ((taken, "the interface is refused, or taken out of %s with ipoib_adopt: true"), (said.stuck, _STUCK)):
            if paths:
                host.left.append(Left("%s, which configures %s" % (", ".join(paths), name), why % ("it" if len(paths) == 1 else "them")))


def _is_ipoib(host: _Host, netdev: Netdev) -> bool:
    """Whether it is an interface of ib_ipoib, or a bond of such interfaces."""
    members = [host.found.netdevs[port].kind for port in netdev.members if port in host.found.netdevs]
    return netdev.kind != "bond" or (bool(members) and set(members) <= {"ipoib", "ipoib_child"})


def _entry(host: _Host, netdev: Netdev) -> dict[str, t.Any] | None:
    """The entry of an interface; None where nothing is to be declared."""
    said = host.said(netdev.name)
    if said is not None:
        _report(host, netdev.name, said)
    settings = {} if netdev.master else _settings(host, netdev, said)
    # A bond names its ports. Only children among them have more to declare, and the parents of children.
    is_parent = any(other.parent == netdev.name for other in host.found.netdevs.values())
    if netdev.kind == "ipoib" and not is_parent and (netdev.master or not (settings or said)):
        return None
    entry = {**_identity(host, netdev), **settings, **(_bond(host, netdev) if netdev.kind == "bond" else {})}
    wrong = entry_problems(_VARIABLE, _plain(host, entry))
    if wrong:
        host.left.append(Left("interface %s" % netdev.name, "no declaration can have it: %s" % str(wrong[0])))
    return None if wrong else entry


def read(subject: Subject) -> Reading:
    """The declarations of one host."""
    host = _Host(subject.found)
    kinds = ("ipoib", "ipoib_child", "bond")
    own = [netdev for netdev in host.found.netdevs.values() if netdev.kind in kinds and _is_ipoib(host, netdev)]
    order = sorted(own, key=lambda each: (kinds.index(each.kind), natural(each.name)))
    entries = [entry for entry in (_entry(host, netdev) for netdev in order) if entry is not None]
    host.dangers += [
        "%s is configured in %s, and does not exist, so it was not declared" % (name, ", ".join(path for each in answers for path in each.paths))
        for name, answers in host.described.said.items()
        if name not in host.found.netdevs
    ]
    backends = sorted(set(host.backends))
    source = "the files of %s" % ", ".join(backends) if backends else "the kernel"
    values = [Value(_VARIABLE, entries, source)] if entries else []
    if entries and len(backends) == 1 and host.chosen() != backends[0]:
        values.append(Value("ipoib_backend", backends[0], "it has the files of these interfaces"))
    wrong = problems({_VARIABLE: _plain(host, entries)})
    host.left += [Left("the interfaces together", "a run refuses them until you correct it: %s" % str(problem)) for problem in wrong]
    used = repr(entries)
    values += [value for value in dict.fromkeys(host.variables) if entries and repr(Reference(value.variable)) in used]
    return Reading(values, host.left, host.dangers)


DISCOVERY = Discovery(read, hints={"names": {}, "files": True}, seen=Described)
