# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""How many findings the last runs had, as the JSON report keeps it from run to run. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._finding import SEVERITIES
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import read_table

KEPT = 60
_SIZES = ("switches", "cas", "links")


class Run(t.NamedTuple):
    """Counts of findings by severity, then of the fabric."""

    time: str
    error: int
    warning: int
    notice: int
    switches: int
    cas: int
    links: int


def run_of(time: str, findings: t.Sequence[t.Mapping[str, t.Any]], totals: t.Mapping[str, int]) -> Run:
    counts = {severity.value: sum(each["severity"] == severity.value for each in findings) for severity in SEVERITIES}
    return Run(time=time, **counts, **{name: totals[name] for name in _SIZES})


def _run(row: t.Any) -> Run | None:
    if not isinstance(row, dict) or not isinstance(row.get("time"), str):
        return None
    counts = [count for count in map(row.get, Run._fields[1:]) if isinstance(count, int) and not isinstance(count, bool)]
    return Run(row["time"], *counts) if len(counts) == len(Run._fields) - 1 else None


def parse_history(text: str) -> tuple[Run, ...]:
    """The runs that a report tells of, the oldest first; none for what is no report."""
    rows = read_table(text).get("history")
    runs = [_run(row) for row in rows] if isinstance(rows, list) else []
    return tuple(run for run in runs if run)


def extended(runs: t.Sequence[Run], run: Run) -> tuple[Run, ...]:
    return (*runs, run)[-KEPT:]
