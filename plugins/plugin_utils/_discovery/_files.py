# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of an inventory that describes what was found. Pure."""

from __future__ import annotations

import re
import typing as t

from ...module_utils._hosts import natural
from . import _yaml
from ._lift import Placed

if t.TYPE_CHECKING:
    from ...module_utils._discovered import Value

HEADER = "# Written by rdma.ofed.discover: what it found on the hosts."
REPORT = "report.txt"
SINGLE, HOSTS = "inventory.yml", "hosts.yml"
# What can be the name of a file. Variables of a host with another name are in the file with the hosts.
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+-]{0,200}\Z")
_STEP = "  "


def is_name(name: str) -> bool:
    """Whether a group or host can be the name of a file."""
    return _FILE.match(name) is not None


def host_file(host: str) -> str:
    """The path of the file of a host below the output."""
    return "host_vars/%s.yml" % host


def _variables(values: t.Iterable[Value], indent: str = "") -> list[str]:
    return [line for value in values for line in _yaml.entry(value.variable, value.value, comment=value.source, indent=indent)]


def _file(lines: t.Iterable[str]) -> str:
    return "\n".join([HEADER, "---", *lines]) + "\n"


def _group(name: str, hosts: t.Iterable[str], indent: str, *, inline: t.Mapping[str, t.Sequence[Value]], values: t.Sequence[Value] = ()) -> list[str]:
    """A group with its hosts, and with variables of hosts and of its own."""
    lines = ["%s%s:" % (indent, _yaml.text(name)), indent + _STEP + "hosts:"]
    for host in hosts:
        own = _variables(inline.get(host, ()), indent + 3 * _STEP)
        lines += ["%s%s:%s" % (indent + 2 * _STEP, _yaml.text(host), "" if own else " {}"), *own]
    return lines + ([indent + _STEP + "vars:", *_variables(values, indent + 2 * _STEP)] if values else [])


def files(placed: Placed, *, top: str, groups: t.Mapping[str, t.Sequence[str]], hosts: t.Sequence[str], single: bool) -> dict[str, str]:
    """The content of the files by their paths below the output. `groups`: those that are new, or that get values, with their hosts in order."""
    ordered = sorted(hosts, key=natural)
    apart = {host for host in placed.hosts if not single and is_name(host)}
    inline = {host: values for host, values in placed.hosts.items() if host not in apart}
    named = {top: ordered, **{name: groups[name] for name in groups if name != top}}
    lines = ["all:", _STEP + "children:"]
    for name, own in named.items():
        values = placed.groups.get(name, ()) if single else ()
        lines += _group(name, own, 2 * _STEP, inline=inline if name == top else {}, values=values)
    found = {SINGLE if single else HOSTS: _file(lines)}
    if not single:
        found.update({"group_vars/%s.yml" % name: _file(_variables(values)) for name, values in placed.groups.items()})
        found.update({host_file(host): _file(_variables(placed.hosts[host])) for host in sorted(apart, key=natural)})
    return found
