# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Takes secrets out of texts that leave the site. Pure, and linear in the length of the text.

What is left out by rule: keys of the fabric, passwords and tokens, private keys, and credentials in URLs. What the caller knows to be secret goes wherever it
stands.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import integer

HIDDEN = "<removed>"
# Shorter ones are parts of too many words.
_LEAST = 4

_PRIVATE_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY")
_PRIVATE_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY")
# sm_key 0x1, Mkey:....0x1, --smkey 0x1, "m_key": "0x1". A key of zero means none.
_FABRIC_KEY = re.compile(
    r"(?P<name>\b(?:sm|m|sa|cc|vs|am|n2n|pm|class)_?key\b[\"']?)(?P<between>[ \t=:.\"']{1,80})(?P<value>(?:0x)?[0-9a-f]{1,32})\b", re.IGNORECASE
)
_WORDS = r"(?:passw(?:or)?d|passphrase|secret|token|psk|api[_-]?key|private[_-]?key|credentials?|community)"
_ASSIGNED = re.compile(r"(?P<name>" + _WORDS + r"[\w-]{0,40}[\"']?[ \t]{0,8}[=:][ \t]{0,8})(?P<value>\S.*)$", re.IGNORECASE)
_OPTION = re.compile(r"(?P<name>--?" + _WORDS + r"[ \t]{1,8})(?P<value>\S+)", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"(?P<name>\bauthorization:[ \t]{0,8})(?P<value>\S.*)$", re.IGNORECASE)
_URL = re.compile(r"(?P<name>://)(?P<value>[^\s/@]{1,200})(?=@)")


class Redacted(t.NamedTuple):
    text: str
    removed: int
    """How many secrets were taken out."""


def _hide(match: t.Match[str]) -> str:
    return match["name"] + HIDDEN


def _hide_key(match: t.Match[str]) -> str:
    value = match["value"]
    return match[0] if not integer(value if value.lower().startswith("0x") else "0x" + value) else match["name"] + match["between"] + HIDDEN


def known_secrets(values: t.Iterable[t.Any]) -> t.Pattern[str] | None:
    """One expression for all values that are secret; numbers also as other tools write them. None without any."""
    texts: set[str] = set()
    for value in values:
        text = str(value).strip()
        number = integer(text)
        if number:
            texts |= {"%x" % number, "%016x" % number, str(number)}
        texts.add(text)
    longest = sorted((text for text in texts if len(text) >= _LEAST), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest)), re.IGNORECASE) if longest else None


def redact(text: str, known: t.Pattern[str] | None = None) -> Redacted:
    """The text without secrets. Lines stay, so that line numbers of messages still fit."""
    removed = 0
    private = False
    lines = []
    for line in text.split("\n"):
        ends = bool(_PRIVATE_END.search(line))
        private = private or bool(_PRIVATE_BEGIN.search(line))
        if private:
            removed += 1
            private = not ends
            lines.append(HIDDEN)
            continue
        before = line
        if known is not None:
            line = known.sub(HIDDEN, line)
        line = _FABRIC_KEY.sub(_hide_key, line)
        for expression in (_URL, _AUTHORIZATION, _OPTION, _ASSIGNED):
            line = expression.sub(_hide, line)
        removed += line != before
        lines.append(line)
    return Redacted("\n".join(lines), removed)
