# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the subnet managers of all hosts, and the fabrics that they manage, by declarations. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Discovery, Subject
from .._discovered import Joined, Left, Value
from .._facts._port_rows import fabric_ports
from .._facts._portname import describe, durable
from .._hosts import natural
from .._tools._node_names import wanted
from ._data import node_guids
from ._fabrics import DEFAULT_FABRIC, DEFAULT_PREFIX, is_name
from ._found import Whole
from ._names import names_found
from ._partitions._declared import declarations
from ._partitions._input import Inventory
from ._placement import GROUP
from ._running import Manager, managers_of, prefix_of
from ._settings import settings_of

_DOWN = "DOWN"
# A setting of one host, whatever the others have. The unit of Debian's package names the log after the port GUID.
_OF_HOST = "opensm_log_file"
_SPLIT = (
    "two masters, on %s: either one fabric is split, or these are two fabrics with one subnet prefix. "
    "Give each fabric a name with the variable fabric of its hosts, and a prefix of its own with opensm_fabrics"
)


class _Site:
    """What all hosts tell together."""

    def __init__(self, subjects: t.Sequence[Subject]) -> None:
        self.subjects = {subject.host: subject for subject in subjects}
        self.is_whole = not any(subject.unseen for subject in subjects)
        """Whether all hosts of the site were looked at."""
        self.ports = {host: fabric_ports(subject.facts) for host, subject in self.subjects.items()}
        looks: dict[str, Whole] = {host: subject.found for host, subject in self.subjects.items()}
        self.looks = looks
        self.found = {host: whole.found for host, whole in looks.items()}
        self.managers = [manager for host, whole in looks.items() for manager in managers_of(whole, host, self.subjects[host].facts)]
        self.values: dict[str, list[Value]] = {host: [] for host in self.subjects}
        self.left: list[Left] = []
        self.dangers: list[str] = []
        self.fabrics: dict[str, dict[str, t.Any]] = {}
        """The settings that differ for one fabric."""
        self.names = self._names()

    def _names(self) -> dict[str, str]:
        """The name of the fabric with each subnet prefix."""
        active = [prefix_of(port) for own in self.ports.values() for port in own if port.get("state") != _DOWN]
        named = {manager.prefix: manager.fabric for manager in reversed(self.managers) if is_name(manager.fabric)}
        prefixes = sorted({*named, *(manager.prefix for manager in self.managers), *filter(None, active)})
        if len(prefixes) == 1:
            return {prefix: named.get(prefix, DEFAULT_FABRIC) for prefix in prefixes}
        return {prefix: named.get(prefix) or (DEFAULT_FABRIC if prefix == DEFAULT_PREFIX else "fabric-" + prefix[2:]) for prefix in prefixes}

    def fabric_of(self, manager: Manager) -> str:
        return manager.fabric if is_name(manager.fabric) else self.names[manager.prefix]

    def inventory(self, prefix: str) -> Inventory:
        """The hosts and the port GUIDs on a fabric, for the members of its partitions."""
        guids = {
            host: [str(port["port_guid"]) for port in own if port.get("port_guid") and (len(self.names) == 1 or prefix_of(port) == prefix)]
            for host, own in self.ports.items()
        }
        hosts = frozenset(self.subjects)
        listed = next(iter(self.subjects.values())).groups if self.subjects else {}
        groups = {str(name): [str(host) for host in own] for name, own in listed.items() if hosts.issuperset(own)}
        return Inventory({**groups, "all": list(hosts)}, {host: own for host, own in guids.items() if own}, [host for host, own in guids.items() if not own])


def _order(manager: Manager) -> tuple[t.Any, ...]:
    return (not manager.is_master, -manager.priority, natural(manager.host))


def _placed(site: _Site, fabric: str, line: t.Sequence[Manager]) -> None:
    """Masters, standbys and their priorities."""
    masters = [manager for manager in line if manager.is_master]
    if len(masters) > 1:
        site.dangers.append(_SPLIT % ", ".join(manager.host for manager in masters))
    lids = sorted({str(manager.port["sm_lid"]) for manager in line if manager.port.get("sm_lid")})
    if lids and not masters:
        # As with a limit: the ports know a master.
        site.left.append(Left("the master subnet manager of fabric %s (LID %s)" % (fabric, ", ".join(lids)), "it runs on none of these hosts"))
    elif not masters:
        site.dangers.append("no subnet manager of fabric %s is master on %s" % (fabric, ", ".join(manager.host for manager in line)))
    first = line[0]
    priority = first.priority
    if priority < len(line) - 1:
        words = "each standby gets one less than the host before it, which takes %d or more: the default counts, and %s stays before the others"
        site.left.append(Left("priority %d of %s" % (priority, first.host), words % (len(line) - 1, first.host)))
    for place, manager in enumerate(line):
        own = site.values[manager.host]
        if priority >= len(line) - 1:
            own.append(Value("opensm_priority", priority, first.source))
            if manager.priority != priority - place:
                site.left.append(Left("priority %d of %s" % (manager.priority, manager.host), "as standby number %d it gets %d" % (place, priority - place)))
        if len(line) > 1:
            own.append(Value("opensm_standby", True, "%d subnet managers run in fabric %s" % (len(line), fabric)))
        if len(site.ports[manager.host]) > 1 and manager.port and len(site.names) == 1:
            own.append(Value("opensm_port", durable(manager.port), manager.source))


def _declared(site: _Site, fabric: str, line: t.Sequence[Manager]) -> None:
    """The settings of the first subnet manager, which count for all of the fabric, and those in which the others differ."""
    first = line[0]
    reading = settings_of(first)
    partitions = declarations(first.partitions, first.partitions_source, site.inventory(first.prefix))
    values = list(reading.values)
    if first.prefix != DEFAULT_PREFIX:
        site.fabrics.setdefault(fabric, {})["subnet_prefix"] = first.prefix
    if partitions.entries and len(site.names) > 1:
        site.fabrics.setdefault(fabric, {})["partitions"] = partitions.entries
    elif partitions.entries:
        values.append(Value("opensm_partitions", partitions.entries, first.partitions_source))
    site.left += [*reading.left, *partitions.left]
    site.dangers += [*reading.dangers, *partitions.dangers]
    others = [settings_of(manager).values for manager in line[1:]]
    shared = [value for value in values if value.variable != _OF_HOST]
    for manager, own in zip(line, [values, *others]):
        site.values[manager.host] += [*shared, *(value for value in own if value.variable == _OF_HOST)]
    for manager, other in zip(line[1:], others):
        wanted = {value.variable: value.value for value in reading.values}
        found = {value.variable: value.value for value in other}
        differ = sorted(name for name in {*wanted, *found} - {_OF_HOST} if wanted.get(name) != found.get(name))
        if manager.partitions.strip() != first.partitions.strip() and (
            declarations(manager.partitions, manager.partitions_source, site.inventory(first.prefix)).entries != partitions.entries
        ):
            differ.append("opensm_partitions")
        if differ:
            site.dangers.append(
                "the subnet manager of %s has other settings than that of %s (%s): a fail-over changes the fabric. Those of %s were taken"
                % (manager.host, first.host, ", ".join(differ), first.host)
            )


def _fabrics(site: _Site) -> None:
    """The fabrics of each host, where there are several, or the only one has another name than the default."""
    if set(site.names.values()) <= {DEFAULT_FABRIC}:
        return
    for host, own in site.ports.items():
        ports: dict[str, list[str]] = {}
        bound = {id(manager.port) for manager in site.managers if manager.host == host}
        for port in sorted(own, key=lambda each: id(each) not in bound):
            name = site.names.get(prefix_of(port))
            if len(site.names) > 1 and port.get("state") == _DOWN:
                site.left.append(Left("port %s of %s" % (describe(port), host), "it is down, so its fabric is not known"))
            elif name:
                ports.setdefault(name, []).append(durable(port))
        if len(ports) > 1:
            site.values[host].append(Value("rdma_fabrics", ports, "the subnet prefixes of its ports"))
        elif ports and next(iter(ports)) != DEFAULT_FABRIC:
            site.values[host].append(Value("fabric", next(iter(ports)), "the subnet prefix of its ports"))


def _unmanaged(site: _Site) -> None:
    """Subnet managers that no host of ours runs, or that others run."""
    for host, found in site.found.items():
        site.left += [Left("%s: %s" % (host, words), "it is not the collection's to manage") for words in found.left_alone]
        site.left += [
            Left("%s: the settings of an opensm that does not run (%s)" % (host, predecessor.source), "only subnet managers that run are described")
            for predecessor in found.predecessors
            if not predecessor.runs and predecessor.keys
        ]
    lids = sorted({str(port["sm_lid"]) for own in site.ports.values() for port in own if port.get("sm_lid")})
    if not site.managers and not site.is_whole:
        # One of the other hosts may run it: what would follow from the contrary would leave the fabric without a manager.
        words = "the subnet manager (LID %s)" % ", ".join(lids) if lids else "the subnet manager, which no port knows"
        why = "it runs on none of the hosts that were looked at, and it may run on one of the others, so opensm_state and the group %s are not declared"
        site.left.append(Left(words, why % GROUP))
    elif not site.managers and lids:
        words = "the subnet manager (LID %s) runs on none of these hosts" % ", ".join(lids)
        site.left.append(Left(words, "opensm_state: unmanaged leaves the fabric to it"))
        for own in site.values.values():
            own.append(Value("opensm_state", "unmanaged", words))
    elif not site.managers and any(site.ports.values()):
        site.dangers.append("no subnet manager runs on any of these hosts, and no port knows of one: add a host to group %s" % GROUP)


def _named(site: _Site, managers: t.Sequence[str]) -> None:
    """The names of nodes, which all hosts with subnet managers have."""
    made = wanted({host: node_guids({}, subject.facts) for host, subject in site.subjects.items()})
    reading = names_found(site.looks, managers, made)
    site.left += reading.left
    for host in managers:
        site.values[host] += reading.values


def join(subjects: t.Sequence[Subject]) -> Joined:
    """The declarations of all hosts."""
    site = _Site(subjects)
    lines: dict[str, list[Manager]] = {}
    for manager in sorted(site.managers, key=_order):
        lines.setdefault(site.fabric_of(manager), []).append(manager)
    for fabric, line in sorted(lines.items()):
        _placed(site, fabric, line)
        _declared(site, fabric, line)
    _fabrics(site)
    _unmanaged(site)
    if site.fabrics:
        # All hosts need them: a prefix tells the fabrics of a host apart.
        managing = ", ".join("%s on %s" % (fabric, line[0].host) for fabric, line in sorted(lines.items()))
        for own in site.values.values():
            own.append(Value("opensm_fabrics", site.fabrics, "the subnet managers of %s" % managing))
    group = list(dict.fromkeys(manager.host for line in lines.values() for manager in line))
    _named(site, group)
    return Joined(site.values, {GROUP: group} if group else {}, site.left, site.dangers)


DISCOVERY = Discovery(join=join, hints={"manages": True, "whole": True}, seen=Whole)
