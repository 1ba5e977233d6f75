# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of shell assignments, as distributions have them in /etc/sysconfig. Pure.

Scripts source them; daemons have parsers of their own, which support quotes and comments and expand nothing. Files written here
mean the same to all of them.
"""

from __future__ import annotations

import re

_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
_PLAIN = re.compile(r"^[A-Za-z0-9_./:@%+-]*\Z")
_PIECE = re.compile(r"""'(?P<literal>[^']*)'|"(?P<quoted>(?:[^"\\]|\\.)*)"|\\(?P<escaped>.)|(?P<bare>[^\s'"\\;&|<>()]+)""")


def assignments(text: str) -> dict[str, str]:
    """The variables of a file; of several assignments the last one counts. Other lines are ignored."""
    matches = map(_ASSIGNMENT.match, text.splitlines())
    return {match.group(1): _value(match.group(2)) for match in matches if match}


def _value(text: str) -> str:
    """The value of one shell word, without expansion."""
    value, position = "", 0
    piece = _PIECE.match(text)
    while piece is not None:
        if piece.lastgroup == "quoted":
            # Within double quotes, a backslash quotes only these characters.
            value += re.sub(r'\\([\\"$`])', r"\1", piece.group("quoted"))
        else:
            value += piece.group(piece.lastgroup or 0)
        position = piece.end()
        piece = _PIECE.match(text, position)
    return value


def quoted(value: str) -> str:
    """A value that every reader takes literally. In double quotes: ifup-ib uses grep to find `MASTER="bond0"`."""
    if value and _PLAIN.match(value):
        return value
    return '"%s"' % re.sub(r'([\\"$`])', r"\\\1", value)
