# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the faults of a fabric in the result of `ib_fabric_info`. Pure, and linear in nodes, ports and links."""

from __future__ import annotations

import collections
import re
import typing as t

from ..._errors import Problem, nearest
from ..._finding import Code, End, Finding, Topic
from ..._foreign import hexadecimal
from ..._hosts import fold
from ..._tools._flint import by_number
from ..._tools._sminfo import MASTER, STATES
from .._baseline import Pace, pace_of
from .._choice import names_of
from .._gap import Code as GapCode

Row = t.Mapping[str, t.Any]
# Nodes inside of switches, for collective operations. All have the same description.
AGGREGATION = "Aggregation Node"
_MEMBERSHIP = 0x7FFF
# The names that firmware and drivers give to an adapter without a host name: `MT4129 ConnectX7   Mellanox Technologies`.
_OF_FIRMWARE = re.compile(r"MT[0-9]{4,6}\b|(?:Mellanox|NVIDIA)(?: Technologies)?\b|QLogic\b|Intel\b|hfi1|MLX[0-9]")


class Rule(t.NamedTuple):
    """The declared properties of links. "" and 0 match everything."""

    node: str = ""
    port: int = 0
    width: str = ""
    speed: str = ""


class Expected(t.NamedTuple):
    """What is declared about a fabric."""

    hosts: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    """Hosts that may run a subnet manager in addition to those of `line`; if empty, all hosts may."""
    line: tuple[str, ...] = ()
    """Hosts that manage the fabric according to the inventory, the designated one first."""
    partitions: t.Mapping[int, tuple[str, ...]] = {}
    """Port GUIDs by P_Key."""
    rules: tuple[Rule, ...] = ()
    guids: t.Mapping[str, tuple[str, ...]] = {}
    """Node GUIDs by host, for hosts whose adapters are known."""


def _end(row: Row, port: int = 0) -> End:
    return End(row["node_guid"] if "node_guid" in row else row["guid"], row["name"], port)


def _declared(rules: t.Mapping[tuple[str, int], Rule], ends: t.Sequence[Row]) -> Rule:
    """The most specific rule for a link."""
    ports = [(name, end["port"]) for end in ends for name in names_of(end["name"])]
    places = (*ports, *((name, 0) for name, _port in ports), ("", 0))
    return next((rules[place] for place in places if place in rules), Rule())


def _links(links: t.Iterable[Row], rules: t.Iterable[Rule]) -> t.Iterator[Finding]:
    by_place = {(rule.node.lower(), rule.port): rule for rule in rules}
    for link in links:
        ends = link["ends"]
        rule = _declared(by_place, ends) if by_place else Rule()
        pace = pace_of(ends)
        wanted = Pace(rule.width or link["max_width"] or pace.width, rule.speed or link["max_speed"] or pace.speed)
        if pace.is_below(wanted):
            yield Finding(Code.LINK_DEGRADED, Topic.LINK, wanted=" ".join(wanted), found=" ".join(pace), ends=tuple(_end(end, end["port"]) for end in ends))


def _managers(data: Row, allowed: t.Collection[str], line: t.Sequence[str]) -> t.Iterator[Finding]:
    """Findings about subnet managers; none where the subnet administration could not be queried."""
    managers = data["subnet_managers"]
    silent = any(gap["code"] == GapCode.NO_SUBNET_MANAGER.value for gap in data["problems"])
    masters = [manager for manager in managers if manager["state"] == STATES[MASTER]]
    if silent or (managers and not masters):
        yield Finding(Code.NO_MASTER, Topic.SUBNET_MANAGER)
    if len(masters) > 1:
        yield Finding(Code.SEVERAL_MASTERS, Topic.SUBNET_MANAGER, found=", ".join(_holder(manager) for manager in masters), detail=str(len(masters)))
    known = {name for host in (*allowed, *line) for name in names_of(host)} if allowed else set()
    designated, standbys = names_of(line[0]) if line else set(), {name for host in line[1:] for name in names_of(host)}
    for manager in managers:
        own = names_of(manager["name"])
        if masters == [manager] and own & standbys and not own & designated:
            yield Finding(Code.FAILED_OVER, Topic.SUBNET_MANAGER, _holder(manager), detail=line[0])
        elif known and not own & known:
            code = Code.OTHER_MASTER if manager in masters else Code.UNEXPECTED_MANAGER
            yield Finding(code, Topic.SUBNET_MANAGER, _holder(manager), found=manager["state"], detail=", ".join(sorted(allowed)))


def _holder(manager: Row) -> str:
    return str(manager["name"] or manager["port_guid"])


def _duplicates(nodes: t.Iterable[Row], ports: t.Iterable[Row]) -> t.Iterator[Finding]:
    named: dict[str, list[Row]] = {}
    for node in nodes:
        if AGGREGATION not in node["description"]:
            named.setdefault(node["name"], []).append(node)
    for name, same in named.items():
        if len({node["system_guid"] or node["guid"] for node in same}) <= 1:
            continue
        if _OF_FIRMWARE.match(name) and all(node["type"] == "ca" for node in same):
            yield Finding(Code.DEFAULT_NAME, Topic.NODE, detail=str(len(same)), ends=tuple(map(_end, same)))
        else:
            yield Finding(Code.DUPLICATE_NAME, Topic.NODE, found=", ".join(node["guid"] for node in same), ends=tuple(map(_end, same)))
    claims: dict[tuple[str, int], list[Row]] = {}
    owners: dict[str, dict[str, Row]] = {}
    for port in ports:
        if port["peer_node_guid"]:
            claims.setdefault((port["peer_node_guid"], port["peer_port"]), []).append(port)
        if port["port_guid"]:
            owners.setdefault(port["port_guid"], {})[port["node_guid"]] = port
    guids = {guid: same for (guid, _number), same in claims.items() if len(same) > 1}
    guids.update({guid: list(same.values()) for guid, same in owners.items() if len(same) > 1})
    for guid, same in guids.items():
        yield Finding(Code.DUPLICATE_GUID, Topic.NODE, guid, ends=tuple(_end(port, port["port"]) for port in same))


def _firmware(nodes: t.Iterable[Row]) -> t.Iterator[Finding]:
    """Findings about equal switches or adapters that run another firmware than most of them."""
    equal: dict[str, list[Row]] = {}
    for node in nodes:
        if node["firmware"]:
            equal.setdefault(node["psid"] or node["device_id"], []).append(node)
    for model, same in equal.items():
        count = collections.Counter(node["firmware"] for node in same)
        usual = max(count, key=lambda version: (count[version], by_number(version)))
        for node in same:
            if node["firmware"] != usual:
                yield Finding(Code.FIRMWARE_DIFFERS, Topic.SWITCHES, wanted=usual, found=node["firmware"], detail=model, ends=(_end(node),))


def _partitions(data: Row, declared: t.Mapping[int, tuple[str, ...]]) -> t.Iterator[Finding]:
    """Findings about partitions; none where no partition is known."""
    members = {hexadecimal(row["pkey"]): {*row["full"], *row["limited"]} for row in data["partitions"]}
    owners = {port["port_guid"]: port for port in data["ports"]}
    for pkey, guids in declared.items() if members else ():
        for guid in guids:
            if guid not in members.get(pkey & _MEMBERSHIP, ()):
                ends = (_end(owners[guid], owners[guid]["port"]),) if guid in owners else ()
                yield Finding(Code.PARTITION_MEMBER, Topic.PARTITION, guid, wanted="0x%04x" % (pkey & _MEMBERSHIP), ends=ends)


def _hosts(nodes: t.Sequence[Row], expected: Expected) -> t.Iterator[Finding]:
    """Findings about hosts. A host is identified by the GUIDs of its adapters, or by its name where these are unknown."""
    known = {name for node in nodes if node["type"] != "switch" for text in (node["name"], node["description"]) for name in names_of(text)}
    there = {node["guid"] for node in nodes}
    absent = [host for host in expected.hosts if not names_of(host) & known and there.isdisjoint(expected.guids.get(host, ()))]
    unknown = [host for host in absent if not expected.guids.get(host)]
    # If no host matches, the names are the likely cause: in a fabric with adapters, not every host is absent.
    if len(unknown) > 1 and len(unknown) == len(expected.hosts) and any(node["type"] == "ca" for node in nodes):
        yield Finding(Code.HOSTS_UNMATCHED, Topic.HOST, fold(unknown), detail=str(len(unknown)))
        return
    for host in absent:
        yield Finding(Code.HOST_ABSENT, Topic.HOST, host)


def unknown_nodes(expected: Expected, data: Row, before: t.Iterable[t.Any]) -> list[Problem]:
    """Problems of links declared for a node that neither the fabric nor the baseline has. `before`: the nodes of the baseline."""
    texts = [text for node in data["nodes"] for text in (node["name"], node["description"])] + [
        text for node in before for text in (node.name, node.description)
    ]
    known = {name for text in texts for name in names_of(text)} | {name for host in expected.hosts for name in names_of(host)}
    found = []
    for index, rule in enumerate(expected.rules):
        if rule.node and not names_of(rule.node) & known:
            near = nearest(rule.node.lower(), sorted(known))
            hint = "did you mean %s; " % near if near else ""
            found.append(Problem("links[%d].node" % index, rule.node, "a node of the fabric", hint + "the variable of the playbook is fabric_links"))
    return found


def judge(data: Row, expected: Expected) -> list[Finding]:
    """All findings. `data`: the result of the module."""
    return [
        *_managers(data, expected.managers, expected.line),
        *_links(data["links"], expected.rules),
        *_duplicates(data["nodes"], data["ports"]),
        *_firmware(data["nodes"]),
        *_partitions(data, expected.partitions),
        *_hosts(data["nodes"], expected),
    ]
