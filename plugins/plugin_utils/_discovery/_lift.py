# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Place values: those that the hosts of a group share go to the group, the rest to the hosts. Pure; linear in hosts."""

from __future__ import annotations

import collections
import json
import typing as t

from ...module_utils._discovered import Reference, Value

# A group gets a value that more than this part of its hosts have. The other hosts override it.
_MOST = 2 / 3
_NO_DEFAULT = object()
_UNSET = ""


class Site(t.NamedTuple):
    top: str
    """The group of all hosts."""
    hosts: t.Sequence[str]
    """Those that were looked at."""
    groups: t.Mapping[str, t.Collection[str]]
    """Other groups with their hosts."""
    defaults: t.Mapping[str, t.Any]
    """The defaults of the variables that have one."""
    explicit: bool = False
    """Whether values that are the default are kept."""
    reserved: t.Collection[str] = ()
    """The groups for variables that begin with their name alone, such as opensm: what its hosts share besides is chance."""


class Outlier(t.NamedTuple):
    """Hosts that have another value than most of their group."""

    variable: str
    group: str
    usual: t.Any
    hosts: t.Sequence[str]
    found: t.Any


class Placed(t.NamedTuple):
    groups: dict[str, list[Value]]
    hosts: dict[str, list[Value]]
    outliers: list[Outlier]


def _plain(value: t.Any) -> t.Any:
    if isinstance(value, Reference):
        return {"\0": value.variable}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def key_of(value: t.Any) -> str:
    """A text that is the same for equal values."""
    return json.dumps(_plain(value), sort_keys=True)


class _Variable:
    """One variable on all hosts."""

    def __init__(self, name: str, found: t.Mapping[str, Value], site: Site) -> None:
        self.name = name
        self.default = site.defaults.get(name, _NO_DEFAULT)
        usual = None if self.default is _NO_DEFAULT else key_of(self.default)
        keys = {host: key_of(value.value) for host, value in found.items()}
        self.found = {host: value for host, value in found.items() if site.explicit or keys[host] != usual}
        self.keys = {host: keys[host] if host in self.found else _UNSET for host in site.hosts}

    def leader(self, hosts: t.Collection[str], *, all_of_them: bool) -> str:
        """The value that all of these hosts have, or most of them where the others can override it; "" for none."""
        (key, count), *_rest = collections.Counter(self.keys[host] for host in hosts).most_common(1) or [(_UNSET, 0)]
        if count == len(hosts):
            return key
        overridable = self.default is not _NO_DEFAULT or all(host in self.found for host in hosts)
        return key if not all_of_them and overridable and count > _MOST * len(hosts) else _UNSET

    def groups(self, site: Site, *, all_of_them: bool) -> dict[str, str]:
        """Groups without a common host, largest first, with the value of each."""
        taken: set[str] = set()
        chosen: dict[str, str] = {}
        for name, members in sorted(site.groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
            if len(members) > 1 and taken.isdisjoint(members) and (name not in site.reserved or self.name.startswith(name + "_")):
                key = self.leader(members, all_of_them=all_of_them)
                if key:
                    chosen[name] = key
                    taken.update(members)
        return chosen

    def chosen(self, site: Site) -> dict[str, str]:
        """The groups that get a value."""
        top = self.leader(site.hosts, all_of_them=True)
        if top and len(site.hosts) > 1:
            return {site.top: top}
        whole = self.groups(site, all_of_them=True)
        if {host for name in whole for host in site.groups[name]} == set(self.found):
            return whole
        top = self.leader(site.hosts, all_of_them=False) if len(site.hosts) > 1 else _UNSET
        return {site.top: top} if top else self.groups(site, all_of_them=False)


def _source(variable: _Variable, hosts: t.Sequence[str]) -> str:
    """Where the common value of these hosts comes from. A file on the first of them need not be on the others."""
    source = variable.found[hosts[0]].source
    same = [host for host in hosts if variable.found[host].source == source]
    if len(same) == len(hosts):
        return "%s (%d hosts)" % (source, len(hosts))
    there = same[0] if len(same) == 1 else "%d hosts" % len(same)
    rest = len(hosts) - len(same)
    others = "1 host, from another source" if rest == 1 else "%d hosts, from other sources" % rest
    return "%s (%s; the same value on %s)" % (source, there, others)


def _place(variable: _Variable, site: Site, placed: Placed) -> None:
    members = {site.top: site.hosts, **site.groups}
    rest = dict(variable.found)
    for name, key in variable.chosen(site).items():
        alike = [host for host in members[name] if variable.keys[host] == key]
        first = variable.found[alike[0]]
        placed.groups.setdefault(name, []).append(first._replace(source=_source(variable, alike)))
        others: dict[str, list[str]] = {}
        for host in members[name]:
            if variable.keys[host] == key:
                rest.pop(host)
            else:
                rest.setdefault(host, Value(variable.name, variable.default, "the default of the collection, other than on most hosts of %s" % name))
                others.setdefault(key_of(rest[host].value), []).append(host)
        placed.outliers.extend(Outlier(variable.name, name, first.value, hosts, rest[hosts[0]].value) for hosts in others.values())
    for host, value in rest.items():
        placed.hosts.setdefault(host, []).append(value)


def place(found: t.Mapping[str, t.Sequence[Value]], site: Site) -> Placed:
    """Place the values of all hosts. Of several values of one variable on a host, the last counts."""
    by_variable: dict[str, dict[str, Value]] = {}
    for host, values in found.items():
        for value in values:
            by_variable.setdefault(value.variable, {})[host] = value
    placed = Placed({}, {}, [])
    for name in sorted(by_variable):
        _place(_Variable(name, by_variable[name], site), site, placed)
    return placed
