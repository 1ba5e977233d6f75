# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The release notes list the modules, plugins, roles and playbooks of the tree, and no others."""

from __future__ import annotations

import pathlib
import re
import shutil
import sys
import typing as t

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))

import release_notes

NOTES = yaml.safe_load((ROOT / "changelogs/changelog.yaml").read_text(encoding="utf-8"))
VERSION = yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]


def names(kind: str, lists: t.Mapping[str, t.Any]) -> list[str]:
    entries = lists["modules"] if kind == "modules" else {**lists.get("plugins", {}), **lists.get("objects", {})}.get(kind, [])
    return [entry["name"] for entry in entries]


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("modules", "plugins/modules/*.py"),
        ("filter", "plugins/filter/*.py"),
        ("inventory", "plugins/inventory/*.py"),
        ("lookup", "plugins/lookup/*.py"),
        ("playbook", "playbooks/*.yml"),
        ("role", "roles/*/"),
    ],
)
def test_the_releases_together_list_the_tree(kind: str, pattern: str) -> None:
    tree = {path.stem for path in ROOT.glob(pattern)}
    releases = NOTES["releases"]
    former = {name for version, lists in releases.items() if version != VERSION for name in names(kind, lists)}
    new = names(kind, releases[VERSION])
    assert sorted(new) == sorted(tree - former)
    # What is gone leads on. Names of roles and playbooks can't.
    routing = yaml.safe_load((ROOT / "meta/runtime.yml").read_text(encoding="utf-8"))["plugin_routing"]
    assert former - tree <= set(routing.get(kind, {})) or kind in ("role", "playbook")


def test_the_release_notes_are_up_to_date() -> None:
    assert release_notes.check() == []


@pytest.mark.parametrize("page", ["README.md", "docs/getting_started.md", "docs/large_sites.md"])
def test_the_tarball_has_its_present_name_in_the_documentation(page: str) -> None:
    named = set(re.findall(r"rdma-ofed-(\d[\w.-]*)\.tar\.gz", (ROOT / page).read_text(encoding="utf-8")))
    assert named == {VERSION}


def test_what_is_gone_is_found(tmp_path: pathlib.Path) -> None:
    for name in ("plugins", "roles", "playbooks", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "galaxy.yml", tmp_path)
    (tmp_path / "changelogs").mkdir()
    notes = tmp_path / "changelogs/changelog.yaml"
    releases = NOTES["releases"]
    notes.write_text(yaml.safe_dump({"releases": releases}), encoding="utf-8")
    assert release_notes.check(root=tmp_path) == []
    longer = {**releases[VERSION], "modules": [*releases[VERSION]["modules"], {"description": "Gone.", "name": "gone", "namespace": ""}]}
    notes.write_text(yaml.safe_dump({"releases": {**releases, VERSION: longer}}), encoding="utf-8")
    assert len(release_notes.check(root=tmp_path)) == 1


def test_a_playbook_is_new_in_one_release() -> None:
    releases = {"0.9.0": {"objects": {"playbook": [{"name": "site"}]}}}
    assert "site" not in names("playbook", release_notes.lists(ROOT, releases, VERSION))


def test_a_version_without_notes_has_no_list_yet(tmp_path: pathlib.Path) -> None:
    (tmp_path / "changelogs").mkdir()
    (tmp_path / "changelogs/changelog.yaml").write_text("releases: {}\n", encoding="utf-8")
    (tmp_path / "galaxy.yml").write_text("version: 2.0.0\n", encoding="utf-8")
    assert release_notes.check(root=tmp_path) == []
