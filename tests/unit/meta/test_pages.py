# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The README fits on one screen and links every page of the documentation."""

from __future__ import annotations

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
INDEX = (ROOT / "docs/README.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")])


def test_the_readme_is_one_screen() -> None:
    assert len(README.splitlines()) <= 85


def test_the_readme_begins_with_two_commands() -> None:
    assert re.findall(r"^\$ (\S+ \S+)", README, re.MULTILINE)[:2] == ["make demo", "make test"]


def test_the_readme_leads_to_the_index_of_the_documentation() -> None:
    assert "](docs/README.md)" in README


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("[!R]*.md")), ids=lambda path: path.name)
def test_the_index_has_every_page(path: pathlib.Path) -> None:
    assert "](%s)" % path.name in INDEX


@pytest.mark.parametrize("path", sorted(ROOT.glob("roles/*/README.md")), ids=lambda path: path.parent.name)
def test_the_index_has_every_role(path: pathlib.Path) -> None:
    assert "](../%s)" % path.relative_to(ROOT) in INDEX


@pytest.mark.parametrize("path", sorted((ROOT / "playbooks").glob("*.yml")), ids=lambda path: path.stem)
def test_every_playbook_is_in_the_table_of_playbooks(path: pathlib.Path) -> None:
    table = (ROOT / "docs/playbooks.md").read_text(encoding="utf-8")
    assert re.search(r"^\| [^|]+ \| `rdma\.ofed\.%s\b" % path.stem, table, re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in PAGES if path.name not in ("compatibility.md", "features.md")], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_line_is_longer_than_a_screen(path: pathlib.Path) -> None:
    """Tables may have longer lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [number for number, line in enumerate(lines, 1) if len(line) > 160 and not line.startswith("|")] == []
