# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of assignments of a shell, as distributions have them in /etc/sysconfig. Pure.

Scripts source them; daemons parse them with parsers of their own, which know quotes and comments and expand nothing. What is written here
means the same to all of them.
"""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_PLAIN = re.compile(r"^[A-Za-z0-9_./:@%+-]*\Z")
_PIECE = re.compile(r"""'(?P<literal>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^\s'"\\;&|<>()]+)""")


def assignments(text: str) -> dict[str, str]:
    """The variables of a file; of several assignments the last one counts. A line that is no assignment is passed over."""
    matches = map(_ASSIGNMENT.match, text.splitlines())
    return {match.group(1): _value(match.group(2)) for match in matches if match}


def _value(text: str) -> str:
    """One word of the shell, with nothing expanded."""
    value, position = "", 0
    piece = _PIECE.match(text)
    while piece is not None:
        if piece.lastgroup == "quoted":
            # Between double quotes, a backslash takes their meaning from these only.
            value += re.sub(r'\\([\\"$`])', r"\1", piece.group("quoted"))
        else:
            value += piece.group(piece.lastgroup or 0)
        position = piece.end()
        piece = _PIECE.match(text, position)
    return value


def quoted(value: str) -> str:
    """A value that every reader takes literally. Double quotes: ifup-ib looks for `MASTER="bond0"` with grep."""
    if value and _PLAIN.match(value):
        return value
    return '"%s"' % re.sub(r'([\\"$`])', r"\\\1", value)
