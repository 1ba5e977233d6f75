# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The checks before a release, and the workflows that run them in public."""

from __future__ import annotations

import pathlib
import re
import sys
import typing as t

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))

import release_check

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def steps(path: pathlib.Path) -> t.Iterator[dict[str, t.Any]]:
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit(path: pathlib.Path) -> None:
    """A tag can be moved."""
    assert [step["uses"] for step in steps(path) if "uses" in step and not re.search(r"@[0-9a-f]{40}$", step["uses"])] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_the_targets_of_workflows_exist(path: pathlib.Path) -> None:
    named = [name for step in steps(path) for name in re.findall(r"\bmake ([a-z][\w-]*)", step.get("run", ""))]
    lists = re.findall(r"target: \[(.*)\]", path.read_text(encoding="utf-8"))
    targets = [*named, *(name.strip() for names in lists for name in names.split(","))]
    assert targets
    assert [name for name in targets if not re.search(r"^%s:|^[^:\n#]* %s(?: [^:\n]*)?:" % (name, name), MAKEFILE, re.MULTILINE)] == []


def test_the_workflow_has_all_scenarios() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    declared = re.search(r"^SCENARIOS \?= (.*)$", MAKEFILE, re.MULTILINE)
    assert declared
    assert sorted(jobs["molecule"]["strategy"]["matrix"]["scenario"]) == sorted(declared[1].split())


def tree(root: pathlib.Path, *, version: str = "1.1.0", notes: str = "1.1.0", fragment: bool = False) -> pathlib.Path:
    (root / "changelogs/fragments").mkdir(parents=True)
    (root / "galaxy.yml").write_text("version: %s\n" % version, encoding="utf-8")
    (root / "changelogs/changelog.yaml").write_text("releases: {%s: {}}\n" % notes, encoding="utf-8")
    if fragment:
        (root / "changelogs/fragments/a-change.yml").write_text("---\n", encoding="utf-8")
    return root


def test_a_tag_that_fits_may_be_released(tmp_path: pathlib.Path) -> None:
    assert release_check.wrong_tag("v1.1.0", tree(tmp_path)) == []


@pytest.mark.parametrize(
    ("tag", "options", "words"),
    [
        ("v1.2.0", {}, "the tag is v1.2.0, and galaxy.yml has version 1.1.0: allowed is v1.1.0"),
        ("v1.1.0", {"notes": "1.0.0"}, "has no version 1.1.0"),
        ("v1.1.0", {"fragment": True}, "a-change.yml"),
    ],
)
def test_a_tag_that_does_not_fit_is_refused(tmp_path: pathlib.Path, tag: str, options: dict[str, t.Any], words: str) -> None:
    wrong = release_check.wrong_tag(tag, tree(tmp_path, **options))
    assert len(wrong) == 1
    assert words in wrong[0]


def test_what_the_importer_objects_to_is_found() -> None:
    log = "Loading module ipoib\nWARNING: No changelog found.\nERROR: bad\nLoading role ofed\n"
    assert release_check.complaints(log) == ["WARNING: No changelog found.", "ERROR: bad"]
