# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the checks of a commit. `test` checks each promise once on the real system; `test-all` then runs all others. `machines` are the longest checks, on
virtual machines and in the lab.

Standard library only: it also creates .venv, so that a failure of that step is the failure of a stage.
"""

from __future__ import annotations

import os
import shutil
import sys
import time

import failures
import leftovers
import stages
import timing
from common import BUILD, JUNIT, say
from schedule import Stage

TIMES = BUILD / "times.jsonl"

BASE = ("collection",)
LABS = ("image",)

# Duration in seconds with everything installed, beside another stage.
TEST = (
    Stage("collection", ("collection",), 10),
    Stage("image", ("image",), 5, after=BASE),
    Stage("lint", ("lint",), 117, after=BASE),
    Stage("unit", ("unit",), 300, after=BASE),
    Stage("sanity", ("sanity-quick",), 212, "sanity", after=BASE),
    Stage("molecule-default", ("molecule-default",), 148, "rdma-molecule", after=LABS),
    Stage("acceptance", ("acceptance-quick",), 410, "rdma-accept", after=LABS),
    Stage("machine", ("machine",), 200, "rdma-machines", after=LABS),
)
REST = (
    Stage("sanity-rest", ("sanity-rest",), 65, "sanity", after=BASE, part=1),
    Stage("molecule-stacks", ("molecule-stacks",), 380, "rdma-stacks", after=LABS, part=1),
    Stage("molecule-opensm_ha", ("molecule-opensm_ha",), 425, "rdma-ha", after=LABS, part=1),
    Stage("molecule-firmware", ("molecule-firmware",), 1060, "rdma-firmware", LABS, 1),
    Stage("molecule-gpudirect", ("molecule-gpudirect",), 300, "rdma-gpudirect", LABS, 1),
    Stage("acceptance-rest", ("acceptance-rest",), 1065, "rdma-accept", after=LABS, part=1),
    Stage("acceptance-labs", ("acceptance-labs",), 850, "rdma-labs", after=LABS, part=1),
)
# These run one at a time: emulated processors use the whole machine.
MACHINES = (
    *(
        Stage(
            "machine-" + name, ("machine-tests", "TEST=tests/acceptance_vm/test_%s.py" % name, "PYTEST_ARGS=-m 'not quick'"), seconds, "rdma-machines", LABS, 2
        )
        for name, seconds in (
            ("machines", 300),
            ("fabric_manager", 600),
            ("soft_rdma", 300),
            ("pair_test", 400),
            ("ifcfg", 420),
            ("netplan_nm", 420),
            ("boot", 300),
            ("stacks_rollback", 400),
            ("gpudirect", 500),
            ("driver_stack", 900),
            ("signatures", 600),
            ("stacks_interrupts", 900),
        )
    ),
    Stage("molecule-ipoib_vm", ("molecule-ipoib_vm",), 900, "rdma-machines", LABS, 1),
    Stage("acceptance-long", ("acceptance-long",), 1650, "rdma-labs", LABS, 1),
    Stage("report", ("report-test",), 120, after=BASE, part=1),
)
FITTING: tuple[str, ...] = ()
"""Stages of MACHINES that fit into the checks of a commit. Only "machine" does, until the others become faster."""

CHECKS: dict[str, tuple[Stage, ...]] = {
    "test": TEST,
    "test-all": (*TEST, *REST, *(stage for stage in MACHINES if stage.name in FITTING)),
    "machines": (*TEST[:2], TEST[-1], *MACHINES),
}


def main(name: str) -> int:
    leftovers.catch_signals()
    leftovers.end(leftovers.is_abandoned)
    leftovers.end_labs()
    start = time.monotonic()
    shutil.rmtree(JUNIT, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    TIMES.write_text("", encoding="utf-8")
    try:
        ended = stages.run_all(CHECKS[name], {timing.VARIABLE: str(TIMES), "RDMALAB_RUN": str(os.getpid())})
    except BaseException:
        leftovers.end_labs()
        raise
    events = timing.read(TIMES)
    found = [
        failure
        for done in ended
        if done.status
        for failure in failures.failures(done, events, done.log.read_text(encoding="utf-8", errors="replace") if done.status > 0 else "")
    ]
    print("\n%s\n\n%s" % (timing.table(events), stages.table(ended, time.monotonic() - start)))
    if found:
        say("what failed, and how to run it alone; the output of each stage is in build/logs/stage-NAME.log")
        print(failures.words(found))
    print("\n%s" % stages.verdict(ended), flush=True)
    return int(any(done.status for done in ended))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit("interrupted")
