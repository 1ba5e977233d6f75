# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The package that a stage of the job works on now, from what package managers and the installer write."""

from __future__ import annotations

import contextlib
import glob
import os
import re
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import value_of

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State

# dpkg: "Setting up rdma-core (44.0-2) ...", dnf: "  Installing : rdma-core-44.0-2.x86_64   3/12", zypper: "( 3/12) Installing: rdma-core-44.0-2.x86_64".
_DPKG = re.compile(r"^(?:Unpacking|Setting up|Removing) ([a-z0-9][a-z0-9+.-]{0,99})[: ]", re.MULTILINE)
_RPM = re.compile(r"^[ (0-9/)]{0,20}(?:Installing|Upgrading|Erasing|Removing) {0,9}: ([A-Za-z0-9][\w+.-]{0,99})-[^\s-]{1,99}-[^\s-]{1,99}", re.MULTILINE)
# The installer has a file for each package: mlnx-ofed-kernel-dkms.debinstall.log.
_FILE = re.compile(r"^(.+)\.(?:deb|rpm)(?:install|build)\.log\Z")
_TAIL_BYTES = 4000


def last_package(text: str) -> str:
    """The last package that the output of a package manager names; "" where it names none."""
    found = [(match.start(), match[1]) for form in (_DPKG, _RPM) for match in form.finditer(text)]
    return max(found)[1] if found else ""


def _tail(path: str) -> str:
    with contextlib.suppress(OSError), open(path, "rb") as stream:
        stream.seek(max(os.fstat(stream.fileno()).st_size - _TAIL_BYTES, 0))
        return stream.read().decode("utf-8", "replace")
    return ""


def _changed(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0


def package_at_work(job: State, root: str = "/") -> str:
    """The package of the newest log of a running job; "" where none tells it."""
    begun = time.time() - job.elapsed
    folder = value_of(job.memo.get("wanted", {}).get("installer_options", ()), "--tmpdir") or "/tmp"
    logs = glob.glob(os.path.join(glob.escape(root.rstrip("/") + folder), "MLNX_OFED_LINUX.*.logs", "*.log"))
    times = {path: _changed(path) for path in (*logs, root.rstrip("/") + job.log)}
    for path in sorted((path for path, when in times.items() if when >= begun), key=times.__getitem__, reverse=True):
        match = _FILE.match(os.path.basename(path))
        name = match[1] if match else last_package(_tail(path))
        if name:
            return name
    return ""
