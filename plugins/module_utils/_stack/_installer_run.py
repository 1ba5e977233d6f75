# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the installer of a bundle, or query its options. Steps of a job, which run this as a script without Ansible.

`python _installer_run.py run MANAGER... -- INSTALLER OPTION...` exits like the installer. The RPM installer lists the distribution packages
that it lacks, and exits before it changes anything. They are installed with the command MANAGER, and the installer runs again.
`python _installer_run.py help INSTALLER OPTION...` prints the options that the help of the installer does not list, one
per line, and exits with 1 if there are any.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import typing as t

# Without Ansible, there is no run_command.
# pylint: disable=ansible-bad-function

AGAIN = "rdma.ofed: the installer runs again"

_MISSING = re.compile(r"required packages for installing \S+ are missing")
_ADVICE = re.compile(r"^[ \t]*(?:yum|dnf|zypper) install ([A-Za-z0-9][^\n\033]*)$", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._-]*\Z")
# Exit statuses of a shell for a command that can't be started.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
# The installer checks its requirements before it prints much else.
_KEPT = 1 << 20
# `    -k|--kernel <version>`, `    --kernel-extra-args '<args>'`, `    --all        Install all available packages`
_HELP_ROW = re.compile(r"^ {2,8}(-[^\s<]*[^\s<-])(?: (?P<value>'?<[^>]*>'?))?(?:\s|\Z)")
_HELP_SECONDS = 60


def packages_missing(output: str) -> list[str]:
    """The distribution packages that the installer lacks; empty where it does not list any."""
    advice = _ADVICE.findall(output) if _MISSING.search(output) else []
    return sorted({name for name in advice[-1].split() if _NAME.match(name)}) if advice else []


def _run(argv: t.Sequence[str]) -> int:
    """Run a command and return its exit status. Its output goes to the log of the job."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as exc:
        sys.stdout.write("%s\n" % exc)
        sys.stdout.flush()
        return _NOT_EXECUTABLE if isinstance(exc, PermissionError) else _NOT_FOUND


def _said_since(start: int) -> str:
    """The text that was added to the log after that length; "" where stdout is no file."""
    try:
        with open("/proc/self/fd/1", "rb") as log:
            log.seek(start)
            return log.read(_KEPT).decode("utf-8", "replace")
    except OSError:
        return ""


def install(*words: str) -> int:
    """The step `run`."""
    end = words.index("--")
    manager, installer = words[:end], words[end + 1 :]
    start = os.fstat(1).st_size
    code = _run(installer)
    missing = packages_missing(_said_since(start)) if code else []
    if missing:
        # Exit statuses of package managers differ. The installer lists packages that are still missing.
        _run([*manager, *missing])
        sys.stdout.write(AGAIN + "\n")
        sys.stdout.flush()
        code = _run(installer)
    if code < 0:
        # The waiting process has to see the signal that ended the installer.
        os.kill(os.getpid(), -code)
    return code


def parse_help(text: str) -> dict[str, str]:
    """Options with their arguments, "" where the help names none. Options that contain a package name are left out."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _HELP_ROW.match(line)
        if match:
            found.update((name, (match["value"] or "").strip("'<>")) for name in match[1].split("|") if name.startswith("-"))
    return found


def unknown_options(installer: str, *options: str) -> int:
    """The step `help`."""
    try:
        done = subprocess.run([installer, "--help"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_HELP_SECONDS, check=False)
    except OSError:
        # The installation step reports the error.
        return 0
    told = parse_help(done.stdout.decode("utf-8", "replace"))
    unknown = [name for name in options if name not in told]
    sys.stdout.write("".join(name + "\n" for name in unknown))
    return 1 if unknown else 0


if __name__ == "__main__":
    raise SystemExit((unknown_options if sys.argv[1] == "help" else install)(*sys.argv[2:]))
