# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.
"""What netplan has made for systemd-networkd, kept from being new where it says the same.

netplan writes its files for all interfaces of the node again, also whenever systemd reads its units again. networkd (252)
knows a file by inode and time: at its next reload it reconfigures whatever has a new file, and the interface of the
connection gives its lease back (seen: no address for two seconds). So the files are put aside as hard links before they
are written again, and take their places back where the text is the same.
"""

from __future__ import annotations

import glob
import os
import shutil

FOLDER = "/run/systemd/network"
# Hidden, so no daemon reads what is in it; of the same file system, so it can hold links.
ASIDE = FOLDER + "/.rdma-ofed"
PATTERN = "10-netplan-*"

# The same for a shell.
SHELL_PUT_ASIDE = "mkdir -p %s; ln %s/%s %s/" % (ASIDE, FOLDER, PATTERN, ASIDE)
SHELL_PUT_BACK = "for old in %s/*; do ! cmp -s $old %s/${old##*/} || mv -f $old %s/; done; rm -rf %s" % (ASIDE, FOLDER, FOLDER, ASIDE)


def is_aside(root: str = "/") -> bool:
    """Whether a run was interrupted before it put the files back."""
    return os.path.isdir(os.path.join(root, ASIDE[1:]))


def put_aside(root: str = "/") -> None:
    """What is aside already stays: an interrupted run has put it there, and networkd was told of nothing else since."""
    aside = os.path.join(root, ASIDE[1:])
    for path in glob.glob(os.path.join(root, FOLDER[1:], PATTERN)):
        os.makedirs(aside, exist_ok=True)
        link = os.path.join(aside, os.path.basename(path))
        if not os.path.lexists(link):
            os.link(path, link)


def put_back(root: str = "/") -> None:
    """Before networkd is told to read its files."""
    aside = os.path.join(root, ASIDE[1:])
    for link in glob.glob(os.path.join(aside, PATTERN)):
        path = os.path.join(root, FOLDER[1:], os.path.basename(link))
        if _content(link) == _content(path):
            # Between two names of one file, this does nothing.
            os.replace(link, path)
    shutil.rmtree(aside, ignore_errors=True)


def _content(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except FileNotFoundError:
        return None
