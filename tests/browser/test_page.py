# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fabric report in Chromium: it is fast, causes no errors and no requests, and all its controls work."""

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
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._content import Report
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._page import page
from browser import Browser, program
from support import report_fabrics

pytestmark = pytest.mark.skipif(not program(), reason="no Chromium is installed")

HOSTILE = "</script><img src=http://192.0.2.1/x onerror=alert(1)><b>\"'&amp;\u2028"
# Limit of the processor time for a tenth of the hosts. Measured: 1.1 to 1.9 s until a page of 1,000 hosts is interactive.
TIMES = 12


@pytest.fixture(scope="module")
def browser() -> collections.abc.Iterator[Browser]:
    with Browser.started() as started:
        yield started


@pytest.fixture
def show(browser: Browser, tmp_path: pathlib.Path) -> collections.abc.Iterator[t.Callable[..., Browser]]:
    """Open the page of a report; fail if it has reported a fault by the end."""

    def opened(report: Report, width: int = 1440, height: int = 900, **screen: bool) -> Browser:
        path = tmp_path / "ib-findings.html"
        path.write_text(page(report), encoding="utf-8")
        browser.screen(width, height, **screen)
        browser.open(path)
        return browser

    yield opened
    assert browser.faults() == []


def thousand() -> Report:
    before = report_fabrics.three_levels(1000)
    return report_fabrics.report(report_fabrics.broken(before), before)


def hundred() -> Report:
    before = report_fabrics.three_levels(100)
    return report_fabrics.report(report_fabrics.broken(before), before)


def sixteen() -> Report:
    before = report_fabrics.two_levels(16, 4, 2)
    return report_fabrics.report(report_fabrics.broken(before), before, hosts=("storage1",))


def rows(browser: Browser, table: str) -> list[list[str]]:
    script = "[...document.querySelectorAll('.%s-table tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText.trim()))" % table
    found: list[list[str]] = browser.run(script)
    return found


def search(browser: Browser, table: str, words: str) -> list[list[str]]:
    script = "(() => { const input = document.querySelector('.%s-table input'); input.value = %s; input.dispatchEvent(new Event('input')); })()"
    browser.run(script % (table, json.dumps(words)))
    return rows(browser, table)


@pytest.mark.proves("report", debian12="real")
def test_a_page_of_1000_hosts_is_soon_there(browser: Browser, show: t.Callable[..., Browser]) -> None:
    start = browser.seconds()
    show(hundred())
    between = browser.seconds()
    show(thousand())
    assert browser.seconds() - between < TIMES * (between - start)
    assert browser.run("Number(document.documentElement.dataset.ready)") > 0
    found = search(browser, "links", "spine07 LEAF03")
    assert found and all("spine07" in " ".join(row) and "leaf03" in " ".join(row) for row in found)
    search(browser, "links", "")
    browser.run("document.querySelector('.nodes-table thead th:nth-child(2) button').click()")
    names = [row[1] for row in rows(browser, "nodes")]
    assert names[0].startswith("core00") and len(names) == 100
    browser.run("document.querySelector('.nodes-table thead th:nth-child(2) button').click()")
    assert rows(browser, "nodes")[0][1].startswith("spine71")
    assert browser.run("document.querySelector('.nodes-table thead th:nth-child(2)').getAttribute('aria-sort')") == "descending"
    browser.run("document.querySelector('.nodes-table .more button').click()")
    assert len(rows(browser, "nodes")) == 600


@pytest.mark.proves("report", debian12="real")
def test_hosts_are_folded_until_their_leaf_is_opened(show: t.Callable[..., Browser]) -> None:
    browser = show(thousand())
    count = "document.querySelectorAll('.node:not(.fold)').length"
    assert browser.run(count) == 56 + 72 + 81
    browser.run("document.querySelector('.fold').dispatchEvent(new MouseEvent('click', {bubbles: true}))")
    assert browser.run(count) == 56 + 72 + 81 + 18
    assert "leaf00" in browser.run("document.querySelector('.side h3').innerText")
    # A finding opens the leaf that contains its subject.
    browser.run("[...document.querySelectorAll('.findings-table button.show')].find((button) => button.innerText.startsWith('node0999')).click()")
    assert browser.run(count) == 56 + 72 + 81 + 18 + 10
    assert browser.run("document.querySelector('.node.chosen text').textContent") == "node0999"
    small = show(sixteen())
    assert small.run(count) == 22 and small.run("document.querySelectorAll('.fold').length") == 0


@pytest.mark.proves("report", debian12="real")
def test_a_link_shows_both_of_its_ends(show: t.Callable[..., Browser]) -> None:
    browser = show(sixteen())
    browser.run("[...document.querySelectorAll('.links-table button.show')].find((button) => button.innerText === 'leaf03 port 6').click()")
    said = browser.run("document.querySelector('.side').innerText")
    assert "leaf03 port 6" in said and "spine02 port 3" in said and "4X QDR" in said and "4X EDR" in said
    assert browser.run("document.querySelector('.link.chosen').getAttribute('d')")
    # Hovering over a link shows the same beside it.
    browser.run("new Promise((done) => setTimeout(done, 500))")
    at = browser.run(
        "(() => { const path = document.querySelector('.link.s3:not(.lost)'), length = path.getTotalLength();"
        " const point = path.getPointAtLength(length / 3).matrixTransform(path.getScreenCTM()); return [point.x, point.y]; })()"
    )
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=at[0], y=at[1])
    assert "leaf03 port 6" in browser.run("document.querySelector('.tip:not([hidden])').innerText")
    browser.call("Input.dispatchMouseEvent", type="mousePressed", x=at[0], y=at[1], button="left", clickCount=1)
    browser.call("Input.dispatchMouseEvent", type="mouseReleased", x=at[0], y=at[1], button="left", clickCount=1)
    assert browser.run("document.querySelector('.side h3').innerText") == "Link"


@pytest.mark.proves("report", debian12="real")
def test_the_keyboard_is_enough(show: t.Callable[..., Browser]) -> None:
    browser = show(sixteen())
    browser.run("document.querySelector('.map svg').focus()")
    names = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowDown"):
        browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        names.append(browser.run("document.querySelector('.side h3').innerText"))
    assert names[:2] == ["spine01", "spine02"] and names[2].startswith("leaf") and names[3].startswith("node")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert "findings" in browser.run("document.querySelector('.side h3').innerText")
    before = browser.run("document.querySelector('.map svg > g').getAttribute('transform')")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="+")
    browser.run("new Promise((done) => setTimeout(done, 500))")
    assert browser.run("document.querySelector('.map svg > g').getAttribute('transform')") != before


@pytest.mark.proves("report", debian12="real")
def test_each_finding_leads_to_its_explanation(show: t.Callable[..., Browser]) -> None:
    browser = show(sixteen())
    found = browser.run("[...document.querySelectorAll('.findings-table a')].map((link) => document.querySelector(link.getAttribute('href')).innerText)")
    assert len(found) == 7 and any("iblinkinfo" in words for words in found)
    assert [row[0] for row in rows(browser, "changes")] == ["link_lost", "node_lost", "node_lost"]
    assert len(rows(browser, "history")) == 12 and browser.run("document.querySelectorAll('.chart g').length") == 41


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 390, 768, 1440])
@pytest.mark.proves("report", debian12="real")
def test_nothing_is_wider_than_the_screen(show: t.Callable[..., Browser], width: int, dark: bool) -> None:
    browser = show(sixteen(), width=width, height=844, dark=dark, mobile=width < 600)
    assert browser.run("document.documentElement.scrollWidth") <= width
    light = browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(246, 247, 248)"
    assert light != dark


@pytest.mark.proves("report", debian12="real")
def test_hostile_names_stay_texts(show: t.Callable[..., Browser]) -> None:
    fabric = json.loads(json.dumps(report_fabrics.two_levels(16, 4, 2)).replace("node003 mlx5_0", "@"))
    before = json.loads(json.dumps(fabric).replace('"@"', json.dumps(HOSTILE)))
    browser = show(report_fabrics.report(report_fabrics.broken(before), before, hosts=(HOSTILE + "x",))._replace(name=HOSTILE))
    assert browser.run("document.querySelectorAll('img, b > b, script[src]').length") == 0
    assert browser.run("document.querySelector('h1').textContent") == "Fabric " + HOSTILE
    assert browser.run("document.title").startswith("Fabric </script>")
    (row,) = search(browser, "nodes", "onerror")
    assert row[1].startswith("</script><img")
    browser.run("document.querySelector('.nodes-table button.show').click()")
    assert browser.run("document.querySelector('.side h3').textContent") == HOSTILE
