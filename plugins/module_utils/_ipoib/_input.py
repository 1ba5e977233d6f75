# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is wrong with the role's variables: everything at once, in the user's words, before anything is touched."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _wanted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._entry import entry_problems, mtu_range
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._entry_node import node_problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._family import Entry, bond_problems, duplicates, family_problems, together
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._references import resolve
from ansible_collections.rdma.ofed.plugins.module_utils._schema._ipoib import VARIABLES
from ansible_collections.rdma.ofed.plugins.module_utils._schema._values import value_problems

LIST = "ipoib_interfaces"
# A change may take a while, and must be over before the timer goes off.
ROLLBACK_MIN = 30
ROLLBACK_MAX = 3600


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """What is wrong with `ipoib_*` variables, on their own and, where given, against the node's `rdma` facts."""
    found = _scalars(variables)
    interfaces = variables.get(LIST, [])
    if not isinstance(interfaces, (list, tuple)):
        found.append(Problem(LIST, interfaces, "a list of interfaces", "each is a mapping with at least a name"))
        return found
    # What compares interfaces with one another and with the node takes those that make sense on their own.
    sound: list[tuple[str, t.Mapping[str, t.Any]]] = []
    for index, item in enumerate(interfaces):
        path = "%s[%d]" % (LIST, index)
        own = entry_problems(path, item, facts)
        found += own
        if not own:
            sound.append((path, item))
    node = None if variables.get("ipoib_state") == "absent" else facts
    entries, faults = _entries(sound, node)
    found += [*faults, *duplicates(entries), *family_problems(entries, [item.get("name") for item in interfaces if isinstance(item, t.Mapping)])]
    of_bonds = bond_problems(entries)
    found += of_bonds
    family = entries if of_bonds else together(entries)
    found += [] if of_bonds else _mtu_problems(family)
    if node is not None:
        found += node_problems(family, node)
    return found


def _mtu_problems(entries: t.Sequence[Entry]) -> list[Problem]:
    """MTUs of connected mode on interfaces for which neither their entry nor their bond declares that mode."""
    hint = "datagram is the default; mode: connected allows more on ports that can do it"
    return [
        Problem(entry.path + ".mtu", entry.wanted.mtu, mtu_range("datagram"), hint)
        for entry in entries
        if entry.item.get("mtu") and entry.wanted.mode != "connected" and entry.wanted.mtu > _wanted.MTU_MAX["datagram"]
    ]


def _scalars(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    found = value_problems(VARIABLES, variables)
    seconds = _wanted.parse_number(variables.get("ipoib_rollback_timeout", 0))
    if seconds is None or not (seconds == 0 or ROLLBACK_MIN <= seconds <= ROLLBACK_MAX):
        allowed = "0 (refuse what would cut the connection), or %d to %d seconds" % (ROLLBACK_MIN, ROLLBACK_MAX)
        found.append(Problem("ipoib_rollback_timeout", variables["ipoib_rollback_timeout"], allowed))
    return found


def _entries(sound: t.Sequence[tuple[str, t.Mapping[str, t.Any]]], facts: t.Mapping[str, t.Any] | None) -> tuple[list[Entry], list[Problem]]:
    """The entries as understood; with facts, under the names that they have on the node."""
    if facts is None:
        return [Entry(path, item, _wanted.entry_of(item)) for path, item in sound], []
    resolution = resolve(sound, facts)
    namings = {naming.name: naming for naming in resolution.namings}
    bad = [problem.variable for problem in resolution.problems]
    entries = []
    for (path, _item), item in zip(sound, resolution.interfaces):
        if not any(variable == path or variable.startswith(path + ".") for variable in bad):
            wanted = _wanted.entry_of(item)
            entries.append(Entry(path, item, wanted, namings.get(wanted.name)))
    return entries, list(resolution.problems)
