# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Runs the installer of a bundle for RPM distributions. A step of a job, where it runs as a script without Ansible.

`python _installer_run.py MANAGER... -- INSTALLER OPTION...` ends as the installer does. The one for RPM lists packages of the distribution that
it lacks, and ends before it changes anything. These are installed with the command MANAGER, and it runs once more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import typing as t

AGAIN = "rdma.ofed: the installer runs again"

_MISSING = re.compile(r"required packages for installing \S+ are missing")
_ADVICE = re.compile(r"^[ \t]*(?:yum|dnf|zypper) install ([A-Za-z0-9][^\n\033]*)$", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._-]*\Z")
# Exit statuses of a shell for what can't be started.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
# It checks what it needs before it says much else.
_KEPT = 1 << 20


def packages_missing(output: str) -> list[str]:
    """The packages of the distribution that the installer lacks; empty where it does not say so."""
    advice = _ADVICE.findall(output) if _MISSING.search(output) else []
    return sorted({name for name in advice[-1].split() if _NAME.match(name)}) if advice else []


def _run(argv: t.Sequence[str]) -> int:
    """Its exit status. What it says goes to the log of the job."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, check=False).returncode
    except OSError as exc:
        sys.stdout.write("%s\n" % exc)
        sys.stdout.flush()
        return _NOT_EXECUTABLE if isinstance(exc, PermissionError) else _NOT_FOUND


def _said_since(start: int) -> str:
    """What has been written to the log since its length was that; "" where it is no file."""
    try:
        with open("/proc/self/fd/1", "rb") as log:
            log.seek(start)
            return log.read(_KEPT).decode("utf-8", "replace")
    except OSError:
        return ""


def _length() -> int:
    try:
        return os.fstat(1).st_size
    except OSError:
        return 0


def main(argv: t.Sequence[str]) -> int:
    end = list(argv).index("--")
    manager, installer = argv[:end], argv[end + 1 :]
    start = _length()
    code = _run(installer)
    missing = packages_missing(_said_since(start)) if code else []
    if missing:
        # Exit statuses of package managers differ. What is still missing, the installer says again.
        _run([*manager, *missing])
        sys.stdout.write(AGAIN + "\n")
        sys.stdout.flush()
        code = _run(installer)
    if code < 0:
        # Whoever waits for this sees the signal that ended the installer.
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
