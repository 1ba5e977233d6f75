# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The number of modules that an unchanged run of site.yml may run per host. Each is a round trip of 0.2 s, times thousands of hosts."""

from __future__ import annotations

import pathlib
import re
import typing as t

import yaml

COMPUTE_NODE = 2
SM_NODE = 3
TASKS = 3
"""Limit for a compute node. The controller forks a worker for each task, also for a skipped one: 25 ms of processor time."""
WAITING = 4
"""One compute node of all also waits in the plays that have work for others only, here for the subnet manager: if all hosts of a play fail, Ansible ends the
run for every host. The tasks that run once for all hosts run on it, too."""


def managers(inventory: pathlib.Path) -> set[str]:
    """Return the hosts of group opensm, from an inventory as the lab writes it."""
    groups = yaml.safe_load(inventory.read_text(encoding="utf-8"))["all"]["children"]
    return set(groups["opensm"]["hosts"])


def limit(host: str, sm_hosts: t.Collection[str]) -> int:
    return SM_NODE if host in sm_hosts else COMPUTE_NODE


def exceeded(executions: t.Mapping[str, t.Sequence[str]], sm_hosts: t.Collection[str]) -> list[str]:
    """Return a line for each host above its budget."""
    return [
        "%s ran %d modules, %d are allowed: %s" % (host, len(modules), limit(host, sm_hosts), ", ".join(modules))
        for host, modules in sorted(executions.items())
        if len(modules) > limit(host, sm_hosts)
    ]


def tasks(output: str) -> dict[str, int]:
    """Return the number of tasks per host, from the recap of the run."""
    counts = re.findall(r"^(\S+) +: ok=(\d+) .* failed=(\d+) +skipped=(\d+) ", output, re.M)
    return {host: sum(map(int, numbers)) for host, *numbers in counts}
