# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Keep packages from starting their services while they are installed.

Debian's maintainer scripts run `policy-rc.d` first, and its exit status 101 forbids the start: see invoke-rc.d(8).
"""

from __future__ import annotations

import contextlib
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text, temporary_of

_PATH = "usr/sbin/policy-rc.d"
_SAVED = _PATH + ".rdma-ofed"
_MARK = "# Of rdma.ofed, for one installation. Without the process %d it forbids nothing.\n"
_SCRIPT = """#!/bin/sh
%skill -0 %d 2>/dev/null && exit 101
[ ! -x '%s' ] || exec '%s' "$@"
exit 0
"""


def script(pid: int, saved: str) -> str:
    """Forbids every start while the process lives. After one that was killed, the site's own policy counts, which is in the file `saved`."""
    return _SCRIPT % (_MARK % pid, pid, saved, saved)


def _is_ours(text: str) -> bool:
    return _MARK.partition("%d")[0] in text


@contextlib.contextmanager
def forbidden(root: str = "/") -> t.Iterator[None]:
    """No service starts within. The site's own policy is put aside, and back afterwards; also what a run that was killed has left."""
    path, saved = os.path.join(root, _PATH), os.path.join(root, _SAVED)
    if not _is_ours(read_text(path)) and os.path.lexists(path):
        os.rename(path, saved)
    temporary = temporary_of(path)
    with open(temporary, "w", encoding="utf-8") as stream:
        stream.write(script(os.getpid(), saved))
    os.chmod(temporary, 0o755)
    os.rename(temporary, path)
    try:
        yield
    finally:
        if os.path.lexists(saved):
            os.rename(saved, path)
        else:
            os.unlink(path)
