# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate declared software RDMA links without a look at a node. Pure."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem
from .._facts._soft_links import MODULES, Link
from .._schema._soft_rdma import VARIABLES
from .._schema._values import value_problems

VARIABLE = "soft_rdma_links"
KEYS = ("name", "netdev", "type")

# Becomes part of unit names and of paths in sysfs; 63 characters is the kernel's limit.
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9_-]{0,62}\Z")
_NETDEV = re.compile(r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}\Z")
_FORM = "a list of mappings such as {name: rxe0, type: rxe, netdev: eth0}"


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """All problems of the variables of the role soft_rdma.

    What only the node knows (whether the interface exists and the kernel has the driver) is checked by the module, before it
    changes anything.
    """
    found = value_problems(VARIABLES, variables)
    links = variables.get(VARIABLE, [])
    if not isinstance(links, (list, tuple)):
        return [*found, Problem(VARIABLE, links, _FORM)]
    for index, link in enumerate(links):
        found += _link_problems("%s[%d]" % (VARIABLE, index), link)
    # Links are compared only if each is valid on its own.
    return found or _clashes(links_of(links))


def _link_problems(where: str, link: t.Any) -> list[Problem]:
    if not isinstance(link, dict):
        return [Problem(where, link, "a mapping such as {name: rxe0, type: rxe, netdev: eth0}")]
    found = [Problem("%s.%s" % (where, key), value, "only the keys %s" % ", ".join(KEYS)) for key, value in link.items() if key not in KEYS]
    name, kind, netdev = (link.get(key) for key in ("name", "type", "netdev"))
    if not isinstance(name, str) or not _NAME.match(name):
        found.append(Problem(where + ".name", name, "a name of 1 to 63 letters, digits, _ and -, with a letter first"))
    if not isinstance(kind, str) or kind not in MODULES:
        found.append(Problem(where + ".type", kind, ", ".join(sorted(MODULES)), "rxe is RoCE, siw is iWARP"))
    if not isinstance(netdev, str) or not _NETDEV.match(netdev):
        found.append(Problem(where + ".netdev", netdev, "the name of a network interface, such as eth0"))
    return found


def _clashes(links: t.Sequence[Link]) -> list[Problem]:
    found = []
    names: dict[str, int] = {}
    places: dict[tuple[str, str], int] = {}
    for index, link in enumerate(links):
        where = "%s[%d]" % (VARIABLE, index)
        if names.setdefault(link.name, index) != index:
            found.append(Problem(where + ".name", link.name, "a name of its own", "%s[%d] has it" % (VARIABLE, names[link.name])))
        elif places.setdefault((link.type, link.netdev), index) != index:
            hint = "%s[%d] is one; the kernel allows one of each type on an interface" % (VARIABLE, places[(link.type, link.netdev)])
            found.append(Problem(where + ".netdev", link.netdev, "an interface without another %s link" % link.type, hint))
    return found


def links_of(links: t.Sequence[t.Mapping[str, t.Any]]) -> tuple[Link, ...]:
    """The declared links by name. Expects input that has passed `problems`."""
    return tuple(Link(str(link["name"]), str(link["type"]), str(link["netdev"])) for link in links)
