# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds links between the pages of a folder of HTML that lead nowhere, and what the pages would load from the network."""

from __future__ import annotations

import html.parser
import pathlib
import typing as t
import urllib.parse

LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(html.parser.HTMLParser):
    """The anchors of a page, and where it leads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {value for name, value in values.items() if name == "id" or (tag, name) == ("a", "name")}
        self.loads |= {value for name, value in values.items() if (tag, name) in LOADED}
        if tag == "link" and "stylesheet" in values.get("rel", ""):
            self.loads.add(values["href"])
        if tag == "a" and "href" in values:
            self.links.add(values["href"])


def _is_elsewhere(link: str) -> bool:
    return bool(urllib.parse.urlsplit(link).scheme or link.startswith("//"))


def wrong(folder: pathlib.Path) -> list[str]:
    """Return what is wrong, as "PAGE: LINK"."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    return ["%s: %s" % (path.relative_to(folder), link) for path, page in pages.items() for link in _wrong(path, page, pages)]


def _wrong(path: pathlib.Path, page: Page, pages: t.Mapping[pathlib.Path, Page]) -> t.Iterator[str]:
    yield from sorted(link for link in page.loads if _is_elsewhere(link) and not link.startswith("data:"))
    for link in sorted(page.links | page.loads):
        if _is_elsewhere(link):
            continue
        parts = urllib.parse.urlsplit(link)
        place = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
        anchor = urllib.parse.unquote(parts.fragment)
        if not place.is_file() or (anchor and place in pages and anchor not in pages[place].anchors):
            yield link
