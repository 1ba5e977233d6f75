# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The documentation site in Chromium: no page is wider than the window, tables do not break names, and the search needs no network."""

from __future__ import annotations

import collections.abc
import pathlib
import time

import pytest
from browser import LIMIT, Browser, program

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build/docs/html"
# 1312 and 1472 pixels are where the theme and the style sheet of the site change the number of columns.
WIDTHS = (390, 820, 1050, 1200, 1312, 1360, 1472, 1920)

pytestmark = pytest.mark.skipif(not program(), reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> collections.abc.Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(browser: Browser, width: int) -> None:
    browser.screen(width, 900, mobile=width < 1000)
    wide = {}
    for page in ("index", "docs/adopt", "docs/variables", "docs/compatibility", "roles/ipoib/README"):
        browser.open(SITE / (page + ".html"))
        found = browser.run("document.documentElement.scrollWidth")
        if found > width:
            wide[page] = found
    assert wide == {}


def test_names_in_tables_are_whole_on_a_phone(browser: Browser) -> None:
    browser.screen(390, 844, mobile=True)
    browser.open(SITE / "docs/variables.html")
    broken = "[...document.querySelectorAll('td:first-child code')].filter((name) => name.getClientRects().length > 1).length"
    assert browser.run(broken) == 0


def test_the_search_needs_no_network(browser: Browser) -> None:
    browser.screen(1360, 900)
    browser.open(SITE / "search.html")
    browser.run("location.href = 'search.html?q=ipoib_adopt'")
    end = time.monotonic() + LIMIT
    while not browser.run("document.querySelectorAll('#search-results li').length"):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "Adopting a running cluster" in browser.run("document.querySelector('#search-results').innerText")
