# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Everything mentioned in the READMEs and in docs exists: entry points, playbooks, plugins, files, sections and variables."""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._metrics import METRICS

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("roles/*/README.md"), *ROOT.glob("docs/*.md")])
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
PREFIXES = tuple("%s_" % name for name in (*ROLES, "rdma"))
# Names of facts, results and jobs, and names used by other software.
NO_VARIABLES = {"rdma_pending", "ofed_rebuild_modules", "rdma_job_test_", "ofed_info", "rdma_ucm", "rdma_cm", "rdma_rxe", "rdma_ofed"}
# Names of the user's files and variables in the examples.
OWN_FILES = {"inventory.yml"}
OWN_VARIABLES: frozenset[str] = frozenset()

Page = pathlib.Path


def plugins(*kinds: str) -> set[str]:
    return {path.stem for kind in kinds for path in (ROOT / "plugins" / kind).glob("*.py")}


def files(role: str) -> set[str]:
    """Return the entry points of a role."""
    return {path.stem for path in (ROOT / "roles" / role / "tasks").glob("*.yml")}


def declared() -> set[str]:
    paths = [*ROOT.glob("roles/*/meta/argument_specs.yml"), ROOT / "meta/argument_specs.yml"]
    specs = [yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"] for path in paths]
    return {name for spec in specs for entry in spec.values() for name in entry.get("options", {})}


VARIABLES = declared() | NO_VARIABLES | OWN_VARIABLES | set(METRICS) | set(ROLES) | plugins("modules", "filter") | {"%s_outcome" % role for role in ROLES}


def sections(page: Page) -> set[str]:
    """Return the anchors of a page, as forges generate them from its headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_links(page: Page) -> list[str]:
    found = []
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _hash, section = target.partition("#")
        place = page.parent / path if path else page
        if not place.exists() or (section and section not in sections(place)):
            found.append(target)
    return found


def wrong_paths(page: Page) -> list[str]:
    """Return wrong paths in this repository, and wrong playbook names."""
    text = page.read_text(encoding="utf-8")
    folders = "docs|meta|molecule|playbooks|plugins|roles|tests"
    paths = re.findall(r"(?<![\w/.-])((?:%s)/[\w./-]*[\w/])(?![\w*<{])" % folders, text)
    playbooks = [name for name in re.findall(r"`(\w+\.yml)`", text) if name not in OWN_FILES and not (ROOT / "playbooks" / name).is_file()]
    return [path for path in paths if not (ROOT / path).exists()] + playbooks


def wrong_names(page: Page) -> list[str]:
    """Return wrong full names of roles, playbooks and plugins."""
    known = {*ROLES, *plugins("modules", "filter", "inventory", "lookup", "doc_fragments"), *(path.stem for path in (ROOT / "playbooks").glob("*.yml"))}
    return [name for name in re.findall(r"\brdma\.ofed\.(\w+)", page.read_text(encoding="utf-8")) if name not in known]


def wrong_entry_points(page: Page) -> list[str]:
    """Return wrong entry points: in tasks_from, in a table of entry points, or in a sentence that calls them so."""
    text = page.read_text(encoding="utf-8")
    of_page = page.parent.name if page.parent.parent.name == "roles" else ""
    found = []
    for role, name in re.findall(r"name: rdma\.ofed\.(\w+),?\s+tasks_from: (\w+)", text):
        found += [] if name in files(role) else ["%s of %s" % (name, role)]
    lists = re.findall(r"entry points?((?:,| and)? `\w+`(?:(?:,| and) `\w+`)*)", text)
    for table in re.findall(r"\| entry point \|.*\n.*\n((?:\|.*\n)+)", text):
        lists += re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)
    names = [name for words in lists for name in re.findall(r"`(\w+)`", words)]
    return found + [name for name in names if name not in (files(of_page) if of_page else set().union(*map(files, ROLES)))]


def wrong_variables(page: Page) -> list[str]:
    code = re.findall(r"`[^`\n]+`|```.*?```", page.read_text(encoding="utf-8"), re.DOTALL)
    names = {name for text in code for name in re.findall(r"(?<![\w./-])([a-z]\w+)(?![\w/(.-])", text) if name.startswith(PREFIXES)}
    return sorted(name for name in names if name not in VARIABLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
@pytest.mark.parametrize("check", [wrong_links, wrong_paths, wrong_names, wrong_entry_points, wrong_variables])
def test_what_is_mentioned_exists(page: Page, check: t.Callable[[Page], list[str]]) -> None:
    assert check(page) == []


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (wrong_links, "[there](other.md)"),
        (wrong_links, "[there](#nowhere)"),
        (wrong_paths, "see `playbooks/sites.yml`"),
        (wrong_paths, "`sites.yml` does"),
        (wrong_names, "`rdma.ofed.sites`"),
        (wrong_entry_points, "the entry points `main` and `undrain` are"),
        (wrong_entry_points, "| entry point | what |\n|---|---|\n| `main`, `drain` | out |\n"),
        (wrong_entry_points, "{name: rdma.ofed.node_service, tasks_from: drain}"),
        (wrong_variables, "```yaml\nopensm_colour: blue\n```"),
        (wrong_variables, "`rdma_allow_sleep`"),
    ],
)
def test_what_does_not_exist_is_found(tmp_path: pathlib.Path, check: t.Callable[[Page], list[str]], text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    assert len(check(page)) == 1
