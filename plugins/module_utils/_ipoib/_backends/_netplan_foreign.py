# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""netplan: the definitions of an interface in files of others, how to take them out, and which of their settings have no variable. Pure."""

from __future__ import annotations

import typing as t

from . import _yaml_marks
from ._yaml_marks import MAPPING, SCALAR, SEQUENCE, Node

if t.TYPE_CHECKING:
    from .._identity import Identity

ETHERNETS, BONDS = "ethernets", "bonds"
_PATTERN = frozenset("*?[!")
_NETWORK = "network"
_NO = ("false", "no", "off", "n")


class Definition(t.NamedTuple):
    """One definition that means the interface."""

    kind: str
    key: str
    """Its ID in netplan."""
    line: int
    """Counted from 1."""
    node: Node
    renderer: str
    """The renderer that the definition or its type names; "" where neither does."""


def definitions(interface: Identity, text: str) -> list[Definition]:
    """The definitions of an interface. Those that match by a pattern or a driver, or that belong to another type of device, are none."""
    tree = _yaml_marks.read(text)
    network = tree.get(_NETWORK) if tree is not None else None
    found = []
    for kind in (ETHERNETS, BONDS):
        group = network.get(kind) if network is not None else None
        for key, item in (group.items if group is not None else {}).items():
            if group is not None and _means(interface, kind, key, node=item.value):
                found.append(Definition(kind, key, item.first + 1, item.value, item.value.at("renderer") or group.at("renderer")))
    return found


def _means(interface: Identity, kind: str, key: str, *, node: Node) -> bool:
    if node.kind == SEQUENCE or (node.kind == SCALAR and node.text):
        return False
    match, new_name = node.get("match"), node.at("set-name")
    if match is None:
        return key == interface.name and new_name in ("", key)
    if kind == BONDS or not match.items or not set(match.items) <= {"name", "macaddress"} or any(each.value.kind != SCALAR for each in match.items.values()):
        return False
    name, address = match.at("name"), match.at("macaddress")
    at_port = interface.is_at(address) and not interface.pkey
    if _PATTERN & set(name) or ("macaddress" in match.items and not at_port):
        return False
    if new_name:
        return new_name == interface.name
    return name == interface.name if "name" in match.items else at_port


def selected(texts: t.Iterable[str]) -> str:
    """The renderer that files in netplan's order select for the definitions that name none; "" for none. The last file counts."""
    trees = map(_yaml_marks.read, texts)
    networks = [tree.get(_NETWORK) for tree in trees if tree is not None]
    stated = [network.at("renderer") for network in networks if network is not None]
    return next((renderer for renderer in reversed(stated) if renderer), "")


def without(interface: Identity, text: str) -> str | None:
    """The text without the definitions of an interface, "" where it configures nothing else; None where it has none, or where they can't be taken out."""
    tree, found = _yaml_marks.read(text), definitions(interface, text)
    if tree is None or not found or not tree.block or not tree.items[_NETWORK].value.block:
        return None
    network = tree.items[_NETWORK].value
    left, lines = tree, []
    for kind in dict.fromkeys(each.kind for each in found):
        group, keys = network.items[kind], [each.key for each in found if each.kind == kind]
        if not group.value.block:
            return None
        lines += [group.value.items[key] for key in keys]
        if len(keys) < len(group.value.items):
            for key in keys:
                left = left.without((_NETWORK, kind, key))
        else:
            # The comments between the keys stay.
            lines.append(group._replace(last=group.first))
            left = left.without((_NETWORK, kind))
    if set(left.items[_NETWORK].value.items) <= {"version"}:
        return "" if set(left.items) == {_NETWORK} else None
    if not all(item.alone for item in lines):
        return None
    rest = _yaml_marks.cut(text, lines)
    proof = _yaml_marks.read(rest)
    return rest if proof is not None and proof.content() == left.content() else None


def unsaid(interface: Identity, text: str, names: t.Mapping[str, str], *, renderer: str) -> list[str]:
    """The settings in the definitions of an interface that no variable expresses, each with its line. `renderer`: the only one that a definition may name."""
    found = []
    for each in definitions(interface, text):
        found += ["renderer %s of %s (line %d)" % (each.renderer, each.key, each.line)] if each.renderer not in ("", renderer) else []
        for key, item in each.node.items.items():
            where = " (line %d)" % (item.first + 1)
            if key == "set-name":
                # A declared port is a name that we set.
                match = each.node.get("match")
                renamed = match is not None and match.at("name") != item.value.text and not names.get(interface.name)
                found += ["set-name%s without a port in the declaration" % where] if renamed else []
            elif key == "link-local":
                found += [] if _is_usual_link_local(each.node, item.value) else [key + where]
            elif key in _DEEP:
                found += [inner + where for inner in _DEEP[key](each, item.value, names)]
            elif key not in _SAID or not _SAID[key](item.value):
                found.append(_shown(key) + where)
    return found


def _shown(key: str) -> str:
    return key if key.isprintable() else ascii(key)


def _is_any(node: Node) -> bool:
    return node.kind == SCALAR


def _is_off(node: Node) -> bool:
    return node.kind == SCALAR and node.text.lower() in _NO


def _is_list(node: Node) -> bool:
    """Whether it is a list of plain values: an address may also have a label and a lifetime."""
    return node.kind == SEQUENCE and all(each.kind == SCALAR for each in node.elements)


def _is_usual_link_local(definition: Node, node: Node) -> bool:
    """Whether it is what our file has: no such address for an interface without addresses, and that of IPv6 for all others."""
    found = [each.text for each in node.elements]
    return node.kind == SEQUENCE and (found == ["ipv6"] or (not found and "addresses" not in definition.items))


def _routes(definition: Definition, node: Node, names: t.Mapping[str, str]) -> list[str]:
    if node.kind != SEQUENCE or not all(each.kind == MAPPING for each in node.elements):
        return ["routes"]
    found = []
    for route in node.elements:
        usual = {"to", "via", "metric"} | ({"scope"} if route.at("scope") == "link" and "via" not in route.items else set())
        found += ["routes.%s" % _shown(key) for key in route.items if key not in usual]
    return list(dict.fromkeys(found))


def _ports(definition: Definition, node: Node, names: t.Mapping[str, str]) -> list[str]:
    return [] if definition.kind == BONDS and _is_list(node) and all(each.text in names for each in node.elements) else ["interfaces"]


def _parameters(definition: Definition, node: Node, names: t.Mapping[str, str]) -> list[str]:
    if definition.kind != BONDS or node.kind != MAPPING:
        return ["parameters"]
    fixed = {"mode": "active-backup", "fail-over-mac-policy": "active"}
    return [
        "parameters.%s" % _shown(key)
        for key, item in node.items.items()
        if not (item.value.text == fixed[key] if key in fixed else key in ("mii-monitor-interval", "primary"))
    ]


def _passthrough(definition: Definition, node: Node, names: t.Mapping[str, str]) -> list[str]:
    """What our own file has for a bond of NetworkManager."""
    inner = node.get("passthrough")
    usual = definition.kind == BONDS and set(node.items) == {"passthrough"} and inner is not None and set(inner.items) == {"connection.autoconnect-slaves"}
    return [] if usual and inner is not None and inner.at("connection.autoconnect-slaves") == "1" else ["networkmanager"]


# What a declaration expresses, what our file has anyway, and what has no effect.
_SAID: t.Mapping[str, t.Callable[[Node], bool]] = {
    "match": lambda node: True,
    "renderer": _is_any,
    "addresses": _is_list,
    "gateway4": _is_any,
    "gateway6": _is_any,
    "mtu": _is_any,
    "infiniband-mode": _is_any,
    "optional": _is_any,
    "ignore-carrier": _is_any,
    "accept-ra": _is_off,
    "dhcp4": _is_off,
    "dhcp6": _is_off,
}
_DEEP: t.Mapping[str, t.Callable[[Definition, Node, t.Mapping[str, str]], list[str]]] = {
    "routes": _routes,
    "interfaces": _ports,
    "parameters": _parameters,
    "networkmanager": _passthrough,
}
