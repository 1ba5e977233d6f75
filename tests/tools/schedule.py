# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which stage comes next. Pure."""

from __future__ import annotations

import typing as t

LINES = 2
"""As many stages run at a time; as many cores the machine has."""
TOLERANCE = 1.02
"""The cheapest stage comes next, even if the whole takes longer by this factor."""


class Stage(t.NamedTuple):
    """One target, and when it may run."""

    name: str
    argv: tuple[str, ...]
    """For make."""
    seconds: int
    """About what it takes on two quiet cores. Only the order depends on it."""
    lab: str = ""
    """Stages with the same lab run one after the other."""
    after: tuple[str, ...] = ()
    """Stages that have to pass first."""
    part: int = 0
    """Stages of a later part begin when there is nothing left to begin of those before."""


def choose(waiting: t.Sequence[Stage], running: t.Mapping[Stage, float], passed: t.Collection[str]) -> Stage | None:
    """The next to begin: the cheapest, so that failures come early, unless the whole would then end later.

    `running` has the seconds that each still takes. None where every stage has to wait for another one.
    """
    ready = [stage for stage in waiting if set(stage.after) <= set(passed) and _is_free(stage, running)]
    candidates = [stage for stage in ready if stage.part == min(other.part for other in ready)]
    ends = {stage: length([other for other in waiting if other != stage], {**running, stage: stage.seconds}) for stage in candidates}
    good = [stage for stage in candidates if ends[stage] <= TOLERANCE * min(ends.values())]
    return min(good, key=lambda stage: stage.seconds) if good else None


def _is_free(stage: Stage, running: t.Iterable[Stage]) -> bool:
    return not stage.lab or stage.lab not in {other.lab for other in running}


def length(waiting: t.Sequence[Stage], running: t.Mapping[Stage, float]) -> float:
    """The seconds until all have ended, if those come first that others of the same lab wait for longest."""
    waiting, ends, now = list(waiting), dict(running), 0.0
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
    return max(ends.values(), default=0.0)


def blocked(waiting: t.Sequence[Stage], failed: t.Collection[str]) -> list[Stage]:
    """Those that wait for a stage that failed, or for one of these."""
    found: list[Stage] = []
    while True:
        names = {*failed, *(stage.name for stage in found)}
        more = [stage for stage in waiting if stage not in found and names & set(stage.after)]
        if not more:
            return found
        found += more
