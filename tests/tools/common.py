# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shared code of the set-up scripts. Standard library only: they run before anything is installed."""

from __future__ import annotations

import hashlib
import os
import pathlib
import subprocess
import sys
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
CACHE = ROOT / ".cache"
LOGS = BUILD / "logs"
JUNIT = BUILD / "junit"


class SetupError(Exception):
    """A failed step of the set-up. The text names the step and the file with its output."""


def say(text: str) -> None:
    """Print a line of progress and flush it."""
    print("==> %s" % text, flush=True)


def run(argv: t.Sequence[str], *, cwd: pathlib.Path = ROOT, env: t.Mapping[str, str] | None = None, log: str = "") -> None:
    """Run a command. With `log`, write its output to build/logs and show it only if the command fails."""
    if not log:
        status = subprocess.call(argv, cwd=cwd, env=env)
        if status:
            raise SetupError("%s exited %d" % (" ".join(argv), status))
        return
    LOGS.mkdir(parents=True, exist_ok=True)
    path = LOGS / ("%s.log" % log)
    with path.open("wb") as output:
        status = subprocess.call(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    if status:
        tail = path.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        raise SetupError("%s exited %d; the end of %s:\n%s" % (" ".join(argv), status, path, "\n".join(tail)))


def digest(paths: t.Iterable[pathlib.Path], *words: str) -> str:
    """Return a hash of names and contents. A directory counts with all its files except Python's caches."""
    total = hashlib.sha256("\0".join(words).encode())
    files: list[pathlib.Path] = []
    for path in paths:
        files.extend(sorted(path.rglob("*")) if path.is_dir() else [path])
    for path in files:
        if path.is_file() and path.suffix != ".pyc":
            total.update(os.fsencode(path.relative_to(ROOT)) + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def is_stamped(stamp: pathlib.Path, value: str) -> bool:
    """Return whether `stamp` recorded the work as finished for this input."""
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == value


def apt_install(*packages: str) -> None:
    """Install Debian packages that are missing on this machine."""
    say("installing %s with apt-get" % ", ".join(packages))
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    try:
        run(["apt-get", "update"], env=env, log="apt-update")
        run(["apt-get", "install", "--yes", "--no-install-recommends", *packages], env=env, log="apt-install")
    except FileNotFoundError as exc:
        raise SetupError("%s missing, and there is no apt-get here: install them by hand" % ", ".join(packages)) from exc


def main(step: t.Callable[[], None]) -> None:
    """Run one step as a program. A failure is reported without a traceback."""
    try:
        step()
    except SetupError as exc:
        sys.exit("error: %s" % exc)
    except KeyboardInterrupt:
        sys.exit("interrupted")
