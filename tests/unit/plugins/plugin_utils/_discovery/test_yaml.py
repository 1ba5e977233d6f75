# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from ansible.parsing.yaml.loader import AnsibleLoader
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reference
from ansible_collections.rdma.ofed.plugins.plugin_utils._discovery._yaml import entry, scalar
from hypothesis import given
from hypothesis import strategies as st
from support import hostile

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from([name for name in hostile.NAMES if name.isascii()])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


class Loader(yaml.SafeLoader):
    pass


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(node))


def read(lines: t.Iterable[str]) -> t.Any:
    return yaml.load("---\n" + "\n".join(lines) + "\n", Loader=Loader)


@given(VALUES)
def test_what_is_written_is_read(value: t.Any) -> None:
    assert read(entry("name", value, comment="x")) == {"name": value}


@pytest.mark.parametrize("text", [*hostile.NAMES, "yes", "null", "~", "1e3", "0x10", "1:30", "", " ", "- a", "a: b", "=", "<<"])
def test_text_stays_text(text: str) -> None:
    found = read(entry("name", [text, {text: text}], comment=text))["name"]
    assert json.dumps(found) == json.dumps([text, {text: text}]) or "\udcff" in text


@pytest.mark.parametrize("text", hostile.TEMPLATES)
def test_what_looks_like_a_template_is_marked(text: str) -> None:
    (line,) = entry("name", text)
    assert line.startswith("name: !unsafe ") or "{" not in text
    found = AnsibleLoader("\n".join(entry("name", [text]))).get_single_data()
    assert found == {"name": [text]}


def test_a_reference_is_a_template() -> None:
    assert scalar(Reference("found_ib0")) == '"{{ found_ib0 }}"'
    with pytest.raises(ValueError, match="no name of a variable"):
        scalar(Reference("x }} {{ lookup('pipe', 'id')"))


@pytest.mark.parametrize("text", hostile.NAMES)
def test_a_comment_is_one_line(text: str) -> None:
    assert read(entry("name", 1, comment="from %s" % text)) == {"name": 1}


def test_the_layout() -> None:
    value = [{"name": "ib%d" % number, "port": "0000:03:00.0/1", "addresses": ["10.0.0.%d/24" % number], "children": [{"pkey": "0x8001"}]} for number in (1, 2)]
    assert entry("ipoib_interfaces", value, comment="x") == [
        "# x",
        "ipoib_interfaces:",
        '  - {name: ib1, port: "0000:03:00.0/1", addresses: ["10.0.0.1/24"], children: [{pkey: "0x8001"}]}',
        '  - {name: ib2, port: "0000:03:00.0/1", addresses: ["10.0.0.2/24"], children: [{pkey: "0x8001"}]}',
    ]
    assert entry("x", [{"a": "b" * 60, "c": ["d" * 60]}]) == ["x:", "  - a: " + "b" * 60, "    c: [%s]" % ("d" * 60)]
