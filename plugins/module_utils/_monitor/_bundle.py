# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build programs for nodes from modules of this collection: a single text file that needs only Python."""

from __future__ import annotations

import ast
import inspect
import sys
import typing as t

from .._host._files import HEADER

if t.TYPE_CHECKING:
    import types

# A module follows the modules that it imports.
_PROGRAM = """\
#!{python}
{header}\
import sys
import types

SOURCES = {{
{sources}}}


def package(name):
    if name and name not in sys.modules:
        sys.modules[name] = module = types.ModuleType(name)
        module.__path__ = []
        add(name, module)


def add(name, module):
    above, _dot, last = name.rpartition(".")
    package(above)
    if above:
        setattr(sys.modules[above], last, module)


for name, lines in SOURCES.items():
    module = types.ModuleType(name)
    module.__package__ = name.rpartition(".")[0]
    add(name, module)
    sys.modules[name] = module
    exec(compile("".join(lines), name, "exec"), module.__dict__)
sys.exit(module.main())
"""


def _imported(name: str, source: str) -> t.Iterator[str]:
    """The modules of the collection that this one imports at run time, without imports for the type checker."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            above = ".".join([*name.split(".")[: -node.level], node.module or ""]).rstrip(".")
            for alias in node.names:
                inner = "%s.%s" % (above, alias.name)
                yield inner if inner in sys.modules else above


def _collect(name: str, found: dict[str, str]) -> None:
    """Add a module after the modules that it imports."""
    if name in found:
        return
    source = inspect.getsource(sys.modules[name])
    for other in _imported(name, source):
        _collect(other, found)
    found[name] = source


def program(entry: types.ModuleType, python: str) -> str:
    """The text of a program that runs `main` of a module. Equal modules give equal text."""
    found: dict[str, str] = {}
    _collect(entry.__name__, found)
    sources = "".join("    %r: [\n%s    ],\n" % (name, "".join("        %a,\n" % line for line in source.splitlines(True))) for name, source in found.items())
    return _PROGRAM.format(python=python, header=HEADER, sources=sources)
