# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures an unchanged run of site.yml: modules per host, wall time, controller memory. Fails above the budget."""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
import tempfile
import typing as t

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import budget
import process
import records
from cluster import Cluster, environment
from common import BUILD, SetupError, main, say

PREFIX = "rdma-bench"
ALIASES = (10, 110)
LOOK = {"name": "Look at the node", "rdma.ofed.rdma_facts": {"keep_look": True}}
KB_PER_HOST = 60


class Cost(t.NamedTuple):
    """Measurements of one run."""

    executions: dict[str, list[str]]
    seconds: float
    changed: int
    main_mb: float
    """Peak resident memory of the process that the user started."""
    all_mb: float
    """Peak of all processes of the run together; memory shared with the workers counts once."""


def run(argv: t.Sequence[str], folder: pathlib.Path) -> process.Ended:
    """Run ansible-playbook. The task_record callback writes its events to `folder`."""
    return process.run(argv, env=environment(folder), log=BUILD / "bench.log")


def measure(cluster: Cluster, *arguments: str) -> Cost:
    """Measure one run of site.yml."""
    with tempfile.TemporaryDirectory() as folder:
        ended = run(["rdma.ofed.site", "-i", str(cluster.inventory), *arguments], pathlib.Path(folder))
        events = records.find(pathlib.Path(folder), "*site*", "check" if "--check" in arguments else "run")[0]
    return Cost(records.executions(events), ended.seconds, len(records.changes(events)), ended.memory.main_kb / 1024, ended.memory.all_kb / 1024)


def kb_per_host(cluster: Cluster) -> float:
    """Return the growth of the main process in kB per inspected node, from runs with one node under few and under many names."""
    found = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))["all"]
    node = next(iter(found["children"]["rdma"]["hosts"].values()))
    peaks = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "look.yml").write_text(json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [LOOK]}]), encoding="utf-8")
        for count in ALIASES:
            inventory = folder / ("%d.json" % count)
            hosts = {"alias%d" % number: node for number in range(count)}
            inventory.write_text(json.dumps({"all": {"vars": found["vars"], "hosts": hosts}}), encoding="utf-8")
            peaks.append(run([str(folder / "look.yml"), "-i", str(inventory)], folder).memory.main_kb)
    return (peaks[1] - peaks[0]) / (ALIASES[1] - ALIASES[0])


def table(cost: Cost, managers: t.Collection[str]) -> str:
    lines = ["%-10s %-12s %8s %8s  %s" % ("host", "kind", "modules", "budget", "which")]
    for host, modules in sorted(cost.executions.items()):
        kind = "SM" if host in managers else "compute"
        lines.append(
            "%-10s %-12s %8d %8d  %s" % (host, kind, len(modules), budget.limit(host, managers), ", ".join(name.rpartition(".")[2] for name in modules))
        )
    lines += ["", "wall time %.1f s; memory %.0f MB in the main process, %.0f MB in all" % (cost.seconds, cost.main_mb, cost.all_mb)]
    return "\n".join(lines)


def bench() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes the lab has (default: 3)")
    parser.add_argument("--keep", action="store_true", help="leave the lab up afterwards")
    arguments = parser.parse_args()
    cluster = Cluster(PREFIX)
    cluster.show("down")
    try:
        cluster.show("up", "--nodes", str(arguments.nodes))
        say("first run: %d nodes" % arguments.nodes)
        first = measure(cluster)
        say("second run, nothing to change")
        cost = measure(cluster)
        say("check mode, nothing to change")
        predicted = measure(cluster, "--check", "--diff")
        managers = budget.managers(cluster.inventory)
        say("the look at %d nodes" % ALIASES[1])
        growth = kb_per_host(cluster)
    finally:
        if not arguments.keep:
            cluster.show("down")
    BUILD.mkdir(exist_ok=True)
    result = {"nodes": arguments.nodes, "first": first._asdict(), "unchanged": cost._asdict(), "check_mode": predicted._asdict(), "kb_per_host": growth}
    over = ["%s: %s" % (what, line) for what, each in (("run", cost), ("check mode", predicted)) for line in budget.exceeded(each.executions, managers)]
    (BUILD / "bench.json").write_text(json.dumps({**result, "over_budget": over}, indent=2) + "\n", encoding="utf-8")
    print("\nunchanged run\n%s\n\ncheck mode\n%s\n\nwritten to build/bench.json" % (table(cost, managers), table(predicted, managers)))
    print("memory of the main process for each further host: %.0f kB, %d are allowed" % (growth, KB_PER_HOST), flush=True)
    if cost.changed or predicted.changed:
        raise SetupError("the second run changed something")
    if growth > KB_PER_HOST:
        over.append("%.0f kB of memory for each host, %d are allowed" % (growth, KB_PER_HOST))
    if over:
        raise SetupError("over budget: %s" % "; ".join(over))


if __name__ == "__main__":
    main(bench)
