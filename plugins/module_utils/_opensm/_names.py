# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the names of nodes that hosts have in their node-name maps by declarations, for a discovery. Pure."""

from __future__ import annotations

import typing as t

from .._discovered import Left, Reading, Value
from .._hosts import fold
from .._tools._node_names import DEFAULT_PATH, OTHER_PATHS, VARIABLE, broken_lines, declared_in, is_name
from ._found import NODE_NAMES

if t.TYPE_CHECKING:
    from ._found import Whole

_BROKEN = "the tools ignore the whole file (%s), and so does the collection: correct the line, and discover again"


def _maps(whole: Whole) -> dict[str, str]:
    """The node-name maps of a host. The first one is that of opensm itself, if its settings name it."""
    named = [own[-1] for predecessor in whole.found.predecessors if predecessor.runs for own in [predecessor.keys.get(NODE_NAMES, ())] if own]
    texts = {**whole.named, DEFAULT_PATH: whole.found.node_names}
    return {path: texts[path] for path in (*named, OTHER_PATHS[0], DEFAULT_PATH, *OTHER_PATHS[1:]) if texts.get(path)}


def names_found(looks: t.Mapping[str, Whole], managers: t.Sequence[str], made: t.Mapping[str, str]) -> Reading:
    """The names that no name of a host explains, from all maps of the hosts with subnet managers. The first map that names a node counts.

    `managers`: these hosts, in the order in which they take over. `made`: the names by GUID that the collection makes of the hosts.
    """
    names: dict[str, str] = {}
    sources: dict[str, str] = {}
    left: list[Left] = []
    for host in (*managers, *(host for host in looks if host not in managers)):
        for path, text in _maps(looks[host]).items():
            place = "%s on %s" % (path, host)
            broken = broken_lines(text)
            found = {} if broken else declared_in(text, made)
            if broken:
                left.append(Left("names of nodes in %s" % place, _BROKEN % broken[0]))
            elif host not in managers:
                others = [guid for guid in found if guid not in names]
                why = "only hosts with subnet managers get a map: add them to %s" % VARIABLE
                left += [Left("names of nodes in %s (%s)" % (place, fold(others)), why)] if others else []
                continue
            for guid, name in found.items():
                if not is_name(name):
                    left.append(Left("the name of node %s in %s" % (guid, place), "%s does not allow it: it is too long, or not printable" % VARIABLE))
                elif names.setdefault(guid, name) != name:
                    left.append(Left("the name %s of node %s in %s" % (name, guid, place), "%s names it %s, which counts" % (sources[guid], names[guid])))
                else:
                    sources.setdefault(guid, place)
    return Reading([Value(VARIABLE, names, ", ".join(dict.fromkeys(sources.values())))] if names else [], left)
