# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documentation site has every page once, with links that fit it. `make docs` builds it; this needs no Sphinx."""

from __future__ import annotations

import collections
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/tools"))

import docs_site
import site_links

INDEX = docs_site.INDEX.read_text(encoding="utf-8")
BLOB = "https://forge.example/blob/main"


def test_every_page_is_in_the_navigation_once() -> None:
    entries = re.findall(r"^(?:.* <)?([\w./]+?)>?$", docs_site.trees(INDEX), re.MULTILINE)
    times = collections.Counter(entry for entry in entries if entry.startswith(("docs/", "roles/", "CONTRIBUTING", "CHANGELOG")))
    pages = [str(page.relative_to(ROOT)).removesuffix(".md") for page in docs_site.pages()]
    assert sorted(times.elements()) == sorted([*pages, "CHANGELOG"])


def test_a_page_is_in_the_first_section_that_links_it() -> None:
    first = "[a.md](a.md), [a.md](a.md#part), [elsewhere](https://a.example)"
    index = "# All\n\n## First\n\n%s\n\n## Second\n\n[a.md](a.md) [b](../roles/b/README.md)\n\n## None\n" % first
    assert docs_site.sections(index) == {"First": ["docs/a.md"], "Second": ["roles/b/README.md"]}


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("docs/adopt.md", "[there](../README.md#licence)", "[there](../index.md#licence)"),
        ("docs/adopt.md", "[all](README.md)", "[all](README.md)"),
        ("README.md", "[LICENSE](LICENSE)", "[LICENSE](%s/LICENSE)" % BLOB),
        ("roles/ofed/README.md", "[a licence](../../LICENSE)", "[a licence](%s/LICENSE)" % BLOB),
        ("roles/ofed/README.md", "[docs/upgrade.md](../../docs/upgrade.md#reboot)", "[](../../docs/upgrade.md#reboot)"),
        ("docs/adopt.md", "[roles/ofed](../roles/ofed/README.md)", "[](../roles/ofed/README.md)"),
        ("docs/adopt.md", "[words](upgrade.md) [here](#limits)", "[words](upgrade.md) [here](#limits)"),
        ("docs/fabric.md", "![adopt.md](fabric_report.png)", "![adopt.md](fabric_report.png)"),
        ("docs/adopt.md", "[upgrade.md](https://forge.example/upgrade.md)", "[upgrade.md](https://forge.example/upgrade.md)"),
    ],
)
def test_links_fit_the_site(page: str, text: str, expected: str) -> None:
    assert docs_site.retarget(text, ROOT / page, BLOB) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<a href="there.html#part">', []),
        ('<a href="https://elsewhere.example/">', []),
        ('<h2 id="a b"></h2><a href="#a%20b">', []),
        ('<img src="data:image/png;base64,AA">', []),
        ('<a href="gone.html">', ["page.html: gone.html"]),
        ('<a href="there.html#gone">', ["page.html: there.html#gone"]),
        ('<a href="#gone">', ["page.html: #gone"]),
        ('<img src="gone.png">', ["page.html: gone.png"]),
        ('<script src="https://elsewhere.example/a.js"></script>', ["page.html: https://elsewhere.example/a.js"]),
        ('<link rel="stylesheet" href="//elsewhere.example/a.css">', ["page.html: //elsewhere.example/a.css"]),
    ],
)
def test_links_that_lead_nowhere_and_what_comes_from_the_network_are_found(tmp_path: pathlib.Path, text: str, expected: list[str]) -> None:
    (tmp_path / "there.html").write_text('<h1 id="part"></h1>', encoding="utf-8")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    assert site_links.wrong(tmp_path) == expected
