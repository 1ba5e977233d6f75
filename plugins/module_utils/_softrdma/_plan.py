# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""From what is there and what is declared to the list of changes. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import EXTRA_MODULES
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import packages_by_family
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._soft_links import path_of, records, unit_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import file_change
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._names import Catalogue
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan, changes_of, untyped
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._input import VARIABLE
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._unit import render
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rdma_link import MODULES, Link

LINK = "link "
SERVICE = "service "

# ARPHRD_ETHER and ARPHRD_LOOPBACK of if_arp.h.
_TYPES = ("1", "772")


class Netdev(t.NamedTuple):
    """A network interface, as far as a driver asks."""

    type: str
    """The number in C(/sys/class/net/*/type)."""
    vlan: bool = False


class Node(t.NamedTuple):
    """What was found on a node."""

    links: t.Mapping[str, Link] = {}
    """The software RDMA devices; their netdev is "" where it can't be told."""
    hardware: frozenset[str] = frozenset()
    """The names of all other RDMA devices."""
    netdevs: t.Mapping[str, Netdev] = {}
    files: t.Mapping[str, str] = {}
    """What lies where our units are, by path."""
    systemd: bool = True
    """Does systemd run, which makes links at boot?"""
    units: t.Mapping[str, Unit] = {}
    catalogue: Catalogue = Catalogue()
    """What the running kernel can load."""
    loaded: frozenset[str] = frozenset()
    release: str = ""
    container: bool = False


def check(links: t.Sequence[Link], node: Node) -> list[Problem]:
    """Everything declared that this node can't have."""
    ours = records(node.files)
    found: list[Problem] = []
    for index, link in enumerate(links):
        where = "%s[%d]" % (VARIABLE, index)
        there = node.links.get(link.name)
        if link.name in node.hardware:
            found.append(Problem(where + ".name", link.name, "a name that is free", "an RDMA adapter of this node has it"))
        elif there is not None and link.name not in ours and not same(there, link):
            hint = "somebody made %s on this node: take it away with 'rdma link delete %s', or declare it as it is" % (there.words(), link.name)
            found.append(Problem(where + ".name", link.name, "a name that is free", hint))
        found += _netdev_problems(where + ".netdev", link, node)
        found += _driver_problems(where + ".type", link, node)
        found += [
            Problem(where + ".netdev", link.netdev, "an interface without another %s link" % link.type, "%s is one, and somebody else made it" % other.name)
            for other in node.links.values()
            if other.name not in ours and other.name != link.name and same(other, link)
        ]
        if node.files.get(path_of(link.name)) and link.name not in ours:
            found.append(Problem(where + ".name", link.name, "a name whose unit is free", "%s exists and is not of this collection" % path_of(link.name)))
    return found


def _netdev_problems(where: str, link: Link, node: Node) -> list[Problem]:
    netdev = node.netdevs.get(link.netdev)
    if netdev is None:
        return [Problem(where, link.netdev, ", ".join(sorted(node.netdevs)), "no such network interface on this node")]
    if netdev.type not in _TYPES:
        return [Problem(where, link.netdev, "an Ethernet interface", "its hardware type is %s" % netdev.type)]
    if netdev.vlan and link.type == "rxe":
        return [Problem(where, link.netdev, "the interface below the VLAN", "the kernel makes rxe on real interfaces only, and serves their VLANs with it")]
    return []


def _driver_problems(where: str, link: Link, node: Node) -> list[Problem]:
    module = MODULES[link.type]
    if module in node.loaded or node.catalogue.resolve(module) or any(there.type == link.type for there in node.links.values()):
        return []
    hint = "kernel %s has no module %s: install the package with it (%s; Debian builds no siw, its cloud kernels and RHEL from 10 on may have neither), "
    hint = hint % (node.release, module, packages_by_family(EXTRA_MODULES)) + "or declare no links of that type"
    if node.container:
        hint = "no module %s: this is a container, whose host's kernel owns the modules; run the role on the host" % module
    return [Problem(where, link.type, "a type whose driver the kernel has", hint)]


def same(found: Link, wanted: Link) -> bool:
    """Is that a link of the wanted type on the wanted interface, whatever its name?"""
    return (found.type, found.netdev) == (wanted.type, wanted.netdev)


def plan(links: t.Sequence[Link], node: Node) -> Plan:
    """The changes in order: links that go, units, links that come. An interface is free before its next link is made."""
    ours = records(node.files)
    wanted = {link.name: link for link in links}
    units = render(links)
    stale = [path_of(name) for name in sorted(ours) if name not in wanted]
    gone: list[Change | None] = []
    for name in sorted(ours):
        there = node.links.get(name)
        if there is not None and (name not in wanted or not same(there, wanted[name])):
            gone.append(untyped(LINK + name, there.words(), ""))
    deleted = {change.what[len(LINK) :] for change in gone if change is not None}
    return Plan(
        changes_of(
            *gone,
            *(_enabled(name, node, "no") for name in sorted(ours) if name not in wanted),
            *(file_change(path, node.files[path], "") for path in stale),
            *(file_change(path, node.files.get(path, ""), text) for path, text in sorted(units.items())),
            *(_enabled(link.name, node, "yes") for link in links),
            *(untyped(LINK + link.name, "", link.words()) for link in links if link.name not in node.links or link.name in deleted),
        )
    )


def _enabled(name: str, node: Node, wanted: str) -> Change:
    unit = node.units.get(unit_of(name))
    return untyped(SERVICE + unit_of(name) + " enabled", "yes" if unit is not None and unit.enabled == "enabled" else "no", wanted)
