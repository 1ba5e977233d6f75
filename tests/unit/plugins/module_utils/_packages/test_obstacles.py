# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages locked by another process, and a database left half-written by one."""

from __future__ import annotations

import collections.abc
import pathlib
import subprocess
import sys

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._packages._obstacles import holder, is_interrupted, wait_for_turn
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Manager

LOCK = "import fcntl, sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.%s); print('locked', flush=True); sys.stdin.read()"


def manager_of(family: str) -> Manager:
    found = by_name(family)
    assert found is not None
    return found.manager


@pytest.fixture
def lock(tmp_path: pathlib.Path) -> collections.abc.Iterator[collections.abc.Callable[[str, str], int]]:
    """Yield a function that runs a process with an exclusive or shared lock on a file. It returns the process ID."""
    running = []

    def take(path: str, kind: str) -> int:
        there = tmp_path / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.touch()
        process = subprocess.Popen([sys.executable, "-c", LOCK % kind, str(there)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout and process.stdout.readline() == b"locked\n"
        return process.pid

    yield take
    for process in running:
        process.communicate(timeout=60)


@pytest.mark.parametrize(
    "family, path",
    [
        ("Debian", "var/lib/dpkg/lock-frontend"),
        ("Debian", "var/lib/dpkg/lock"),
        ("RedHat", "var/lib/rpm/.rpm.lock"),
        ("Suse", "usr/lib/sysimage/rpm/.rpm.lock"),
    ],
)
def test_the_process_with_the_lock_is_named(tmp_path: pathlib.Path, lock: collections.abc.Callable[[str, str], int], family: str, path: str) -> None:
    manager = manager_of(family)
    assert holder(manager, str(tmp_path)) is None
    pid = lock(path, "LOCK_EX")
    comm = tmp_path / "proc" / str(pid) / "comm"
    comm.parent.mkdir(parents=True)
    comm.write_text("unattended-upgr\n")
    with pytest.raises(Refused) as refused:
        wait_for_turn(manager, 0.0, str(tmp_path))
    assert "process %d (unattended-upgr) has held the lock /%s" % (pid, path) in refused.value.msg


def test_who_reads_the_database_keeps_no_one_waiting(tmp_path: pathlib.Path, lock: collections.abc.Callable[[str, str], int]) -> None:
    lock("var/lib/rpm/.rpm.lock", "LOCK_SH")
    wait_for_turn(manager_of("RedHat"), 0.0, str(tmp_path))


@pytest.mark.parametrize("family, path", [("RedHat", "var/cache/dnf/download_lock.pid"), ("Suse", "run/zypp.pid")])
def test_a_number_in_a_file_counts_while_that_process_lives(tmp_path: pathlib.Path, family: str, path: str) -> None:
    manager = manager_of(family)
    noted = tmp_path / path
    noted.parent.mkdir(parents=True)
    for text in ("0", "4711\n", "x", ""):
        noted.write_text(text)
        assert holder(manager, str(tmp_path)) is None
    (tmp_path / "proc/4711").mkdir(parents=True)
    noted.write_text("4711\n")
    found = holder(manager, str(tmp_path))
    assert found and (found.pid, found.program, found.path) == (4711, "", "/" + path)


def test_a_killed_dpkg_leaves_a_journal(tmp_path: pathlib.Path) -> None:
    apt = manager_of("Debian")
    assert not is_interrupted(apt, str(tmp_path))
    updates = tmp_path / "var/lib/dpkg/updates"
    updates.mkdir(parents=True)
    (updates / "tmp.i").touch()
    assert not is_interrupted(apt, str(tmp_path))
    (updates / "0001").touch()
    assert is_interrupted(apt, str(tmp_path))
    assert not is_interrupted(manager_of("RedHat"), str(tmp_path))
