# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the checks of a commit. `test` checks each promise once on the real system; `test-all` then runs all others but the longest. `nightly` runs everything,
or one slice of it, and goes on where an earlier run on the same commit stopped.

Standard library only: it also creates .venv, so that a failure of that step is the failure of a stage.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
import typing as t

import failures
import leftovers
import memory
import proofs
import stages
import timing
from common import BUILD, JUNIT, SetupError, say
from common import main as program
from schedule import Stage, part_of
from stages import Done

TIMES = BUILD / "times.jsonl"

BASE = ("collection",)
LABS = ("image",)

# Duration in seconds with everything installed, beside another stage.
TEST = (
    Stage("collection", ("collection",), 10),
    Stage("image", ("image",), 5, after=BASE),
    Stage("lint", ("lint",), 200, after=BASE),
    Stage("unit", ("unit-all",), 800, after=BASE),
    Stage("sanity", ("sanity-quick",), 350, "sanity", after=BASE),
    Stage("molecule-default", ("molecule-default",), 160, "rdma-molecule", after=LABS),
    Stage("acceptance", ("acceptance-quick",), 370, "rdma-accept", after=LABS),
    Stage("machine", ("machine",), 310, "rdma-machines", after=LABS),
)
REST = (
    Stage("sanity-rest", ("sanity-rest",), 320, "sanity", after=BASE, part=1),
    Stage("molecule-stacks", ("molecule-stacks",), 545, "rdma-stacks", after=LABS, part=1),
    Stage("molecule-opensm_ha", ("molecule-opensm_ha",), 440, "rdma-ha", after=LABS, part=1),
    Stage("molecule-gpudirect", ("molecule-gpudirect",), 300, "rdma-gpudirect", after=LABS, part=1),
    Stage("acceptance-rest", ("acceptance-rest",), 1390, "rdma-accept", after=LABS, part=1),
    Stage("acceptance-fleet", ("acceptance-fleet",), 700, "rdma-sick", after=LABS, part=1),
    Stage("acceptance-labs", ("acceptance-labs",), 1250, "rdma-labs", after=LABS, part=1),
)
# Machines run alone: their emulated processors use the whole computer.
LONGEST = (
    *(
        Stage(
            "machine-" + name,
            ("machine-tests", "TEST=tests/acceptance_vm/test_%s.py" % name, "PYTEST_ARGS=-m 'not quick'"),
            seconds,
            "rdma-machines",
            after=LABS,
            part=2,
            alone=True,
        )
        for name, seconds in (
            ("machines", 300),
            ("image", 600),
            ("rails", 400),
            ("network", 400),
            ("firewall", 300),
            ("firewall_nm", 350),
            ("fabric_manager", 600),
            ("soft_rdma", 300),
            ("limits", 800),
            ("dhcp", 400),
            ("pair_test", 400),
            ("job", 900),
            ("ifcfg", 420),
            ("netplan_nm", 420),
            ("takeover", 1200),
            ("boot", 300),
            ("stacks_rollback", 400),
            ("gpudirect", 500),
            ("driver_stack", 900),
            ("signatures", 600),
            ("stacks_interrupts", 900),
        )
    ),
    Stage("molecule-ipoib_vm", ("molecule-ipoib_vm",), 900, "rdma-ipoib", after=LABS, part=2, alone=True),
    # With this one, a commit would wait longer than it may: it belongs to it once the others are faster.
    Stage("molecule-firmware", ("molecule-firmware",), 1060, "rdma-firmware", LABS, 1),
    Stage("acceptance-long", ("acceptance-long",), 2650, "rdma-labs", LABS, 1),
    Stage("report", ("report-test",), 120, after=BASE, part=1),
    Stage("docs", ("docs",), 150, after=BASE, part=1),
    Stage("release-check", ("release-check",), 150, after=BASE, part=1),
    Stage("round-trips", ("round-trips",), 650, after=BASE, part=1),
)

CHECKS: dict[str, tuple[Stage, ...]] = {"test": TEST, "test-all": (*TEST, *REST), "nightly": (*TEST, *REST, *LONGEST)}
RECORDED = ("test-all", "nightly")
"""`test` is what one runs before a commit: most of its runs are of no commit."""


def chosen(name: str, part: str) -> list[Stage]:
    """Return the stages of a check, or of a slice of it."""
    number, separator, count = part.partition("/")
    if not (separator and number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise SetupError("SLICE=%s is not a slice: give for example SLICE=1/7, for the first of seven" % part)
    return part_of(CHECKS[name], int(number), int(count))


def _run(todo: t.Sequence[Stage], commit: str, note: t.Callable[[Done], None]) -> list[Done]:
    shutil.rmtree(JUNIT, ignore_errors=True)
    TIMES.write_text("", encoding="utf-8")
    try:
        return stages.run_all(todo, {timing.VARIABLE: str(TIMES), "RDMALAB_RUN": str(os.getpid()), proofs.VARIABLE: commit}, note)
    except BaseException:
        leftovers.end_labs()
        raise


def _summary(ended: t.Sequence[Done], seconds: float) -> str:
    events = timing.read(TIMES)
    found = [
        failure
        for done in ended
        if done.status
        for failure in failures.failures(done, events, done.log.read_text(encoding="utf-8", errors="replace") if done.status > 0 else "")
    ]
    lines = [timing.table(events), "", stages.table(ended, seconds)]
    if found:
        lines += ["==> what failed, and how to run it alone; the output of each stage is in build/logs/stage-NAME.log", failures.words(found)]
    return "\n".join(lines)


def main(name: str, *, part: str = "1/1", fresh: bool = False) -> int:
    leftovers.catch_signals()
    leftovers.end(leftovers.is_abandoned)
    leftovers.end_labs()
    start = time.monotonic()
    BUILD.mkdir(exist_ok=True)
    commit = proofs.tested_commit()
    known = memory.Memory(commit if name == "nightly" else "", fresh)
    todo = known.left(chosen(name, part))
    if not todo:
        say("all of it has passed on this commit before; FRESH=1 forgets that")
    ended = _run(todo, commit, known.note)
    print("\n" + _summary(ended, time.monotonic() - start))
    if name in RECORDED:
        known.note_tests()
        say(proofs.record(known.tests, commit))
    print("\n%s" % stages.verdict(ended), flush=True)
    return int(any(done.status for done in ended))


def run() -> None:
    sys.exit(main(sys.argv[1], part=os.environ.get("SLICE") or "1/1", fresh=bool(os.environ.get("FRESH"))))


if __name__ == "__main__":
    program(run)
