# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps the lists of new modules, plugins, roles and playbooks in the release notes as the tree has them, for the version in galaxy.yml.

antsibull-changelog writes them once, with the release. It does not know playbooks, and does not follow names that change before the release is out.
"""

from __future__ import annotations

import ast
import pathlib
import re
import typing as t

import yaml
from common import ROOT, run

KINDS = ("filter", "inventory", "lookup")
_ROW = re.compile(r"^\| ([^|]+) \| `rdma\.ofed\.(\w+)", re.MULTILINE)

Entries = t.List[t.Dict[str, t.Any]]
Lists = t.Dict[str, t.Any]


def _documentation(path: pathlib.Path) -> dict[str, t.Any]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            found: dict[str, t.Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    return {}


def _entry(name: str, description: str, namespace: str | None = None) -> dict[str, t.Any]:
    """Return an entry as antsibull-changelog writes it: in reStructuredText, with a period."""
    return {"description": re.sub(r"([\\*_`|])", r"\\\1", description) + ".", "name": name, "namespace": namespace}


def _plugins(folder: pathlib.Path, version: str, namespace: str | None = None) -> Entries:
    documented = {path.stem: _documentation(path) for path in sorted(folder.glob("*.py"))}
    return [_entry(name, found["short_description"], namespace) for name, found in documented.items() if found.get("version_added") == version]


def _roles(root: pathlib.Path, version: str) -> Entries:
    specs = {path.parts[-3]: yaml.safe_load(path.read_text(encoding="utf-8")) for path in root.glob("roles/*/meta/argument_specs.yml")}
    mains = {name: spec["argument_specs"]["main"] for name, spec in sorted(specs.items())}
    return [_entry(name, main["short_description"]) for name, main in mains.items() if main["version_added"] == version]


def _playbooks(root: pathlib.Path, releases: t.Mapping[str, Lists], version: str) -> Entries:
    """Return the playbooks that no other release lists. The table of playbooks says what each of them is for."""
    others = (entry["name"] for each, lists in releases.items() if each != version for entry in lists.get("objects", {}).get("playbook", ()))
    known = set(others)
    table = (root / "docs/playbooks.md").read_text(encoding="utf-8")
    purposes = {name: words[0].upper() + words[1:] for words, name in _ROW.findall(table)}
    return [_entry(name, purposes[name]) for name in sorted({path.stem for path in root.glob("playbooks/*.yml")} - known) if name in purposes]


def lists(root: pathlib.Path, releases: t.Mapping[str, Lists], version: str) -> Lists:
    """Return what the release notes of a version list as new."""
    plugins = {kind: _plugins(root / "plugins" / kind, version) for kind in KINDS}
    objects = {"playbook": _playbooks(root, releases, version), "role": _roles(root, version)}
    return {
        "modules": _plugins(root / "plugins/modules", version, ""),
        "objects": {kind: entries for kind, entries in objects.items() if entries},
        "plugins": {kind: entries for kind, entries in plugins.items() if entries},
    }


def check(write: bool = False, root: pathlib.Path = ROOT) -> list[str]:
    """Return what is out of date in the release notes. With `write`, they are corrected. A version without notes has no list yet."""
    path = root / "changelogs/changelog.yaml"
    notes = yaml.safe_load(path.read_text(encoding="utf-8"))
    version = yaml.safe_load((root / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    release = notes["releases"].get(version)
    if release is None:
        return []
    made = lists(root, notes["releases"], version)
    if all(release.get(name, type(entries)()) == entries for name, entries in made.items()):
        return []
    if not write:
        return ["changelogs/changelog.yaml does not list the modules, plugins, roles and playbooks of %s: run `make schema`" % version]
    release.update(made)
    path.write_text("---\n" + yaml.safe_dump(notes, default_flow_style=False, allow_unicode=True, width=120), encoding="utf-8")
    run([str(ROOT / ".venv/bin/antsibull-changelog"), "generate"], cwd=root, log="release-notes")
    return []
