# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures what a site of many hosts costs the controller. The connection `recorded` stands for its nodes. Fails above the limits."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import sys
import tempfile
import typing as t

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import idle
import process
from cluster import environment
from common import BUILD, SetupError, main, say
from fleet import CONNECTIONS, ODD, Case, answered, inventory, write_answers

FORKS = 50
RATIO = 1.3
"""How much more than an idle playbook a run may cost."""
GROWTH = 1.2
"""How much more each of N hosts may cost than each of N / 2."""
KB_PER_HOST = 60
MS_PER_HOST = 360
"""Processor time: 1,000 hosts in three minutes on two cores."""


CASES = {
    "unchanged": Case("rdma.ofed.site", "unchanged", "unchanged", 0),
    "drifted": Case("rdma.ofed.site", "unchanged", "drifted", 0),
    "unreachable": Case("rdma.ofed.site", "unchanged", "unreachable", 2),
    "broken": Case("rdma.ofed.site", "unchanged", "broken", 2),
    "first": Case("rdma.ofed.site", "first", "first", 0),
    "verify": Case("rdma.ofed.verify", "verify", "verify", 0),
    "discover": Case("rdma.ofed.discover", "discover", "discover", 0),
}


class Cost(t.NamedTuple):
    """What a run cost."""

    name: str
    hosts: int
    wall: float
    cpu: float
    main_mb: float
    worker_mb: float
    all_mb: float
    lines: int

    @property
    def ms(self) -> float:
        return 1000 * self.cpu / self.hosts

    def row(self) -> str:
        return "%-12s %6d %8.1f %8.1f %8.1f %8.0f %8.1f %8.0f %8d" % (
            self.name, self.hosts, self.wall, self.cpu, self.ms, self.main_mb, self.worker_mb, self.all_mb, self.lines
        )  # fmt: skip


HEAD = "%-12s %6s %8s %8s %8s %8s %8s %8s %8s" % ("run", "hosts", "wall s", "CPU s", "ms/host", "main MB", "fork MB", "all MB", "lines")


def measure(name: str, count: int, *, case: Case, playbook: str = "", forks: int = FORKS) -> Cost:
    """Run one case. The time of the processor counts: other load on the machine changes only the time of the clock."""
    log = BUILD / "bench" / ("%s-%d.log" % (name, count))
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        write_answers(folder)
        (folder / "hosts.json").write_text(json.dumps(inventory(answered(count, case), folder)), encoding="utf-8")
        env = {**environment(), "ANSIBLE_CONNECTION_PLUGINS": str(CONNECTIONS), "ANSIBLE_FORKS": str(forks), "ANSIBLE_DISPLAY_SKIPPED_HOSTS": "true"}
        argv = [playbook or case.playbook, "-i", str(folder / "hosts.json")]
        ended = process.run(argv, env=env, log=log, ok=[case.status], sampling=1)
    main_mb, worker_mb, all_mb = (kb / 1024 for kb in (ended.memory.main_kb, ended.memory.worker_kb, ended.memory.all_kb))
    cost = Cost(name, count, ended.seconds, ended.cpu, main_mb, worker_mb, all_mb, log.read_text(encoding="utf-8").count("\n"))
    print(cost.row(), flush=True)
    return cost


def require(name: str, count: int) -> None:
    """Check in its output that the run was the one that was meant."""
    text = (BUILD / "bench" / ("%s-%d.log" % (name, count))).read_text(encoding="utf-8")
    changed = len(re.findall(r"^n\d+ .* changed=[1-9]", text, re.M))
    expected = {"first": count, "drifted": ODD}.get(name, 0)
    if changed != expected:
        raise SetupError("%s: %d hosts changed, and %d were expected" % (name, changed, expected))


def bench() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=int(os.environ.get("BENCH_HOSTS") or 1000))
    parser.add_argument("--forks", type=int, default=FORKS)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="case", help="default: all of %s" % ", ".join(CASES))
    arguments = parser.parse_args()
    count = arguments.hosts
    say("%d hosts, %d forks" % (count, arguments.forks))
    print(HEAD)
    costs = {}
    for name in arguments.cases:
        costs[name] = measure(name, count, case=CASES[name], forks=arguments.forks)
        require(name, count)
    over = judged(costs["unchanged"], arguments.forks) if "unchanged" in costs else []
    (BUILD / "bench-scale.json").write_text(json.dumps([cost._asdict() for cost in costs.values()], indent=1) + "\n", encoding="utf-8")
    if over:
        raise SetupError("over the limits: %s" % "; ".join(over))


def judged(cost: Cost, forks: int) -> list[str]:
    """What an unchanged run costs too much. Compares it with an idle run, and with a run of half as many hosts."""
    log = BUILD / "bench" / ("unchanged-%d.log" % cost.hosts)
    playbook = BUILD / "bench" / "idle.yml"
    playbook.write_text(json.dumps(idle.playbook(log.read_text(encoding="utf-8"), cost.hosts), indent=1), encoding="utf-8")
    case = CASES["unchanged"]
    same = measure("idle", cost.hosts, case=case, playbook=str(playbook), forks=forks)
    half = measure("half", cost.hosts // 2, case=case, forks=forks)
    figures = {
        "times an idle playbook": (cost.cpu / same.cpu, RATIO),
        "times the time per host of half as many": (cost.ms / half.ms, GROWTH),
        "ms of processor time per host": (cost.ms, MS_PER_HOST),
        "kB of memory for each further host": ((cost.main_mb - half.main_mb) * 1024 / (cost.hosts - half.hosts), KB_PER_HOST),
    }
    for words, (found, limit) in figures.items():
        print("%8.2f %s, %g are allowed" % (found, words, limit), flush=True)
    return ["%.2f %s" % (found, words) for words, (found, limit) in figures.items() if found > limit]


if __name__ == "__main__":
    main(bench)
