# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fabrics of several sizes in the form of ib_fabric_info's result, faults in them, and the report about them."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import picture_of
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._judge import Expected
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._health._report import findings_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._content import Report, Run, extended, run_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._document import explanations

from support.small_fabric import Data, Plug, data

TIME = "2026-03-02T06:00:00Z"


def _of(nodes: dict[str, str], cables: list[tuple[Plug, Plug]]) -> Data:
    kinds = list(nodes.values())
    totals = {"switches": kinds.count("switch"), "cas": kinds.count("ca"), "routers": 0, "ports": 2 * len(cables), "links": len(cables), "degraded": 0}
    found = data(nodes, cables, totals=totals)
    for number, node in enumerate(found["nodes"]):
        node["lids"] = [number + 1]
        if node["type"] == "switch":
            node.update(firmware="31.2014.2036", psid="MT_0000000063")
        else:
            node["description"] = node["name"] = node["name"] + " mlx5_0"
    for link in found["links"]:
        link["ends"].sort(key=lambda end: (end["node_guid"], end["port"]))
    names = {node["guid"]: node["name"] for node in found["nodes"]}
    for port in found["ports"]:
        port["name"] = names[port["node_guid"]]
    return found


def lab(hosts: int = 3) -> Data:
    """Return a fabric with all hosts on one switch."""
    names = ["node%d" % (number + 1) for number in range(hosts)]
    return _of({"leaf1": "switch", **dict.fromkeys(names, "ca")}, [(("leaf1", number + 1), (name, 1)) for number, name in enumerate(names)])


def two_levels(hosts: int, down: int = 18, spines: int = 18) -> Data:
    nodes: dict[str, str] = {}
    cables: list[tuple[Plug, Plug]] = []
    leaves = -(-hosts // down)
    nodes.update(("spine%02d" % (number + 1), "switch") for number in range(spines))
    nodes.update(("leaf%02d" % (number + 1), "switch") for number in range(leaves))
    for host in range(hosts):
        nodes["node%03d" % (host + 1)] = "ca"
        cables.append((("leaf%02d" % (host // down + 1), host % down + 1), ("node%03d" % (host + 1), 1)))
    for leaf in range(leaves):
        for spine in range(spines):
            cables.append((("leaf%02d" % (leaf + 1), down + spine + 1), ("spine%02d" % (spine + 1), leaf + 1)))
    return _of(nodes, cables)


def three_levels(hosts: int, half: int = 18) -> Data:
    """Return a fat tree with pods of `half` leaves and `half` spines, and a quarter of the possible cores."""
    nodes: dict[str, str] = {}
    cables: list[tuple[Plug, Plug]] = []
    leaves = -(-hosts // half)
    pods, cores = -(-leaves // half), half * half // 4
    nodes.update(("core%02d" % number, "switch") for number in range(cores))
    nodes.update(("spine%02d" % number, "switch") for number in range(pods * half))
    nodes.update(("leaf%02d" % number, "switch") for number in range(leaves))
    for host in range(hosts):
        nodes["node%04d" % host] = "ca"
        cables.append((("leaf%02d" % (host // half), host % half + 1), ("node%04d" % host, 1)))
    for leaf in range(leaves):
        for up in range(half):
            cables.append((("leaf%02d" % leaf, half + up + 1), ("spine%02d" % (leaf // half * half + up), leaf % half + 1)))
    for spine in range(pods * half):
        for up in range(half):
            number = spine % half * half + up
            cables.append((("spine%02d" % spine, half + up + 1), ("core%02d" % (number % cores), spine // half * 4 + number // cores + 1)))
    return _of(nodes, cables)


def broken(found: Data) -> Data:
    """Return the fabric with a slow link, a missing link, other firmware, and a name that two nodes share."""
    now = copy.deepcopy(found)
    slow = now["links"][-3]
    slow["degraded"] = True
    for end in slow["ends"]:
        end.update(speed="QDR")
    uplink = next((link for link in now["links"] if not link["ends"][1]["name"].startswith("node")), now["links"][1])
    now["links"].remove(uplink)
    switches = [node for node in now["nodes"] if node["type"] == "switch"]
    switches[len(switches) // 2]["firmware"] = "31.2012.1024"
    hosts = [node for node in now["nodes"] if node["type"] == "ca"]
    if len(hosts) > 10:
        hosts[5]["name"] = hosts[5]["description"] = hosts[6]["name"]
        for name in (hosts[-1]["guid"], hosts[9]["guid"]):
            now["nodes"] = [node for node in now["nodes"] if node["guid"] != name]
            now["links"] = [link for link in now["links"] if all(end["node_guid"] != name for end in link["ends"])]
    now["totals"].update(links=len(now["links"]), cas=sum(node["type"] == "ca" for node in now["nodes"]))
    return now


def history(runs: int, totals: t.Mapping[str, int]) -> list[Run]:
    found: tuple[Run, ...] = ()
    for number in range(runs):
        time = "2026-%02d-%02dT06:00:00Z" % (1 + number // 28, 1 + number % 28)
        run = Run(time, (number * 7 % 5) // 3, number % 4 // 2, number % 3 // 2, totals["switches"], totals["cas"], totals["links"])
        found = extended(found, run)
    return list(found)


def report(now: Data, before: t.Optional[Data] = None, **expected: t.Any) -> Report:
    picture = picture_of(before) if before else None
    findings = findings_of(now, Expected(**expected), picture)
    runs = extended(history(40, now["totals"]), run_of(TIME, findings, now["totals"]))
    return Report("ib", TIME, now, findings, picture, runs, explanations())
