# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of `verify` in Chromium: it loads nothing, fits narrow screens, and shows text from nodes as text."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import sys
import typing as t

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/unit"))

import conftest  # noqa: F401  # makes the collection importable
from browser import Browser, program
from support.report_nodes import FLEET, hostile
from support.report_nodes import page as made

pytestmark = pytest.mark.skipif(not program(), reason="no Chromium is installed")

HOSTILE = "</td></table><img src=http://192.0.2.1/x onerror=alert(1)><b>\"'&amp;"


@pytest.fixture
def show(tmp_path: pathlib.Path) -> collections.abc.Iterator[t.Callable[..., Browser]]:
    """Open the page of these results; fail if it has reported a fault by the end."""
    with Browser.started() as browser:

        def opened(results: t.Mapping[str, t.Any], width: int = 1440, **screen: bool) -> Browser:
            path = tmp_path / "verify-findings.html"
            path.write_text(made(results), encoding="utf-8")
            browser.screen(width, 900, **screen)
            browser.open(path)
            return browser

        yield opened
        assert browser.faults() == []


@pytest.mark.parametrize("width", [1440, 360])
@pytest.mark.proves("report", debian12="real")
def test_it_fits_the_screen(show: t.Callable[..., Browser], width: int) -> None:
    browser = show(FLEET, width, mobile=width < 640)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run("document.querySelectorAll('.findings-table tbody tr').length") == 4
    assert browser.run("getComputedStyle(document.querySelector('h1')).fontSize") == "17px"


@pytest.mark.proves("report", debian12="real")
def test_hostile_text_is_text(show: t.Callable[..., Browser]) -> None:
    browser = show(hostile(HOSTILE))
    assert browser.run("document.querySelectorAll('img, b, script').length") == 0
    assert browser.run("[...document.querySelectorAll('td')].some((cell) => cell.textContent === %s)" % json.dumps(HOSTILE))
