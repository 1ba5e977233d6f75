# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take settings out of texts of others. Everything else stays byte for byte, and so does what is not certain. Pure."""

from __future__ import annotations

import re
import typing as t

from ._config import parse_assignments, parse_modprobe
from ._names import canonical

Declared = t.Mapping[str, t.Collection[str]]
"""The declared parameters, by module."""

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# modprobe joins a line that ends with a backslash and the next one, with nothing in between.
_GAP = r"(?:[ \t]|\\\n)*"
_WORD = re.compile(r"(%s)((?:\"[^\"\\\n]*\"|[^\s\"'\\])+)" % _GAP)
_NOTHING = re.compile(_GAP + r"\n?\Z")

_UNCERTAIN = "its quotes or continued lines leave open what it sets"
_COMMENT = "modprobe has no comments at the end of a line, so it is open what the line sets"
_WORDS = "the line has more than one word"
_CONDITIONS = "the rule has conditions of its own"

# A rule for all devices: ours, or that of rdma-core.
_RULE = re.compile(r'ACTION=="add",[ \t]*SUBSYSTEM=="infiniband",[ \t]*PROGRAM="(?:/[\w./-]*/)?rdma_rename %k NAME_[A-Z_]+"\Z')


class Edit(t.NamedTuple):
    """A text without what was taken out of it. Lines have the numbers that they had before."""

    text: str
    taken: t.Mapping[int, str] = {}
    """By line: what is left of the setting on it, "" for nothing."""
    left: t.Mapping[int, str] = {}
    """By line: why a setting that should go stays."""


def _logical_lines(text: str) -> t.Iterator[tuple[int, str]]:
    """Number and text of each line of modprobe.d, with its continuation lines and line ends."""
    held, start = "", 0
    for number, line in enumerate(_LINE.findall(text), 1):
        start = start or number
        held += line
        if not line.endswith("\\\n"):
            yield start, held
            held, start = "", 0
    if held:
        yield start, held


class _Words(t.NamedTuple):
    """A line, taken apart: blanks and word, in turn, and the end."""

    pairs: tuple[tuple[str, str], ...]
    end: str


def _words(line: str) -> _Words | None:
    """The words of a line; None where modprobe or the kernel may divide it in another way."""
    pairs: list[tuple[str, str]] = []
    at = 0
    match = _WORD.match(line)
    while match:
        pairs.append((match[1], match[2]))
        at = match.end()
        match = _WORD.match(line, at)
    joined = any(not gap.strip("\\\n") for gap, _word in pairs[1:])
    quoted = any(word.startswith('"') for _gap, word in pairs)
    return None if joined or quoted or not _NOTHING.match(line, at) else _Words(tuple(pairs), line[at:])


def _is_about(line: str, declared: Declared) -> bool:
    """Whether a line that is not certain may set a declared parameter."""
    return any(
        directive.kind == "options" and not set(parse_assignments(directive.rest)).isdisjoint(declared.get(directive.module, ()))
        for directive in parse_modprobe("", line)
    )


def without_options(text: str, declared: Declared) -> Edit:
    """A file of modprobe.d without the declared parameters, whatever their values are. A line that sets nothing else goes."""
    kept, taken, left = [], {}, {}
    for number, line in _logical_lines(text):
        words = _words(line)
        if words is None:
            if _is_about(line, declared):
                left[number] = _UNCERTAIN
            kept.append(line)
            continue
        parameters = words.pairs[2:]
        names = declared.get(canonical(words.pairs[1][1]), ()) if parameters and words.pairs[0][1] == "options" else ()
        staying = tuple(pair for pair in parameters if canonical(pair[1].split("=", 1)[0]) not in names)
        if staying == parameters:
            kept.append(line)
        elif any(word.startswith("#") for _gap, word in parameters):
            left[number] = _COMMENT
            kept.append(line)
        else:
            taken[number] = " ".join(word for _gap, word in staying)
            kept.append("".join(gap + word for gap, word in (*words.pairs[:2], *staying)) + words.end if staying else "")
    return Edit("".join(kept), taken, left)


def without_modules(text: str, is_declared: t.Callable[[str], bool]) -> Edit:
    """A file of modules-load.d without the lines of modules for which `is_declared` is true. It gets canonical names."""
    kept, taken, left = [], {}, {}
    for number, line in enumerate(_LINE.findall(text), 1):
        words = line.split()
        if not words or words[0][0] in "#;" or not is_declared(canonical(words[0])):
            kept.append(line)
        elif len(words) > 1:
            left[number] = _WORDS
            kept.append(line)
        else:
            taken[number] = ""
    return Edit("".join(kept), taken, left)


def _continuations(lines: t.Iterable[str]) -> set[int]:
    """The numbers of the lines that continue the one before."""
    return {number for number, line in enumerate(lines, 2) if line.endswith("\\\n")}


def without_lines(text: str, numbers: t.Collection[int]) -> Edit:
    """A text without these lines. One that continues another line stays."""
    lines = _LINE.findall(text)
    left = dict.fromkeys(sorted(_continuations(lines).intersection(numbers)), _UNCERTAIN)
    taken = {number: "" for number in numbers if number not in left}
    return Edit("".join(line for number, line in enumerate(lines, 1) if number not in taken), taken, left)


def with_rule(text: str, rule: str, program: str) -> Edit:
    """A file of udev with `rule` in place of the rules for all devices that run `program`. Where one of its rules has conditions, all stay."""
    lines = _LINE.findall(text)
    found = {number: line for number, line in enumerate(lines, 1) if program in line and not line.lstrip().startswith("#")}
    left = {number: _CONDITIONS for number, line in found.items() if number in _continuations(lines) or not _RULE.match(line.strip())}
    if left or not found or [line.strip() for line in found.values()] == [rule.strip()]:
        return Edit(text, {}, left)
    first = min(found)
    return Edit(
        "".join(rule if number == first else line for number, line in enumerate(lines, 1) if number == first or number not in found), dict.fromkeys(found, "")
    )
