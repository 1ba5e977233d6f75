# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write YAML with a comment for each value. Text from nodes is data: it is quoted, and marked where it looks like a template. Pure."""

from __future__ import annotations

import re
import typing as t

from ...module_utils._discovered import Reference
from ...module_utils._foreign import shown

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
# Words that YAML 1.1 reads as something else than text.
_TAKEN = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"])
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_TEMPLATES = ("{{", "{%", "{#")
_STEP = "  "
# Longer lists and mappings have a line for each item.
_MOST = 100


def _letter(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    if letter == " " or (letter.isprintable() and letter != "\ufeff"):
        return letter
    code = ord(letter)
    # No reader of YAML accepts half of a character.
    return "\\uFFFD" if 0xD800 <= code < 0xE000 else "\\x%02X" % code if code < 0x100 else "\\u%04X" % code if code < 0x10000 else "\\U%08X" % code


def text(value: str) -> str:
    """A text as a scalar: bare where it is one plain word, else in double quotes."""
    if _WORD.match(value) and value.lower() not in _TAKEN:
        return value
    return '"%s"' % "".join(map(_letter, value))


def scalar(value: t.Any) -> str:
    """A scalar, or a reference to a variable."""
    if isinstance(value, Reference):
        if not _IDENTIFIER.match(value.variable):
            raise ValueError("%r is no name of a variable" % value.variable)
        return '"{{ %s }}"' % value.variable
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    written = text(str(value))
    return "!unsafe " + written if any(mark in str(value) for mark in _TEMPLATES) else written


def _is_nested(value: t.Any) -> bool:
    return isinstance(value, (dict, list, tuple)) and not isinstance(value, Reference)


def _inline(value: t.Any) -> str:
    if isinstance(value, dict):
        return "{%s}" % ", ".join("%s: %s" % (text(str(key)), _inline(item)) for key, item in value.items())
    if _is_nested(value):
        return "[%s]" % ", ".join(map(_inline, value))
    return scalar(value)


def _lines(value: t.Any, indent: str) -> list[str]:
    """The lines of a list or mapping."""
    found = []
    pairs = [(text(str(key)) + ":", item) for key, item in value.items()] if isinstance(value, dict) else [("-", item) for item in value]
    for head, item in pairs:
        written = _inline(item)
        if not _is_nested(item) or not item or len(indent) + len(head) + len(written) < _MOST:
            found.append("%s%s %s" % (indent, head, written))
        elif head == "-" and isinstance(item, dict):
            inner = _lines(item, indent + _STEP)
            found += ["%s- %s" % (indent, inner[0][len(indent) + len(_STEP) :]), *inner[1:]]
        else:
            found += [indent + head, *_lines(item, indent + _STEP)]
    return found


def entry(name: str, value: t.Any, *, comment: str = "", indent: str = "") -> list[str]:
    """The lines of one variable, below a comment."""
    remark = ["%s# %s" % (indent, shown(comment))] if comment else []
    return remark + _lines({name: value}, indent)
