# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What a measuring tool said that ended without a result. Pure."""

from __future__ import annotations

import typing as t

_LINES = 6
_MOST = 400


class NoResult(t.NamedTuple):
    """In place of a result."""

    said: str
    """The end of what it printed, in one line; "" for nothing."""


def no_result(text: str) -> NoResult:
    """The last lines that have words."""
    lines = [" ".join(line.split()) for line in text[-_LINES * _MOST :].splitlines()]
    return NoResult(" | ".join([line for line in lines if line.strip("-#*")][-_LINES:])[-_MOST:])
