# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes secrets out of texts that leave the site. Pure, and linear in the length of the text.

What is left out by rule: keys of the fabric, passwords and tokens, private keys, and credentials in URLs. What the caller knows to be secret goes wherever it
stands.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._foreign import integer
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import is_secret

HIDDEN = "<removed>"
# Shorter ones are parts of too many words.
_LEAST = 4

_PRIVATE_BEGIN = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY")
_PRIVATE_END = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY")
# sm_key 0x1, Mkey:....0x1, --smkey 0x1, "m_key": "0x1", sa-key 0x1. Which of them protect the fabric, _is_fabric_key tells.
_KEY = re.compile(r"(?P<name>\b[\w-]{0,60}(?:key|seed)\b[\"']?)(?P<between>[ \t=:.\"']{1,80})(?P<value>(?:0x)?[0-9a-f]{1,64})\b", re.IGNORECASE)
# The tools write some names without the line between.
_TOGETHER = re.compile(r"^(?:sm|m|sa|cc|vs|am|n2n|pm|class)(?=key$)")
# Those of partitions and queues are in every listing of a fabric.
_PLAIN = ("p_key", "q_key")
_WORDS = r"(?:passw(?:or)?d|passphrase|secret|token|psk|api[_-]?key|private[_-]?key|credentials?|community)s?(?:[_-][\w-]{0,40})?"
_ASSIGNED = re.compile(r"(?P<name>" + _WORDS + r"[\"']?[ \t]{0,8}[=:][ \t]{0,8})(?P<value>\S.*)$", re.IGNORECASE)
_OPTION = re.compile(r"(?P<name>--?" + _WORDS + r"[ \t]{1,8})(?P<value>\S+)", re.IGNORECASE)
# A line of a configuration file, key and value. In a sentence such words are followed by others.
_LINE = re.compile(r"^(?P<name>[ \t]{0,40}(?:[\w-]{1,40}[_-])?" + _WORDS + r"[ \t]{1,40})(?P<value>\S+)[ \t]{0,40}$", re.IGNORECASE)
_QUOTED = re.compile(r"(?P<name>\b" + _WORDS + r"[ \t]{1,8})(?P<value>\"[^\"]{1,200}\"|'[^']{1,200}')", re.IGNORECASE)
_AUTHORIZATION = re.compile(r"(?P<name>\bauthorization:[ \t]{0,8})(?P<value>\S.*)$", re.IGNORECASE)
_URL = re.compile(r"(?P<name>://)(?P<value>[^\s/@]{1,200})(?=@)")


class Redacted(t.NamedTuple):
    text: str
    removed: int
    """How many secrets were taken out."""


def _hide(match: t.Match[str]) -> str:
    return match["name"] + HIDDEN


def _is_fabric_key(name: str) -> bool:
    key = _TOGETHER.sub(r"\g<0>_", name.lower().strip("\"'-").replace("-", "_"))
    return is_secret(key) and not key.endswith(_PLAIN)


def _hide_key(match: t.Match[str]) -> str:
    value = match["value"].lower()
    # A key of zero means none.
    is_set = bool(value.replace("0x", "", 1).strip("0"))
    return match["name"] + match["between"] + HIDDEN if is_set and _is_fabric_key(match["name"]) else match[0]


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
        private = private or bool(_PRIVATE_BEGIN.search(line))
        if private:
            removed += 1
            private = not _PRIVATE_END.search(line)
            lines.append(HIDDEN)
            continue
        before = line
        if known is not None:
            line = known.sub(HIDDEN, line)
        line = _KEY.sub(_hide_key, line)
        for expression in (_URL, _AUTHORIZATION, _OPTION, _QUOTED, _ASSIGNED, _LINE):
            line = expression.sub(_hide, line)
        removed += line != before
        lines.append(line)
    return Redacted("\n".join(lines), removed)
