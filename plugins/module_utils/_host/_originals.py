# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of files of others, made before they are taken over."""

from __future__ import annotations

import itertools
import os
import stat

from ._files import under
from ._write import open_regular, replace_file

DIRECTORY = "/var/backups/rdma-ofed"


def save(path: str, root: str = "/") -> str:
    """Copy a file below `DIRECTORY`, with its path, owner and permissions, and return the path of the copy. Earlier copies with other content stay."""
    # A site may keep such files elsewhere, behind links.
    with open_regular(os.path.realpath(under(root, path))) as stream:
        content, status = stream.read(), os.fstat(stream.fileno())
    for number in itertools.count():
        copy = DIRECTORY + path + (".%d" % number if number else "")
        target = under(root, copy)
        if not os.path.lexists(target):
            break
        with open_regular(target) as stream:
            if stream.read() == content:
                return copy
    # Keyfiles may be readable for root only.
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    replace_file(target, content, stat.S_IMODE(status.st_mode), owner=(status.st_uid, status.st_gid))
    return copy
