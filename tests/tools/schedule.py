# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Chooses the next stage. Pure."""

from __future__ import annotations

import typing as t

LINES = 2
"""Number of stages that run at a time, one per core of the machine."""
TOLERANCE = 1.02
"""The cheapest stage runs next as long as the total time grows at most by this factor."""


class Stage(t.NamedTuple):
    """One make target and its conditions."""

    name: str
    argv: tuple[str, ...]
    """Arguments of make."""
    seconds: int
    """Approximate duration on two idle cores. Only the order depends on it."""
    lab: str = ""
    """Stages with the same lab run one at a time."""
    after: tuple[str, ...] = ()
    """Stages that must pass first."""
    part: int = 0
    """Stages of a later part start only when no stage of an earlier part can start."""
    alone: bool = False
    """No other stage runs at the same time."""


def choose(waiting: t.Sequence[Stage], running: t.Mapping[Stage, float], passed: t.Collection[str]) -> Stage | None:
    """Return the next stage: the cheapest one, so that failures show early, unless that delays the end of all.

    `running` has the remaining seconds of each running stage. Returns None if every stage must wait for another.
    """
    ready = [stage for stage in waiting if set(stage.after) <= set(passed) and _is_free(stage, running)]
    candidates = [stage for stage in ready if stage.part == min(other.part for other in ready)]
    # Those that run alone take their time in any order.
    beside = [stage for stage in waiting if not stage.alone]
    ends = {stage: length([other for other in beside if other != stage], {**running, stage: stage.seconds}) for stage in candidates}
    good = [stage for stage in candidates if ends[stage] <= TOLERANCE * min(ends.values())]
    return min(good, key=lambda stage: stage.seconds) if good else None


def _is_free(stage: Stage, running: t.Collection[Stage]) -> bool:
    if stage.alone or any(other.alone for other in running):
        return not running
    return not stage.lab or stage.lab not in {other.lab for other in running}


def length(waiting: t.Sequence[Stage], running: t.Mapping[Stage, float]) -> float:
    """Return the seconds until all stages have ended, if stages of the lab with the most remaining work start first."""
    alone = sum(stage.seconds for stage in waiting if stage.alone)
    waiting, ends, now = [stage for stage in waiting if not stage.alone], dict(running), 0.0
    while waiting:
        names = {stage.name for stage in (*waiting, *(stage for stage, end in ends.items() if end > now))}
        busy = [stage for stage, end in ends.items() if end > now]
        ready = [stage for stage in waiting if not names & set(stage.after) and _is_free(stage, busy)]
        if len(busy) < LINES and ready:
            stage = max(ready, key=lambda stage: sum(other.seconds for other in waiting if other == stage or (stage.lab and other.lab == stage.lab)))
            waiting.remove(stage)
            ends[stage] = now + stage.seconds
        else:
            now = min(ends[stage] for stage in busy)
    return max(ends.values(), default=0.0) + alone


def blocked(waiting: t.Sequence[Stage], failed: t.Collection[str]) -> list[Stage]:
    """Return the stages that depend, directly or indirectly, on a failed one."""
    found: list[Stage] = []
    while True:
        names = {*failed, *(stage.name for stage in found)}
        more = [stage for stage in waiting if stage not in found and names & set(stage.after)]
        if not more:
            return found
        found += more


def part_of(stages: t.Sequence[Stage], number: int, count: int) -> list[Stage]:
    """Return one of `count` slices of the stages, all of about the same length. What other stages come after is in each of them."""
    needed = {name for stage in stages for name in stage.after}
    base = [stage for stage in stages if stage.name in needed]
    slices = [list(base) for _ in range(count)]
    for stage in sorted((stage for stage in stages if stage not in base), key=lambda stage: (-stage.seconds, stage.name)):
        min(slices, key=lambda chosen: length([*chosen, stage], {})).append(stage)
    return [stage for stage in stages if stage in slices[number - 1]]
