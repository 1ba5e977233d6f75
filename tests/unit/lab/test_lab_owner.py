# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which commands may use or remove a lab."""

from __future__ import annotations

import os
import pathlib

import pytest
from labctl import _cluster, _leftovers, _settings
from labctl._owner import Owner, Verdict, judge, lives, process_of, run_of
from labctl._say import LabError

LIVING, DEAD, OTHER = "1-10-5", "1-11-5", "1-12-5"


@pytest.mark.parametrize(
    ("lab", "run", "verdict"),
    [
        # Started by hand in this checkout, or before labs had an owner.
        (("/here", ""), "", Verdict.OURS),
        (("", ""), LIVING, Verdict.OURS),
        (("/here", LIVING), LIVING, Verdict.OURS),
        # A person inspects the lab of a run.
        (("/here", LIVING), "", Verdict.OURS),
        (("/here", OTHER), LIVING, Verdict.IN_USE),
        (("/here", DEAD), LIVING, Verdict.ABANDONED),
        (("/here", DEAD), "", Verdict.ABANDONED),
        (("/there", ""), LIVING, Verdict.FOREIGN),
        (("/there", OTHER), "", Verdict.FOREIGN),
        (("/there", DEAD), "", Verdict.ABANDONED),
        (("/gone", ""), "", Verdict.ABANDONED),
        (("/gone", OTHER), LIVING, Verdict.ABANDONED),
    ],
)
def test_whose_a_lab_is(lab: tuple[str, str], run: str, verdict: Verdict) -> None:
    found = judge(Owner(*lab), Owner("/here", run), exists=lambda path: path != "/gone", alive=lambda run: run != DEAD)
    assert found is verdict


def test_a_run_lives_as_long_as_its_process() -> None:
    run = run_of(str(os.getpid()))
    assert lives(run)
    assert process_of(run) == str(os.getpid())
    # A reused process ID, and a process that is invisible here.
    assert not lives(run + "0")
    assert lives("0-1-1")
    assert (run_of(""), run_of("soon"), run_of("0")) == ("", "", "")
    assert _settings.settings("", {"RDMALAB_RUN": str(os.getpid())}).owner.run == run
    assert _settings.settings("", {}).owner.run == ""


def test_a_lab_that_somebody_else_uses_is_refused() -> None:
    def present(listing: str, verdict: Verdict) -> _cluster.Present:
        return _cluster.present_containers(listing, "x", lambda owner: verdict)

    rows = "x-node2\t/there\t\nx-node1\t/there\t1-10-5\n"
    assert present(rows, Verdict.OURS) == (["x-node1", "x-node2"], False)
    assert present(rows, Verdict.ABANDONED) == (["x-node1", "x-node2"], True)
    assert present("", Verdict.FOREIGN) == ([], False)
    with pytest.raises(LabError, match=r"prefix 'x' belongs to another checkout, /there\. .*'lab --prefix NAME up'"):
        present(rows, Verdict.FOREIGN)
    with pytest.raises(LabError, match=r"prefix 'x' is in use by another run of tests, process 10\."):
        present("x-node1\t/there\t1-10-5\n", Verdict.IN_USE)


def lab_of(tmp_path: pathlib.Path, run: str = "", checkout: str = "/here") -> _settings.Settings:
    return _settings.settings("x", {"RDMALAB_STATE": str(tmp_path / ".lab/x")})._replace(owner=Owner(checkout, run))


def test_machines_of_a_run_that_has_ended_are_taken_down(tmp_path: pathlib.Path) -> None:
    living = run_of(str(os.getpid()))
    assert not _leftovers.abandoned(lab_of(tmp_path, living))
    _leftovers.claim(lab_of(tmp_path, living + "0"))
    assert _leftovers.abandoned(lab_of(tmp_path, living))
    assert _leftovers.abandoned(lab_of(tmp_path))
    _leftovers.claim(lab_of(tmp_path, living))
    assert not _leftovers.abandoned(lab_of(tmp_path, living))
    # A person who restarts a run's machine does not take it over from the run.
    _leftovers.claim(lab_of(tmp_path))
    assert _leftovers.owner_of(lab_of(tmp_path).machines) == Owner("/here", living)
    with pytest.raises(LabError, match="in use by another run of tests, process %d" % os.getpid()):
        _leftovers.abandoned(lab_of(tmp_path, run_of(str(os.getppid()))))


def test_machines_that_nobody_will_take_down_are_ended(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    living = run_of(str(os.getpid()))
    ours, dead, used, hand = (lab_of(tmp_path / name, run) for name, run in (("ours", living), ("dead", living + "0"), ("used", living), ("hand", "")))
    for lab in (ours, dead, used, hand):
        (lab.machines / "node1").mkdir(parents=True)
        _leftovers.claim(lab._replace(owner=lab.owner._replace(checkout=str(tmp_path))))
    places = {1: ours, 2: dead, 3: used, 4: hand, 5: lab_of(tmp_path / "gone"), 6: dead._replace(state=tmp_path / "dead/.lab/y")}
    processes = {number: ["qemu-system-x86_64", "-pidfile", str(lab.machines / "node1/pid"), "-daemonize"] for number, lab in places.items()}
    processes[7] = ["qemu-system-x86_64", "-version"]
    ended: list[int] = []
    monkeypatch.setattr(_leftovers, "_processes", lambda: processes)
    monkeypatch.setattr(_leftovers.os, "kill", lambda number, _signal: ended.append(number))
    _leftovers.end_others(ours)
    assert ended == [2, 5]


def test_a_sweep_takes_what_ended_runs_of_this_checkout_left_and_its_own() -> None:
    rows = "own\t/here\t%s\ndead\t/here\t%s\nused\t/here\t%s\nhand\t/here\t\nelsewhere\t/there\t%s\n" % (LIVING, DEAD, OTHER, DEAD)
    we = Owner("/here", LIVING)
    assert _cluster.left_labs(rows, "", we, alive=lambda run: run != DEAD) == {"own", "dead"}
    # A network without containers is all that there is of a lab whose start was interrupted.
    networks = "early\t/here\t%s\nhand\t/here\t%s\n" % (DEAD, DEAD)
    assert _cluster.left_labs(rows, networks, we, alive=lambda run: run != DEAD) == {"own", "dead", "early"}


def test_a_sweep_takes_machines_too(tmp_path: pathlib.Path) -> None:
    living = run_of(str(os.getpid()))
    for prefix, run in (("rdmalab", living + "0"), ("ours", living), ("hand", ""), ("other", run_of(str(os.getppid())))):
        home = tmp_path if prefix == "rdmalab" else tmp_path / prefix
        _leftovers.claim(_settings.settings(prefix, {"RDMALAB_STATE": str(home)})._replace(owner=Owner("/here", run)))
    (tmp_path / "empty").mkdir()
    assert _leftovers.left(lab_of(tmp_path, living), tmp_path) == {"rdmalab", "ours"}
