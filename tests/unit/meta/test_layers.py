# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The layers of docs/architecture.md: every import points down, and no packages or files import each other."""

from __future__ import annotations

import ast
import collections
import pathlib
import re
import typing as t

from support import sources

ROOT = pathlib.Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins"
# Code that changes a node or needs one.
TOUCHING = {"_look", "_apply", "_converge"}
HOMES = {
    "Found": "_found",
    "Wanted": "_wanted",
    "look": "_look",
    "seen": "_look",
    "plan": "_plan",
    "apply": "_apply",
    "converge": "_converge",
    "findings": "_expect",
    "CONCERN": "_concern",
    "EXPECTATION": "_expect",
}
"""The file of a room in which a name belongs. Rooms that need several of them have sub-rooms."""
PURE = {"_found", "_wanted", "_input", "_plan", "_judge", "_concern"}


def layers() -> list[list[str]]:
    """Return the lines of the documented list, top first."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    block = re.search(r"^## Layers$.*?^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert block
    return [line.split() for line in block[1].splitlines()]


def part_of(dotted: str) -> str:
    """Return the package, or the plugin directory, that a module belongs to."""
    names = dotted.split(".")
    return names[1] if names[0] == "module_utils" else names[0]


def imports(path: pathlib.Path) -> t.Iterator[str]:
    """Yield the modules below `plugins` that a file imports, including imports for the type checker."""
    for node in ast.walk(sources.tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            names = [*dotted(path).split(".")[: -node.level], *(node.module or "").split(".")]
            module = ".".join(name for name in names if name)
            for alias in node.names:
                inner = PLUGINS.joinpath(*module.split("."), alias.name)
                yield "%s.%s" % (module, alias.name) if inner.with_suffix(".py").is_file() or inner.is_dir() else module


def dotted(path: pathlib.Path) -> str:
    return ".".join(path.relative_to(PLUGINS).with_suffix("").parts)


def files() -> list[pathlib.Path]:
    return sorted(path for path in PLUGINS.rglob("*.py") if "doc_fragments" not in path.parts and path.name != "__init__.py")


def test_every_package_has_a_layer() -> None:
    known = [name for line in layers() for name in line]
    assert sorted(known) == sorted({part_of(dotted(path)) for path in files()})


def graph_of_packages() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = collections.defaultdict(set)
    for path in files():
        graph[part_of(dotted(path))] |= {part_of(name) for name in imports(path)} - {part_of(dotted(path))}
    return graph


def test_each_package_is_on_the_lowest_line_above_what_it_imports() -> None:
    graph = graph_of_packages()
    found = {name: number for number, line in enumerate(reversed(layers())) for name in line}
    wanted = {name: 1 + max((found[below] for below in graph[name]), default=-1) for name in graph}
    assert found == wanted


def reachable(graph: t.Mapping[str, t.Collection[str]], start: str) -> set[str]:
    """Return all names that a name imports directly or indirectly; itself too if it is part of a circle."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        new = set(graph.get(todo.pop(), ())) - seen
        seen |= new
        todo += new
    return seen


def circles(graph: t.Mapping[str, t.Collection[str]]) -> list[list[str]]:
    """Return the largest sets of names that can all be reached from each other."""
    reached = {name: reachable(graph, name) for name in graph}
    found = {frozenset({name, *(other for other in reached[name] if name in reached[other])}) for name in graph if name in reached[name]}
    return sorted(sorted(circle) for circle in found)


def graph_of_files() -> dict[str, set[str]]:
    return {dotted(path): set(imports(path)) for path in files()}


def test_no_packages_import_each_other() -> None:
    assert circles(graph_of_packages()) == []


def test_no_files_import_each_other() -> None:
    """This includes imports for the type checker and within functions: files of a circle can only be read and changed together."""
    assert circles(graph_of_files()) == []


def test_a_circle_is_found_whatever_its_length() -> None:
    assert circles({"a": ["b"], "b": ["c"], "c": ["b", "d"], "d": ["a"], "e": ["a", "f"], "f": ["f"], "g": []}) == [["a", "b", "c", "d"], ["f"]]


def test_a_look_brings_no_planner_to_the_node() -> None:
    """Ansible sends every file that a module imports to each node, where it is compiled."""
    sent = reachable(graph_of_files(), "modules.rdma_facts")
    assert [name for name in sorted(sent) if name.count(".") > 1 and name.rpartition(".")[2] in ("_plan", "_apply", "_converge")] == []


def definitions(path: pathlib.Path) -> t.Iterator[str]:
    for node in sources.tree(path).body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_every_room_has_the_same_anatomy() -> None:
    """All rooms have the same structure, so that code is found at the same place in each."""
    rooms = [path for path in files() if "module_utils" in path.parts and len(path.relative_to(PLUGINS).parts) > 2]
    assert ["%s: %s" % (dotted(path), name) for path in rooms for name in definitions(path) if HOMES.get(name, path.stem) != path.stem] == []


def test_no_room_tells_subjects_apart_by_suffixes() -> None:
    """A subject with its own plan or look is a sub-room."""
    ends = re.compile(r"_\w+(?:%s)" % "|".join(sorted({*HOMES.values(), "_input"})))
    assert [dotted(path) for path in files() if "_tools" not in path.parts and ends.fullmatch(path.stem)] == []


def test_pure_code_imports_neither_ansible_nor_what_touches_the_node() -> None:
    wrong = []
    for path in files():
        if path.stem not in PURE or "module_utils" not in path.parts:
            continue
        tree = sources.tree(path)
        names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        wrong += ["%s imports %s" % (dotted(path), name) for name in names if name.split(".")[0] == "ansible" or name in ("subprocess", "os", "glob")]
        wrong += ["%s imports %s" % (dotted(path), name) for name in imports(path) if name.rpartition(".")[2] in TOUCHING]
    assert wrong == []


def test_plugins_import_each_other_by_relative_names() -> None:
    """The full name distracts the reader and is sent to each node with each file."""
    assert [dotted(path) for path in files() if "from ansible_collections.rdma" in path.read_text(encoding="utf-8")] == []


SHARED = ["_actions", "_looks", "_facts_of_run", "_end_of_run", "_files", "_filters", "_pythons", "_untrusted", "validate_site", "rdma_facts", "refusal_table"]
"""Code of plugin_utils and action plugins that serves all concerns."""


def test_what_serves_all_concerns_names_none() -> None:
    """Such code takes concerns from the registry, so that a new one is registered in one place."""
    registry = (PLUGINS / "module_utils/_concerns/_registry.py").read_text(encoding="utf-8")
    rooms = set(re.findall(r"^from \.\.(_\w+)\._concern import", registry, re.MULTILINE)) - {"_check"}
    shared = [path for path in files() if "_site" in path.parts or (path.stem in SHARED and "module_utils" not in path.parts)]
    # Besides the concerns, a node check also judges the manager of the fabric.
    check = [(path, name) for path in files() if "_check" in path.parts for name in imports(path) if part_of(name) != "_opensm"]
    found = [*((path, name) for path in shared for name in imports(path)), *check]
    assert [(dotted(path), name) for path, name in found if part_of(name) in rooms] == []
