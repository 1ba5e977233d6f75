# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Damaged text: pieces of recordings and of texts in unit tests, cut, repeated, and mixed with tokens that parsers tend to fail on."""

from __future__ import annotations

import ast
import functools
import json
import pathlib
import random
import typing as t

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "tests/corpus"
UNITS = ROOT / "tests/unit/plugins"
HEADER = "# Managed by the Ansible collection rdma.ofed: local changes are overwritten.\n"
NINES = "9" * 5000
_LONGEST = 3000

TOKENS = (
    *("0", "1", "-1", "4", "0x", "0x1g", "1_0", "1e999", "NaN", "Infinity", "٣", "²", "①", NINES, "0x" + "f" * 5000, "08", "007", "+1", " 1"),
    *("", "\n", "\n\n", "\r\n", "\r", "\t", " ", " " * 60, "\x00", "\x0b", "\x1c", "\x85", "\u2028", "\ufeff", "\ud800", "\udcff", "\x1b[31m"),
    *("'", '"', "\\", "\\\n", "#", " # comment", ";", ":", "::", "=", "==", ",", ",,", "/", "//", "..", "-", "--", "*", "%", "%s", "$", "${", "`", "&", "|"),
    *("[", "]", "{", "}", "(", ")", "[]", "{}", "[[", "<", ">", "<>", "null", "true", '"id"', '"x"', "[" * 2000, '{"a":' * 2000),
    *("ib0", "ib0.8001", "mlx5_0", "10.0.0.1/24", "10.0.0.1/24,10.0.0.254", "fd00::1/64", "fe80::1%ib0", "0x0002c903000f0001", "0000:03:00.0", "N/A", "-E- "),
    *("Supported", "(default)", "Device #1:\n", HEADER, "default", "ALL=full", "MTU=", "MainPID=", "yes", "on", "Active", "Node Description:"),
)
VALUES: tuple[t.Any, ...] = (None, True, 0, -1, 1.5, float("nan"), 10**30, "", "x", "²", [], {}, [[]], {"x": {}}, ["x"], "0x1")


@functools.lru_cache(maxsize=None)
def recordings() -> tuple[str, ...]:
    return tuple(path.read_text(encoding="utf-8", errors="surrogateescape") for path in sorted(CORPUS.glob("*/*.txt")))


@functools.lru_cache(maxsize=None)
def written() -> t.Mapping[str, tuple[str, ...]]:
    """Return the strings in each unit test, by the names that it imports from the collection."""
    found: dict[str, set[str]] = {}
    for path in sorted(UNITS.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and 2 < len(node.value) < 20000}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and "module_utils" in (node.module or ""):
                base = (node.module or "").partition("module_utils")[2].lstrip(".")
                for name in ("%s.%s" % (base, alias.name) for alias in node.names):
                    found.setdefault(name.lstrip("."), set()).update(texts)
                    found.setdefault(base, set()).update(texts)
    return {name: tuple(sorted(texts)) for name, texts in found.items()}


@functools.lru_cache(maxsize=None)
def golden() -> tuple[str, ...]:
    """Return the golden files of what the collection writes."""
    return tuple(path.read_text(encoding="utf-8") for path in sorted(UNITS.rglob("golden/**/*")) if path.is_file())


@functools.lru_cache(maxsize=None)
def seeds(target: str) -> tuple[str, ...]:
    """Return the texts to damage for a target: the strings in its module's tests, recordings of its tool, golden files, and a few other recordings."""
    module = target.rpartition(".")[0]
    tool = module.rpartition("._")[2]
    recorded = tuple(
        path.read_text(encoding="utf-8", errors="surrogateescape") for path in sorted(CORPUS.glob("*/*.txt")) if tool and path.parent.name.startswith(tool)
    )
    own = (*written().get(module, ()), *recorded)
    ours = golden() if "_ipoib" in target or target.startswith("records") else ()
    return (*own, *ours, *recordings()[:: 1 if not own and not ours else 10])


def _cut(rng: random.Random, text: str) -> str:
    start = 0 if rng.random() < 0.6 else rng.randrange(len(text) + 1)
    return text[start : start + rng.randrange(1, _LONGEST)]


def _tree(rng: random.Random, value: t.Any) -> t.Any:
    """Return JSON with one value replaced."""
    if rng.random() < 0.3 or not isinstance(value, (dict, list)) or not value:
        return rng.choice(VALUES)
    if isinstance(value, list):
        at = rng.randrange(len(value))
        return [*value[:at], _tree(rng, value[at]), *value[at + 1 :]]
    key = rng.choice(list(value))
    if rng.random() < 0.2:
        return {name: item for name, item in value.items() if name != key}
    return {**value, key: _tree(rng, value[key])}


def _edit(rng: random.Random, text: str, others: t.Sequence[str]) -> str:
    at = rng.randrange(len(text) + 1)
    end = min(len(text), at + rng.randrange(1, 40))
    kind = rng.randrange(7)
    if kind == 0:
        return text[:at] + rng.choice(TOKENS) + text[at:]
    if kind == 1:
        return text[:at] + rng.choice(TOKENS) + text[end:]
    if kind == 2:
        return text[:at] + text[end:]
    if kind == 3:
        return text[:end] + text[at:end] * rng.randrange(1, 4) + text[end:]
    if kind == 4:
        lines = text.splitlines(keepends=True)
        rng.shuffle(lines)
        return "".join(lines)
    if kind == 5:
        return text[:at] + _cut(rng, rng.choice(others)) + text[end:]
    # Replace one word.
    words = text.split(" ")
    words[rng.randrange(len(words))] = rng.choice(TOKENS)
    return " ".join(words)


def damaged(rng: random.Random, target: str) -> str:
    """Return one damaged text for a target."""
    others = seeds(target) or ("",)
    text = rng.choice(others)
    if text.lstrip()[:1] in ("{", "[") and rng.random() < 0.5:
        try:
            return json.dumps(_tree(rng, json.loads(text)))
        except ValueError:
            pass
    text = _cut(rng, text)
    for _count in range(rng.randrange(1, 6)):
        text = _edit(rng, text, others)
    header = HEADER if "record" in target and rng.random() < 0.7 else ""
    return header + text[: 4 * _LONGEST + len(NINES)]
