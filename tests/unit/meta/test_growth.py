# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading a text that is eight times as long takes about eight times as long. The tests compare processor times only."""

from __future__ import annotations

import contextlib
import pathlib
import sys
import time
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

import patterns
import targets
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import redact
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import parse_template

# With quadratic growth, eight times the length takes sixty-four times as long.
TIMES = 8
TOO_MUCH = 26
LENGTH = 1000


def seconds(call: t.Callable[[str], t.Any], text: str, tries: int) -> float:
    """Return the minimum of several measurements: other load on the machine only adds time."""
    found = []
    for _count in range(tries):
        begun = time.process_time_ns()
        call(text)
        found.append(time.process_time_ns() - begun)
    return max(min(found), 1000)


def grows(call: t.Callable[[str], t.Any], make: t.Callable[[int], str]) -> str:
    """Return how the time grows if it grows faster than the text, else ""."""
    # Exponential growth would not end with longer texts.
    for short, tries in ((16, 3), (LENGTH // TIMES, 3), (LENGTH, 3)):
        long = 24 if short == 16 else short * TIMES
        # Too few measurements of the long text only raise the ratio.
        for again in (1, tries, 5 * tries):
            ratio = seconds(call, make(long), again) / seconds(call, make(short), max(again, tries))
            if ratio <= TOO_MUCH:
                break
        else:
            return "%d letters take %d times as long as %d" % (long, ratio, short)
    return ""


def make(prefix: str, pump: str, end: str) -> t.Callable[[int], str]:
    return lambda length: prefix + pump * (length // len(pump)) + end


@pytest.mark.parametrize("expression", [*patterns.expressions(), *patterns.of_managers()], ids=lambda expression: expression.where)
def test_expressions(expression: patterns.Expression) -> None:
    pattern = expression.pattern
    found = []
    for method in sorted({"fullmatch" if name == "fullmatch" else "match" if name == "match" else "findall" for name in expression.methods}):
        read = getattr(pattern, method)
        call = (lambda text, read=read: read(text.encode())) if isinstance(pattern.pattern, bytes) else read
        for prefix, pump in patterns.texts_for(expression):
            words = grows(call, make(prefix, pump, "\0"))
            if words:
                found.append("%s, %r * n: %s" % (method, (prefix, pump), words))
    assert found == [], pattern.pattern


@pytest.mark.parametrize("pump", ["# x\n", "m_key 1\n"])
def test_configurations_of_opensm(pump: str) -> None:
    """A template has tens of kilobytes, where the copies of a list dominate the time."""

    def call(text: str) -> None:
        parse_template(text)
        redact(text, text)

    lengths = (10_000, 10_000 * TIMES)
    assert min(seconds(call, pump * (lengths[1] // len(pump)), 5) / seconds(call, pump * (lengths[0] // len(pump)), 5) for _try in range(3)) <= TOO_MUCH


@pytest.mark.parametrize("name", sorted(targets.targets()))
def test_readers(name: str) -> None:
    target = targets.targets()[name]

    def call(text: str) -> None:
        with contextlib.suppress(*target.allowed):
            target.call(text)

    found = []
    for pump in [*patterns.ALPHABET, "a ", "a\n", "a=b\n", "[a]\n", "a:", "0.", "-E- ", '{"a":']:
        words = grows(call, make("", pump, ""))
        if words:
            found.append("%r * n: %s" % (pump, words))
    assert found == []
