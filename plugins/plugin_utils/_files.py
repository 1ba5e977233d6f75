# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Report files on the controller."""

from __future__ import annotations

import os
import tempfile
import time

from ..module_utils._errors import RdmaError


def moment() -> str:
    """The time in UTC, in the format of reports."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_file(path: str, text: str) -> None:
    """Write a file atomically. Raises RdmaError."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".rdma-ofed-")
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text)
            os.fchmod(stream.fileno(), 0o644)
        os.replace(temporary, path)
    except OSError as exc:
        raise RdmaError("%s can't be written: %s" % (path, exc.strerror)) from exc
