# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All regular expressions of the collection, and texts on which each may backtrack for long, derived from the expression."""

from __future__ import annotations

import ast
import collections
import functools
import importlib
import pathlib
import re
import re._constants as c
import re._parser as parser
import types
import typing as t

import yaml
from targets import PACKAGE, ROOT, UTILS

METHODS = frozenset(["match", "fullmatch", "search", "findall", "finditer", "split", "sub", "subn"])
ANCHORED = frozenset(["match", "fullmatch"])
ALPHABET = " \n\ta0A9f:-./,=_\\'\"()[]{}<>#|*~@;&\0"


class Expression(t.NamedTuple):
    """One expression and the methods that use it."""

    where: str
    pattern: re.Pattern[t.Any]
    methods: frozenset[str]


class _Stub(str):
    """Stands for a value known only at run time."""

    def __getattr__(self, name: str) -> t.Any:
        return self

    def __call__(self, *arguments: t.Any) -> _Stub:
        return self


class _Names(dict[str, t.Any]):
    def __missing__(self, name: str) -> t.Any:
        return _Stub("ib0")


def _evaluated(node: ast.expr, module: types.ModuleType) -> t.Any:
    """Evaluate a Python expression, with a placeholder for each local variable."""
    names = _Names({**vars(__builtins__ if isinstance(__builtins__, types.ModuleType) else types), **vars(module)})
    return eval(compile(ast.Expression(node), "pattern", "eval"), {"__builtins__": {}}, names)


def _texts(node: ast.expr, module: types.ModuleType) -> list[t.Any]:
    """Return the possible pattern texts of an expression: for a table lookup, all values of the table."""
    if isinstance(node, ast.Subscript) and isinstance(_evaluated(node.value, module), dict):
        return list(_evaluated(node.value, module).values())
    attributes = {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and ast.unparse(each.value) == "self"}
    if attributes:
        # Class attributes replace `self`.
        return [text.replace("%s", "ib0") for text in _constants(attributes)]
    return [_evaluated(node, module)]


@functools.cache
def _trees() -> dict[pathlib.Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(UTILS.rglob("*.py"))}


@functools.cache
def _assigned() -> list[tuple[str, str]]:
    """Return the constants that class bodies assign to attributes."""
    bodies = (node for tree in _trees().values() for each in ast.walk(tree) if isinstance(each, ast.ClassDef) for node in each.body)
    rows = (node for node in bodies if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant))
    return [(ast.unparse(node.targets[0]), str(node.value.value)) for node in rows if isinstance(node.value, ast.Constant)]


def _constants(names: set[str]) -> list[str]:
    """Return the constants assigned to class attributes of these names."""
    return [text for name, text in _assigned() if name in names]


def _is_flag(node: ast.expr) -> bool:
    return all(isinstance(each, (ast.Attribute, ast.Name, ast.BinOp, ast.BitOr, ast.Load)) for each in ast.walk(node)) and ast.unparse(node).startswith("re.")


@functools.cache
def _used(tree: ast.AST) -> tuple[dict[str, set[str]], set[str]]:
    """Return the attributes used on each name, and the names that are passed on."""
    called, named = collections.defaultdict[str, set[str]](set), []
    below = set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            below.add(id(node.value))
            named.append((id(node), node.attr))
            if isinstance(node.value, (ast.Name, ast.Attribute)):
                called[node.value.id if isinstance(node.value, ast.Name) else node.value.attr].add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            named.append((id(node), node.id))
    return called, {name for number, name in named if number not in below}


def _uses(tree: ast.AST, name: str) -> set[str]:
    """Return the methods called on an expression of that name; search and match if it is passed on."""
    called, handed = _used(tree)
    return {"search", "match"} if name in handed else called.get(name, set()) & METHODS


def of_managers() -> list[Expression]:
    """Return the patterns that a role applies to the output of workload managers."""
    managers = yaml.safe_load((ROOT / "roles/node_service/vars/main.yml").read_text(encoding="utf-8"))["__node_service_managers"]
    keys = ("states", "given", "out_of_service", "silent", "job")
    return [
        Expression("%s:%s" % (name, key), re.compile(manager[key], re.MULTILINE), frozenset(["findall"])) for name, manager in managers.items() for key in keys
    ]


def expressions() -> list[Expression]:
    """Return all compiled patterns and those passed to a function of `re`."""
    trees = {path: tree for path, tree in _trees().items() if path.name != "__init__.py"}
    found = []
    for path, tree in trees.items():
        dotted = ".".join(path.relative_to(UTILS).with_suffix("").parts)
        module = importlib.import_module("%s.%s" % (PACKAGE, dotted))
        names = {id(node.value): ast.unparse(node.targets[0]).rpartition(".")[2] for node in ast.walk(tree) if isinstance(node, ast.Assign)}
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re"):
                continue
            if node.func.attr not in METHODS | {"compile"}:
                continue
            flags = re.NOFLAG
            for argument in [*node.args[1:], *(keyword.value for keyword in node.keywords)]:
                flags |= _evaluated(argument, module) if _is_flag(argument) else re.NOFLAG
            name = names.get(id(node), "")
            within = trees.values() if name and not name.startswith("_") else [tree]
            methods = {node.func.attr} if node.func.attr != "compile" else set().union(*(_uses(each, name) for each in within)) if name else {"search", "match"}
            found += [Expression("%s:%d" % (dotted, node.lineno), re.compile(text, flags), frozenset(methods)) for text in _texts(node.args[0], module)]
    return found


def _one(op: t.Any, value: t.Any) -> str:
    """Return a text that a single element matches."""
    if op is c.LITERAL:
        return chr(value)
    if op is c.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if op is c.ANY:
        return "a"
    if op is c.IN:
        return next((letter for letter in "a0A " + ALPHABET if _accepts((op, value), letter)), "a")
    if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
        return _witness(value[2]) * max(value[0], 1)
    if op is c.SUBPATTERN:
        return _witness(value[3])
    if op is c.BRANCH:
        return _witness(value[1][0])
    return ""


def _witness(pattern: t.Any) -> str:
    return "".join(_one(op, value) for op, value in pattern)


def _accepts(element: tuple[t.Any, t.Any], letter: str) -> bool:
    """Return whether an element matches this single letter."""
    op, value = element
    if op is c.LITERAL:
        return chr(value) == letter
    if op is c.NOT_LITERAL:
        return chr(value) != letter
    if op is c.ANY:
        return letter != "\n"
    if op is c.SUBPATTERN:
        return len(value[3]) == 1 and _accepts(value[3][0], letter)
    if op is c.BRANCH:
        return any(len(branch) == 1 and _accepts(branch[0], letter) for branch in value[1])
    if op is not c.IN:
        return False
    inside = False
    for kind, item in value:
        if kind is c.LITERAL:
            inside |= ord(letter) == item
        elif kind is c.RANGE:
            inside |= item[0] <= ord(letter) <= item[1]
        elif kind is c.CATEGORY:
            inside |= re.match(_CATEGORIES[item], letter) is not None
    return inside != (value[0][0] is c.NEGATE)


_CATEGORIES = {
    c.CATEGORY_DIGIT: r"\d",
    c.CATEGORY_NOT_DIGIT: r"\D",
    c.CATEGORY_SPACE: r"\s",
    c.CATEGORY_NOT_SPACE: r"\S",
    c.CATEGORY_WORD: r"\w",
    c.CATEGORY_NOT_WORD: r"\W",
}


def _pumps(pattern: t.Any, prefix: str) -> t.Iterator[tuple[str, str]]:
    """Yield the text before a repetition, and the text that it repeats."""
    for op, value in pattern:
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT) and value[1] > 1:
            body = value[2]
            if len(body) == 1:
                yield from ((prefix, letter) for letter in ALPHABET if _accepts(body[0], letter))
            yield prefix, _witness(body)
            yield "", prefix + _witness(body)
        if op in (c.MAX_REPEAT, c.MIN_REPEAT, c.POSSESSIVE_REPEAT):
            yield from _pumps(value[2], prefix)
        elif op is c.SUBPATTERN:
            yield from _pumps(value[3], prefix)
        elif op is c.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, prefix)
        prefix += _one(op, value)
    yield "", prefix


def texts_for(expression: Expression) -> list[tuple[str, str]]:
    """Return pairs of a prefix and the text to repeat after it."""
    text = expression.pattern.pattern
    text = text.decode() if isinstance(text, bytes) else text
    tree = parser.parse(text, expression.pattern.flags & ~re.UNICODE)
    found = [("", letter) for letter in ALPHABET]
    return [pair for pair in dict.fromkeys([*found, *_pumps(tree, "")]) if pair[1]]
