# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No text from a host, an inventory or a fabric can add a line, key, name or member to an opensm file: such a text is refused by name.

The tests read the files as opensm's C code does: bytes, in lines of limited length, where the rest of a long line is a line of its own.
"""

from __future__ import annotations

import pathlib
import re
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import is_path
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import parse_template
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import render as render_conf
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._file import Absentee, recall
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import Inventory
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import render as render_partitions
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance, rotation_text
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _node_names as _nodenames
from hypothesis import example, given
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).parents[4] / "corpus/opensm_template"
TEMPLATE = (CORPUS / "debian_3_3_23.conf").read_text(encoding="utf-8")
TEXTS = sorted(key for key, option in parse_template(TEMPLATE).items() if option.kind == "text")
# Texts that end a line, a name, a value or a definition, and text with more bytes than letters.
PIECES = [
    "\n",
    "\r",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x85",
    "\u2028",
    "\0",
    "#",
    ";",
    ":",
    ",",
    "=",
    '"',
    "'",
    " ",
    "\t",
    "\\",
    "\u00e9" * 90,
    "\U0001f980" * 60,
    "a" * 300,
]
MEANT = ["0x1=full", "ALL=full", "sm_priority 15", "guid 0x1", '0x0002c90300001010 "x"', "Default=0x7fff", "node1", "mlx5_0", "(null)", "x" * 4070]
HOSTILE = st.lists(st.sampled_from(PIECES + MEANT) | st.text(st.characters(), max_size=4), max_size=8).map("".join)
LONG = "x" * 4075 + "0x1=full;\u00e9"


def lines(text: str, size: int) -> list[bytes]:
    """Return lines as `fgets` reads them with a buffer of that size."""
    found: list[bytes] = []
    for line in re.findall(rb"[^\n]*\n|[^\n]+\Z", text.encode("utf-8")):
        found += [line[at : at + size - 1] for at in range(0, len(line), size - 1)]
    return found


def conf(text: str) -> list[tuple[bytes, bytes]]:
    """Return the keys of opensm.conf with their values."""
    rows = (line.partition(b"#")[0].split(None, 1) for line in lines(text, 1024))
    return [(row[0], row[1].strip() if len(row) == 2 else b"") for row in rows if row]


def members(text: str) -> list[tuple[bytes, list[bytes]]]:
    """Return the definitions of partitions.conf, each with its members."""
    whole = b"".join(line.partition(b"#")[0] for line in lines(text, 4095))
    parts = [part.partition(b":") for part in whole.split(b";") if part.strip()]
    return [(head.strip(), [member.strip() for member in rest.split(b",")]) for head, _colon, rest in parts]


def names(text: str) -> list[tuple[bytes, bytes]] | None:
    """Return the names of ib-node-name-map, None if the tools drop the file."""
    found = []
    for line in lines(text, 256):
        bare = line.strip()
        if not bare or bare.startswith(b"#"):
            continue
        match = re.match(rb'(0x[0-9a-f]+|[0-9]+)\s*(?:"([^"#]*)")?', bare)
        if match is None:
            return None
        found.append((match[1], match[2] or b""))
    return found


@given(st.sampled_from(TEXTS), HOSTILE)
@example("event_plugin_options", "\u00e9" * 600 + " sm_priority 15")
@example("prefix_routes_file", "/etc/x\nsm_priority 15")
def test_a_value_of_opensm_conf_is_one_value(key: str, value: str) -> None:
    try:
        made = render_conf(TEMPLATE, {key: value})
    except InvalidInput as exc:
        assert key in str(exc.msg)
        return
    plain = conf(render_conf(TEMPLATE, {key: "/plain"}))
    found = conf(made)
    assert [row for row, _value in found] == [row for row, _value in plain]
    assert [row for row, other in zip(found, plain) if row != other and row[0] != key.encode()] == []


@given(HOSTILE, HOSTILE)
@example("console", "off\nsm_priority 15")
@example("console off\nsm_priority", "15")
@example("console", "off # and a remark")
def test_options_are_refused_before_a_template_is_known(key: str, value: str) -> None:
    """The validation of the site refuses them and names the variable. Without a template, the file has only the declared keys."""
    if problems({"opensm_options": {key: value}}):
        return
    assert len(conf(render_conf("", {key: value}))) == 1


@given(HOSTILE, HOSTILE)
@example(LONG, "0x1=full")
@example("\U0001f980" * 1100, "ALL=full ;\nnode1")
def test_a_host_adds_no_member(host: str, other: str) -> None:
    if not host or not other or host == other:
        return
    declared = [
        {"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]},
        {"name": "p1", "pkey": 1, "members": [{"host": host}, {"host": other, "membership": "limited"}]},
    ]

    def made(one: str, two: str) -> str:
        guids = {one: ("0x0002c90300001011", "0x0002c90300001012"), two: ("0x0002c90300001021",)}
        renamed = [declared[0], {**declared[1], "members": [{"host": one}, {"host": two, "membership": "limited"}]}]
        return render_partitions(renamed, Inventory({"all": [one, two]}, guids))

    text = made(host, other)
    assert members(text) == members(made("plain1", "plain2"))
    # A later run takes from the file only the ports of that host.
    found = recall(render_partitions([declared[0]], Inventory({})) + "\n# p1=0x0001 has no members.\n", text, [Absentee(1, host, "full")])
    assert found.missing == (host,) or members(found.text)[-1] == (b"p1=0x0001", [b"0x0002c90300001011=full", b"0x0002c90300001012=full"])


@given(HOSTILE)
@example("p1=0x0001,ipoib")
@example("p1\n")
def test_the_name_of_a_partition_is_a_name(name: str) -> None:
    entry = {"name": name, "pkey": 1, "members": [{"keyword": "ALL"}]}
    default = {"name": "Default", "pkey": 0x7FFF, "members": [{"keyword": "ALL"}]}
    found = problems({"opensm_partitions": [default, entry]})
    if found:
        assert "opensm_partitions" in str(found[0])
        return
    text = render_partitions([default, entry], Inventory({}))
    assert [head for head, _members in members(text)] == [b"Default=0x7fff", b"%s=0x0001" % name.encode()]


@given(HOSTILE, HOSTILE)
@example("\u00e9" * 230, "mlx5_0")
@example('x"\n0x1 "y', "#")
def test_a_host_or_an_hca_is_one_name(host: str, hca: str) -> None:
    text = _nodenames.render("", {host: {hca: "0x0002c90300001010"}, "plain": {"mlx5_0": "0x0002c90300001020"}})
    found = names(text)
    assert found is not None
    assert sorted(guid for guid, _name in found) == [b"0x0002c90300001010", b"0x0002c90300001020"]


@given(HOSTILE)
@example("\u00e9" * 200)
@example("\U0001f980" * 232)
def test_a_declared_name_is_one_name(name: str) -> None:
    declared = {"0x0002c90300001010": name}
    found = _nodenames.problems(declared)
    if found:
        assert "opensm_node_names.0x0002c90300001010" in str(found[0])
        return
    assert names(_nodenames.render("", {}, declared)) == [(b"0x0002c90300001010", name.encode())]


@given(HOSTILE)
@example("0x0002c90300001010\n0x1")
@example("0x0002c90300001010\n")
@example("0x0002c90300001010 # x")
@pytest.mark.parametrize(
    ("variable", "wrapped"),
    [
        ("opensm_root_guids", lambda text: [text]),
        ("opensm_port_guid", lambda text: text),
        ("opensm_port_guids", lambda text: [text]),
        ("opensm_node_guids", lambda text: {"mlx5_0": text}),
    ],
)
def test_a_guid_is_hexadecimal_or_refused(variable: str, wrapped: t.Callable[[str], t.Any], text: str) -> None:
    if text and not problems({variable: wrapped(text), "opensm_routing_engine": "updn"}):
        assert re.fullmatch(r"(0[xX])?[0-9a-fA-F:]{1,23}", text)


@given(HOSTILE)
@example("/var/log/x {\n} /etc/shadow")
@example("/var/log/*")
def test_the_path_of_a_log_is_one_path(path: str) -> None:
    if path and problems({"opensm_log_file": path}):
        return
    if is_path(path):
        text = rotation_text([Instance("ib", "0x1", 1, log_file=path)])
        assert [line for line in text.splitlines() if line.endswith("{")] == [path + " {"]
        assert text.count("}") == 1


@given(st.sampled_from(["routing_engine", "log_flags", "log_max_size", "qos", "sm_key"]), HOSTILE)
@example("routing_engine", "updn\nsm_priority 15")
@example("sm_key", "0x1\nsm_priority 15")
def test_other_keys_are_refused_or_one_value(name: str, value: str) -> None:
    if not value or problems({"opensm_" + name: value}):
        return
    try:
        found = conf(render_conf(TEMPLATE, {name: value}))
    except InvalidInput as exc:
        assert name in str(exc.msg)
        return
    assert len(found) == len(conf(TEMPLATE))
