# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files below /run in which daemons keep one entry per interface, named by its index."""

from __future__ import annotations

import os
import typing as t

from .._facts._sysfs import attribute, entries
from .._foreign import decimal
from .._host._files import read_text, under

_NET = "sys/class/net"


def by_interface(root: str, directory: str, prefix: str = "") -> dict[str, str]:
    """The text of each entry, by the name of the interface. Entries of indices that no longer exist are left out."""
    base = under(root, directory)
    texts = {name[len(prefix) :]: name for name in entries(base) if name.startswith(prefix) and decimal(name[len(prefix) :]) is not None}
    if not texts:
        return {}
    indexes = {attribute(root, _NET, name, "ifindex"): name for name in entries(root, _NET)}
    return {indexes[index]: _text(os.path.join(base, file)) for index, file in texts.items() if index in indexes}


def _text(path: str) -> str:
    """The text of an entry; it may be readable for root only, or already removed."""
    try:
        return read_text(path)
    except OSError:
        return ""


def settings(text: str, prefix: str = "") -> t.Mapping[str, str]:
    """Parse lines `KEY=value`; with a prefix, only lines that start with it."""
    pairs = (line[len(prefix) :].partition("=") for line in text.splitlines() if line.startswith(prefix))
    return {key.strip(): value.strip() for key, sign, value in pairs if sign}
