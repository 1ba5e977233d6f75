# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The finding about one node, and the waiting for a good one."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._compare import compare, table_rows
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Deviation, Row

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Observed

# Between two looks: opensm needs seconds to bring a port up, so a shorter pause only makes load.
PAUSE = 2.0


class Outcome(t.NamedTuple):
    """What the module reports of its node."""

    deviations: tuple[Deviation, ...]
    rows: tuple[Row, ...]
    fabric: str
    master_guid: str

    def result(self) -> dict[str, t.Any]:
        """In the shape that the module returns, and C(_table) reads."""
        return {
            "deviations": [deviation._asdict() for deviation in self.deviations],
            "deviation_lines": [deviation.words() for deviation in self.deviations],
            "rows": [row._asdict() for row in self.rows],
            "fabric": self.fabric,
            "master_guid": self.master_guid,
        }


def judge(declared: Declared, observed: Observed) -> Outcome:
    """Everything that there is to say about a node."""
    deviations = compare(declared, observed)
    return Outcome(
        deviations=tuple(deviations),
        rows=tuple(table_rows(declared, observed, deviations)),
        fabric=declared.fabric,
        master_guid=observed.master.guid if observed.master else "",
    )


def until_ok(look: t.Callable[[], Outcome], wait: float, clock: t.Callable[[], float], sleep: t.Callable[[float], None]) -> tuple[Outcome, float]:
    """Look until nothing deviates that time may mend, or C(wait) seconds are over; the last outcome, and the seconds that it took."""
    start = clock()
    while True:
        outcome = look()
        waited = clock() - start
        if all(deviation.lasting for deviation in outcome.deviations) or waited + PAUSE > wait:
            return outcome, waited
        sleep(PAUSE)
