# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The job step that runs the installer for RPM distributions, as a process of its own."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _installer_run

LACKS = """\
Error: One or more required packages for installing MLNX_OFED_LINUX are missing.
Please install the missing packages using your Linux distribution Package Management tool.
Run:
yum install tk tcl
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """Return a directory with a package manager that records what it installs."""
    write(tmp_path / "manager", 'echo "$@" >>"$(dirname "$0")/installed"; exit 3')
    (tmp_path / "lacks").write_text(LACKS, encoding="utf-8")
    return tmp_path


def write(path: pathlib.Path, script: str) -> None:
    path.write_text("#!/bin/sh\n%s\n" % script, encoding="utf-8")
    path.chmod(0o755)


def run(folder: pathlib.Path, installer: str) -> subprocess.CompletedProcess[str]:
    write(folder / "installer", 'cd "$(dirname "$0")"; echo run "$@" >>runs; %s' % installer)
    return start(folder, folder / "installer")


def start(folder: pathlib.Path, installer: pathlib.Path) -> subprocess.CompletedProcess[str]:
    """Start it with its output appended to a file, like the output of a job."""
    argv = [sys.executable, str(_installer_run.__file__), "run", str(folder / "manager"), "install", "--", str(installer), "--all", "-q"]
    path = folder / "log"
    path.write_text(LACKS.replace("tk tcl", "of an earlier step"), encoding="utf-8")
    with path.open("a", encoding="utf-8") as log:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    return subprocess.CompletedProcess(argv, done.returncode, path.read_text(encoding="utf-8"))


def lines(path: pathlib.Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def test_it_runs_again_with_what_it_lacked(folder: pathlib.Path) -> None:
    done = run(folder, "[ -e installed ] || { cat lacks; exit 172; }; echo done")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-2:] == [_installer_run.AGAIN, "done"]
    assert lines(folder / "installed") == ["install tcl tk"]
    assert lines(folder / "runs") == ["run --all -q"] * 2


def test_what_can_not_be_installed_ends_it(folder: pathlib.Path) -> None:
    done = run(folder, "cat lacks; exit 172")
    assert done.returncode == 172
    assert len(lines(folder / "runs")) == 2


@pytest.mark.parametrize(("installer", "status"), [("exit 0", 0), ("cat lacks; exit 0", 0), ("echo Failed command: x; exit 1", 1)])
def test_whatever_else_happens_is_what_it_ends_with(folder: pathlib.Path, installer: str, status: int) -> None:
    assert run(folder, installer).returncode == status
    assert (lines(folder / "installed"), len(lines(folder / "runs"))) == ([], 1)


def test_a_signal_that_ends_the_installer_ends_the_step(folder: pathlib.Path) -> None:
    assert run(folder, "kill -9 $$").returncode == -signal.SIGKILL


def test_what_it_leaves_behind_is_not_waited_for(folder: pathlib.Path) -> None:
    done = run(folder, "sleep 300 & echo $! >left; exit 0")
    subprocess.run(["kill", (folder / "left").read_text(encoding="utf-8").strip()], check=True)
    assert done.returncode == 0


def test_an_installer_that_can_not_be_started_has_the_status_of_a_shell(folder: pathlib.Path) -> None:
    write(folder / "noexec", "exit 0")
    (folder / "noexec").chmod(0o644)
    (folder / "noperl").write_text("#!/nowhere/perl\n", encoding="utf-8")
    (folder / "noperl").chmod(0o755)
    assert [start(folder, folder / name).returncode for name in ("noexec", "noperl", "nothing")] == [126, 127, 127]
    assert "Permission denied" in start(folder, folder / "noexec").stdout
