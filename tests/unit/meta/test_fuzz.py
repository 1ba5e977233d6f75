# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Feeds damaged text to every function that reads external text. `make fuzz` does that for any length of time."""

from __future__ import annotations

import ast
import pathlib
import sys

import pytest
from support import sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/fuzz"))

import fuzz
import targets

PLUGINS = ROOT / "plugins"
TEXTS = 150

# Code that reads numbers for all other code, and scripts that run on a node without the collection.
READERS = ("_foreign.py", "_job_runner.py", "_download.py")
# Values that are not text: parts of addresses, numbers in facts, and arguments that the role has validated.
NUMBERS = {"int(route.network.network_address)", "int(wanted)", "int(port['port'])", "int(gpu)", "int(size)"}
CLASSIFIERS = ("isdigit", "isdecimal", "isnumeric")


@pytest.mark.parametrize("name", sorted(targets.targets()))
def test_no_damaged_text_raises_anything_but_an_error_of_ours(name: str) -> None:
    found = [failure for failure in (fuzz.failure(targets.targets()[name], number) for number in range(TEXTS)) if failure]
    assert [(failure.number, failure.error) for failure in found[:3]] == []


def test_every_reader_has_a_target() -> None:
    assert targets.without_target() == []


def test_the_parsers_are_among_the_readers() -> None:
    """A parser whose text parameter has a name outside `NAMES` would have no target."""
    parsers = set()
    for path in targets.UTILS.rglob("*.py"):
        module = ".".join(path.relative_to(targets.UTILS).with_suffix("").parts)
        names = [node.name for node in sources.tree(path).body if isinstance(node, ast.FunctionDef)]
        parsers |= {"%s.%s" % (module, name) for name in names if name == "parse" or name.startswith("parse_")}
    # They read typed values and the names in a directory.
    typed = {"_facts._stack.parse_pacman_names", *("_ipoib._wanted.parse_" + name for name in ("pkey", "number", "route", "bond"))}
    assert parsers - set(targets.targets()) - typed == set()


@pytest.mark.parametrize("path", sorted(path for path in PLUGINS.rglob("*.py") if path.name not in READERS), ids=lambda path: path.stem)
def test_numbers_of_others_are_read_in_one_place(path: pathlib.Path) -> None:
    """`int` accepts texts that are not numbers and refuses some that are; `json` raises a different error for deep nesting."""
    found = []
    for node in ast.walk(sources.tree(path)):
        text = ast.unparse(node) if isinstance(node, (ast.Attribute, ast.Call)) else ""
        classifies = isinstance(node, ast.Attribute) and (node.attr in CLASSIFIERS or text in ("json.loads", "json.load"))
        if classifies or (text.startswith(("int(", "float(")) and isinstance(node, ast.Call) and text not in NUMBERS):
            found.append(text)
    assert found == []
