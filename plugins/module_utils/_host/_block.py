# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Our lines in a text file that has lines of others: a block with a frame of comments. Pure."""

from __future__ import annotations

import typing as t

BEGIN = "# BEGIN rdma.ofed: lines up to END are overwritten\n"
END = "# END rdma.ofed\n"


def split_block(text: str) -> tuple[str, str]:
    """The foreign lines of a file, and ours without their frame."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        return text, ""
    ours, end, after = rest.partition(END)
    # Without its end, the rest may be the administrator's, and is kept.
    return (before + after, ours) if end else (before + rest, "")


def with_block(foreign: str, lines: t.Sequence[str]) -> str:
    """The foreign lines, and after them ours in their frame. Without lines of ours, there is no frame."""
    if not lines:
        return foreign
    return foreign + ("\n" if foreign and not foreign.endswith("\n") else "") + BEGIN + "".join(lines) + END
