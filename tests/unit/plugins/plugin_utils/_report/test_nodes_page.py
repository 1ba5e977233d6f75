# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of `verify`: its content and order, and that no text from a node escapes its place."""

from __future__ import annotations

import html.parser
import re
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.report_nodes import FLEET, deviation, hostile, outcome, page

HOSTILE = "</td></table><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"'&amp;\u2028\x00\ud800]]>"
Tags = t.List[t.Tuple[str, t.Tuple[t.Tuple[str, t.Optional[str]], ...]]]


class Elements(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Tags = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: t.List[t.Tuple[str, t.Optional[str]]]) -> None:
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


def at(text: str, *words: str) -> list[int]:
    return [text.index(word) for word in words]


def test_what_is_wrong_comes_first_and_each_finding_once() -> None:
    text = Elements(page(FLEET)).text
    assert text.count("look at the cable") == 3
    assert "2 hosts: node[2-3]" in text
    places = at(text, "\nFindings\n3 of 6 hosts", "\nWarnings\n1 of 6 hosts", "\nAccepted\n1 of 6 hosts", "\nNodes\nthose with f", "\nExplanations\nas in")
    assert places == sorted(places)
    assert "accepted until 2026-12-31: cable is ordered" in text
    assert "unreachable: no route to host" in text
    nodes = text[places[3] : places[4]]
    assert at(nodes, "node2", "node3", "node5") < at(nodes, "node4", "node1", "node6")
    assert nodes.index("node5") < nodes.index("node1")


def test_a_fault_of_a_fabric_is_above_the_deviations() -> None:
    silent = deviation("no_master", kind="subnet_manager", subject="ib", object="subnet manager of fabric ib")
    results = {host: outcome(silent, designated_host="node1", master_guid="") for host in ("node1", "node2")}
    text = Elements(page({**results, "node3": outcome(deviation(), fabric="ib1")})).text
    places = at(text, "Faults of a whole fabric\n", "2 hosts: node[1-2]", "\nFindings\n1 of 3 hosts")
    assert places == sorted(places)


def test_nothing_is_wrong() -> None:
    text = Elements(page({"node1": outcome()})).text
    assert "Nothing is wrong." in text
    assert "\nFindings\n" not in text


def test_nothing_is_loaded_and_no_script_runs() -> None:
    found = Elements(page(FLEET))
    assert "script" not in {tag for tag, _attributes in found.tags}
    values = [(name, value or "") for _tag, attributes in found.tags for name, value in attributes]
    assert {name for name, _value in values} <= {
        "aria-label", "aria-labelledby", "charset", "class", "content", "data-label", "href", "http-equiv", "id", "lang", "name", "scope",
    }  # fmt: skip
    ids = {value for name, value in values if name == "id"}
    assert all(value[0] == "#" and value[1:] in ids for name, value in values if name == "href")
    policy = next(value for name, value in values if name == "content" and value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "script-src 'none'" in policy


@pytest.mark.parametrize("text", [HOSTILE, "-->", "<!--<script>", "%(style)s", '" onclick=alert(1) x="', "javascript:alert(1)"])
def test_no_name_breaks_out(text: str) -> None:
    found, plain = Elements(page(hostile(text))), Elements(page(hostile("plain")))
    assert found.tags == plain.tags
    assert re.sub("[\x00\ud800]", "\ufffd", text).strip() in found.text


@given(st.text(st.characters(), min_size=1).filter(lambda text: text.strip() == text))
def test_no_text_breaks_out(text: str) -> None:
    assert Elements(page(hostile(text))).tags == Elements(page(hostile("plain"))).tags
    page(hostile(text)).encode("utf-8")


def test_notices_are_a_section_and_nothing_wrong() -> None:
    notice = deviation("numa_balancing", severity="notice", object="setting kernel.numa_balancing", kind="setting")
    text = page({"node1": outcome(notice), "node2": outcome()})
    assert 'id="notices"' in text and 'id="code-numa_balancing"' in text and "Nothing is wrong." in text
