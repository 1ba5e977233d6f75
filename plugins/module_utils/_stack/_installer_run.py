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
# More than the installer says up to that point.
_KEPT = 1 << 20


def packages_missing(output: str) -> list[str]:
    """The packages of the distribution that the installer lacks; empty where it does not say so."""
    advice = _ADVICE.findall(output) if _MISSING.search(output) else []
    return sorted({name for name in advice[-1].split() if _NAME.match(name)}) if advice else []


def _run(argv: t.Sequence[str]) -> tuple[int, str]:
    """Exit status, and what it said, which goes on to the log of the job as it comes."""
    said = bytearray()
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout or ():
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
            if len(said) < _KEPT:
                said += line
    return process.returncode, said.decode("utf-8", "replace")


def main(argv: t.Sequence[str]) -> int:
    end = list(argv).index("--")
    manager, installer = argv[:end], argv[end + 1 :]
    code, said = _run(installer)
    missing = packages_missing(said) if code else []
    if missing:
        # Exit statuses of package managers differ. What is still missing, the installer says again.
        _run([*manager, *missing])
        sys.stdout.write(AGAIN + "\n")
        sys.stdout.flush()
        code, _said = _run(installer)
    if code < 0:
        # Whoever waits for this sees the signal that ended the installer.
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
