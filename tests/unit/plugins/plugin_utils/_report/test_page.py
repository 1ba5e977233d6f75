# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The HTML page of a fabric: its structure and content, and that no text from a fabric escapes its data."""

from __future__ import annotations

import base64
import copy
import hashlib
import html.parser
import json
import pathlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.plugin_utils._report import _page
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._content import KEPT, Run, content_of, extended, parse_history
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._document import explanations, explanations_of, style
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._page import assets, embedded, page
from hypothesis import given
from hypothesis import strategies as st
from support import report_fabrics

FOLDER = pathlib.Path(_page.__file__).parent
HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>\"'&amp;\u2028\u2029\x00\ud800]]>"


class Elements(html.parser.HTMLParser):
    """What a browser would treat as elements, and the text in each."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: t.List[t.Tuple[str, t.Dict[str, t.Optional[str]]]] = []
        self.texts: t.List[str] = []
        self._open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: t.List[t.Tuple[str, t.Optional[str]]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts[-1] += data

    def data(self) -> t.Any:
        return json.loads(next(text for (_tag, attributes), text in zip(self.tags, self.texts) if attributes.get("id") == "data"))


TAGS = ["html", "head", "meta", "meta", "meta", "meta", "title", "style", "body", "noscript", "script", "script", "script"]


def test_one_file_with_all_in_it() -> None:
    now = report_fabrics.two_levels(16, 4, 2)
    made = page(report_fabrics.report(report_fabrics.broken(now), now))
    found = Elements(made)
    assert [tag for tag, _attributes in found.tags] == TAGS
    content = found.data()
    assert content == content_of(report_fabrics.report(report_fabrics.broken(now), now))
    # The same data give the same page.
    assert made == page(report_fabrics.report(report_fabrics.broken(now), now))


def test_nothing_is_loaded() -> None:
    made = page(report_fabrics.report(report_fabrics.lab()))
    found = Elements(made)
    assert not [attributes for _tag, attributes in found.tags if {"src", "href", "srcset", "data"}.intersection(attributes)]
    policy = next(attributes["content"] for _tag, attributes in found.tags if attributes.get("http-equiv") == "Content-Security-Policy")
    assert policy and policy.startswith("default-src 'none';") and "require-trusted-types-for 'script'" in policy
    hashes = ["sha256-%s" % base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in found.texts]
    # Only the style and the two scripts, with the content of their files.
    assert re.findall(r"'(sha256-[^']+)'", policy) == [
        each for each, (tag, attributes) in zip(hashes, found.tags) if tag == "style" or (tag == "script" and not attributes)
    ]
    own = style() + assets().script
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|WebSocket|import\(|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", own)


@pytest.mark.parametrize("text", [HOSTILE, "-->", "<!--<script>", "\\", "%(data)s", "%s"])
def test_no_name_breaks_out(text: str) -> None:
    fabric = json.loads(json.dumps(report_fabrics.two_levels(16, 4, 2)).replace("node003 mlx5_0", "@").replace("leaf02", "@2"))
    now = json.loads(json.dumps(fabric).replace('"@"', json.dumps(text)).replace('"@2"', json.dumps(text + "2")))
    report = report_fabrics.report(report_fabrics.broken(now), now)._replace(name=text)
    made = page(report)
    found = Elements(made)
    assert [tag for tag, _attributes in found.tags] == TAGS
    content = found.data()
    assert text in {node["name"] for node in content["nodes"]} and content["fabric"] == text


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5))
def test_what_is_embedded_stays_what_it_was(value: t.Any) -> None:
    text = embedded(value)
    assert text.isascii() and not {"<", ">", "&"}.intersection(text) and json.loads(text) == value


def test_the_size_grows_with_the_number_of_hosts() -> None:
    fixed = len(page(report_fabrics.report(report_fabrics.lab())))
    small, large = (len(page(report_fabrics.report(report_fabrics.two_levels(hosts)))) - fixed for hosts in (180, 720))
    assert large < 4.2 * small
    assert len(page(report_fabrics.report(report_fabrics.three_levels(1000)))) < 1000000


def by_name(content: t.Any) -> t.Dict[str, t.Any]:
    return {node["name"].split(" ")[0]: node for node in content["nodes"]}


def test_findings_colour_what_they_are_about() -> None:
    now = report_fabrics.two_levels(16, 4, 2)
    content = content_of(report_fabrics.report(report_fabrics.broken(now), now, hosts=("storage1",)))
    names = [node["name"].split(" ")[0] for node in content["nodes"]]

    def about(code: str) -> t.List[t.Any]:
        each = next(each for each in content["findings"] if each["code"] == code)
        return [
            *(names[number] for number in each["nodes"]),
            *(sorted(names[node] for node, _port in content["links"][number]["ends"]) for number in each["links"]),
        ]

    assert about("link_degraded") == [["leaf03", "spine02"]]
    assert about("link_lost") == [["leaf01", "spine01"]]
    assert about("firmware_differs") == ["leaf02"]
    assert about("duplicate_name") == ["node007", "node007"]
    assert about("node_lost") == ["node010", ["leaf03", "node010"]]
    assert about("host_absent") == []
    nodes = by_name(content)
    assert (nodes["leaf02"]["state"], nodes["node010"]["state"], nodes["spine01"]["state"]) == (2, 3, 0)
    assert (nodes["node010"]["lost"], nodes["node010"]["rank"]) == (True, 0)
    assert sorted(link["state"] for link in content["links"] if link["state"]) == [3, 3, 3, 3]
    assert [each["code"] for each in content["findings"] if each["change"]] == ["link_lost", "node_lost", "node_lost"]
    assert content["before"] == {"switches": 6, "cas": 16, "links": 24}
    assert all(content["codes"].values()) and set(content["codes"]) == {each["code"] for each in content["findings"]}


def test_a_switch_that_is_gone_is_where_it_was() -> None:
    before = report_fabrics.three_levels(60, half=4)

    def without(name: str) -> t.Dict[str, t.Any]:
        now = copy.deepcopy(before)
        guid = next(node["guid"] for node in now["nodes"] if node["name"] == name)
        now["nodes"] = [node for node in now["nodes"] if node["guid"] != guid]
        now["links"] = [link for link in now["links"] if all(end["node_guid"] != guid for end in link["ends"])]
        return now

    for name, rank in (("spine02", 2), ("core01", 3)):
        nodes = by_name(content_of(report_fabrics.report(without(name), before)))
        assert (nodes[name]["lost"], nodes[name]["rank"]) == (True, rank)
    # Its hosts follow it.
    lost = content_of(report_fabrics.report(without("leaf03"), before))
    assert by_name(lost)["leaf03"]["rank"] == 1


def test_nodes_are_in_ranks_and_beside_their_neighbours() -> None:
    content = content_of(report_fabrics.report(report_fabrics.three_levels(72, half=4)))
    rows: t.Dict[int, t.List[str]] = {}
    for node in content["nodes"]:
        rows.setdefault(node["rank"], []).append(node["name"].split(" ")[0])
    assert rows[1] == ["leaf%02d" % number for number in range(18)] and rows[2] == ["spine%02d" % number for number in range(20)]
    assert rows[3] == ["core%02d" % number for number in range(4)] and rows[0] == ["node%04d" % number for number in range(72)]


def test_a_host_on_a_spine_makes_it_no_leaf() -> None:
    fabric = report_fabrics.two_levels(16, 4, 2)
    extra = report_fabrics.data({"spine01": "switch", "ufm": "ca", "sharp": "ca"}, [(("spine01", 30), ("ufm", 1)), (("spine01", 31), ("sharp", 1))])
    extra["nodes"][2]["description"] = "Mellanox Technologies Aggregation Node"
    fabric["nodes"] += extra["nodes"][1:]
    fabric["links"] += extra["links"]
    nodes = by_name(content_of(report_fabrics.report(fabric)))
    assert (nodes["spine01"]["rank"], nodes["leaf01"]["rank"], nodes["ufm"]["rank"]) == (2, 1, 0)
    # A leaf with few hosts is still a leaf, and so is a switch in a fabric without hosts.
    assert {node["rank"] for node in by_name(content_of(report_fabrics.report(report_fabrics.two_levels(13, 4, 2)))).values() if "leaf" in node["name"]} == {1}
    assert {node["rank"] for node in content_of(report_fabrics.report(report_fabrics.data({"a": "switch", "b": "switch"}, [])))["nodes"]} == {1}


def ranks_with_hosts(hosts: t.Mapping[str, int], cables: t.Sequence[t.Tuple[str, str]]) -> t.Dict[str, int]:
    """Return the ranks of switches with these numbers of hosts."""
    behind = [(switch, "%s-host%d" % (switch, number)) for switch, many in hosts.items() for number in range(many)]
    names = {**dict.fromkeys(hosts, "switch"), **{host: "ca" for _switch, host in behind}}
    used: t.Dict[str, int] = dict.fromkeys(names, 0)

    def plug(name: str) -> t.Tuple[str, int]:
        used[name] += 1
        return name, used[name]

    fabric = report_fabrics.data(names, [(plug(one), plug(other)) for one, other in [*cables, *behind]])
    nodes = by_name(content_of(report_fabrics.report(fabric)))
    return {switch: nodes[switch]["rank"] for switch in hosts}


def test_leaves_are_known_by_the_usual_number_of_hosts() -> None:
    """The median decides: neither a spine with one host nor a switch with very many hosts affects it."""
    assert ranks_with_hosts({"leaf": 8, "spine": 1}, [("leaf", "spine")]) == {"leaf": 1, "spine": 2}
    cables = [("leaf1", "large"), ("leaf2", "large"), ("leaf3", "large")]
    assert ranks_with_hosts({"leaf1": 2, "leaf2": 2, "leaf3": 2, "large": 40}, cables) == {"leaf1": 1, "leaf2": 1, "leaf3": 1, "large": 1}
    # One of four is not more than a quarter.
    assert ranks_with_hosts({"leaf1": 4, "leaf2": 4, "spine": 1}, [("leaf1", "spine"), ("leaf2", "spine")]) == {"leaf1": 1, "leaf2": 1, "spine": 2}


def test_hosts_that_are_cabled_to_each_other_are_no_leaves() -> None:
    fabric = report_fabrics.data({"node1": "ca", "node2": "ca"}, [(("node1", 1), ("node2", 1))])
    assert {node["rank"] for node in content_of(report_fabrics.report(fabric))["nodes"]} == {0}


def test_the_history_is_bounded_and_of_reports_alone() -> None:
    run = Run("2026-03-02T06:00:00Z", 1, 2, 3, 4, 5, 6)
    kept = extended([run._replace(error=number) for number in range(KEPT)], run)
    assert len(kept) == KEPT and kept[0].error == 1 and kept[-1] == run
    assert parse_history(json.dumps({"history": [each._asdict() for each in kept]})) == kept
    rows = [run._asdict(), {**run._asdict(), "error": "1"}, {**run._asdict(), "error": True}, {"time": 1}, None, {}]
    assert parse_history(json.dumps({"history": rows})) == (run,)
    for text in ("", "{", "[]", "[" * 9000, '{"history": 1}', "\x00"):
        assert parse_history(text) == ()


@given(st.text())
def test_any_text_is_a_history(text: str) -> None:
    parse_history(text)


def test_each_code_is_explained_from_the_documentation() -> None:
    found = explanations_of(explanations())
    assert "iblinkinfo" in found["link_degraded"] and found["link_new"].startswith("A cable between known nodes")
    assert all(words and "\n" not in words and "#" not in words for words in found.values())


def test_the_libraries_are_those_that_are_pinned() -> None:
    root = pathlib.Path(__file__).resolve().parents[5]
    lock = root / "tests/tools/web/package-lock.json"
    if not lock.is_file():
        pytest.skip("only the repository has the pins")
    pins = {name[len("node_modules/") :]: pin for name, pin in json.loads(lock.read_text())["packages"].items() if name}
    code, licences = (FOLDER / "vendor.js").read_text(encoding="ascii"), (FOLDER / "vendor.txt").read_text(encoding="ascii")
    assert re.findall(r"^/\* (\S+) (\S+), ", code, re.MULTILINE) and dict(re.findall(r"^/\* (\S+) (\S+), ", code, re.MULTILINE)) == {
        name: pin["version"] for name, pin in pins.items()
    }
    for name, pin in pins.items():
        assert "%s %s\n%s\n" % (name, pin["version"], pin["integrity"]) in licences and pin["integrity"].startswith("sha512-") and "resolved" not in pin
    # As `make web` wrote it.
    assert hashlib.sha256(code.encode()).hexdigest() in licences


@pytest.mark.parametrize("name", ["page.css", "page.js", "vendor.js"])
def test_files_are_plain(name: str) -> None:
    data = (FOLDER / name).read_bytes()
    assert data.isascii() and b"\r" not in data and b"</script" not in data.lower() and b"<!--" not in data
