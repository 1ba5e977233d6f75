# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._data import node_guids
from ansible_collections.rdma.ofed.plugins.module_utils._tools._node_names import BEGIN, END, broken_lines, parse, parse_line, problems, render, wanted
from hypothesis import given
from hypothesis import strategies as st
from support import hostile

ONE, TWO, SWITCH = "0x0002c90300001000", "0x0002c90300001010", "0x0002c90300f00010"
HOSTS = {"node1": {"mlx5_0": ONE}, "node2": {"mlx5_0": TWO}}
OURS = BEGIN + '%s "node1 mlx5_0"\n%s "node2 mlx5_0"\n' % (ONE, TWO) + END


@pytest.mark.parametrize(
    ("line", "pair"),
    [
        ("", None),
        ("  # a comment", None),
        ("leaf1 0x1", None),
        ("0x1x leaf", None),
        ('0x2c90300f00010 "leaf 1"', (SWITCH, "leaf 1")),
        ('\t0x0002C90300F00010\t"leaf 1" # in rack 3', (SWITCH, "leaf 1")),
        ("0x1 leaf # x", ("0x0000000000000001", "leaf ")),
        ("10 leaf", ("0x000000000000000a", "leaf")),
        ("010 leaf", ("0x0000000000000008", "leaf")),
        ("08 leaf", None),
        ("0x1", ("0x0000000000000001", "")),
        ("0x1#", ("0x0000000000000001", "")),
    ],
)
def test_a_line_as_the_tools_read_it(line: str, pair: tuple[str, str] | None) -> None:
    assert parse_line(line) == pair


def test_a_new_file() -> None:
    assert render("", HOSTS) == OURS
    assert parse(OURS) == {ONE: "node1 mlx5_0", TWO: "node2 mlx5_0"}
    assert render("", {}) == ""


def test_what_the_administrator_wrote_stays() -> None:
    foreign = '# switches\n0x0002c90300f00010 "leaf 1"\n\n%s "the old one"' % TWO
    text = render(foreign, HOSTS)
    assert text.startswith(foreign + "\n")
    # Even if both name a node.
    assert parse(text) == {SWITCH: "leaf 1", TWO: "the old one", ONE: "node1 mlx5_0"}
    assert render(text, HOSTS) == text
    after = text + '0x5 "spine"\n'
    assert parse(render(after, HOSTS)) == {**parse(text), "0x0000000000000005": "spine"}
    assert render(after, {}) == foreign + '\n0x5 "spine"\n'


def test_declared_names() -> None:
    text = render("", HOSTS, {"2c90300f00010": "leaf 1, rack 3", ONE: "login node"})
    assert parse(text) == {SWITCH: "leaf 1, rack 3", ONE: "login node", TWO: "node2 mlx5_0"}
    assert wanted({}, {"0x5": "a"}) == {"0x0000000000000005": "a"}


def test_hosts_of_which_nothing_is_known_keep_their_names() -> None:
    limited = {"node1": {"mlx5_0": ONE}, "node2": None}
    assert render(OURS, limited) == OURS
    # A host that has lost its HCA, and one that left the inventory, lose them.
    assert TWO not in render(OURS, {"node1": HOSTS["node1"], "node2": {}})
    assert TWO not in render(OURS, {"node1": HOSTS["node1"]})


def test_nothing_is_lost_with_the_end_of_our_lines() -> None:
    broken = OURS.replace(END, '0x5 "spine"\n')
    text = render(broken, HOSTS)
    assert parse(text) == parse(broken)
    assert text.count(BEGIN) == 0
    assert render(text, HOSTS) == text


def test_lines_that_would_cost_the_whole_file() -> None:
    assert broken_lines("# x\n\n0x1 a\n  leaf 0x2\n") == ["line 4: '  leaf 0x2'"]


def test_node_guids_of_a_host() -> None:
    facts: dict[str, t.Any] = {
        "hcas": [
            {"name": "mlx5_0", "node_guid": ONE},
            {"name": "mlx5_1", "node_guid": TWO},
            {"name": "mlx5_2", "node_guid": "0x5", "virtual": True},
            {"name": "mlx5_3", "node_guid": ""},
        ],
        "ports": [
            {"device": "mlx5_0", "link_layer": "InfiniBand"},
            {"device": "mlx5_1", "link_layer": "Ethernet"},
            {"device": "mlx5_2", "link_layer": "InfiniBand"},
            {"device": "mlx5_3", "link_layer": "InfiniBand"},
        ],
    }
    assert node_guids({}, facts) == {"mlx5_0": ONE}
    assert node_guids({"opensm_node_guids": {"hca0": "0xA"}}, facts) == {"hca0": "0x000000000000000a"}
    assert node_guids({}) is None


@pytest.mark.parametrize("devices", [("mlx5_0", "mlx5_1", "mlx4_0"), ("ibp3s0f0", "ibp131s0", "ibp65s0")], ids=["kernel", "persistent"])
def test_names_stay_when_udev_renames_devices(devices: tuple[str, ...]) -> None:
    cards = (("0000:03:00.0", "mlx5_core", ONE), ("0000:83:00.0", "mlx5_core", TWO), ("0000:41:00.0", "mlx4_core", SWITCH))
    facts: dict[str, t.Any] = {
        "hcas": [{"name": name, "pci": pci, "driver": driver, "node_guid": guid} for name, (pci, driver, guid) in zip(devices, cards)],
        "ports": [{"device": name, "link_layer": "InfiniBand"} for name in devices],
    }
    assert node_guids({}, facts) == {"mlx5_0": ONE, "mlx5_1": TWO, "mlx4_0": SWITCH}


def test_mistakes_are_named() -> None:
    assert problems({SWITCH: "leaf 1"}) == []
    assert problems(None) == []
    found = problems({5: "leaf", SWITCH: 'a "b"', "0x7": "x" * 240, "0x8": ""})
    assert [problem.variable for problem in found] == [
        "opensm_node_names.5",
        "opensm_node_names." + SWITCH,
        "opensm_node_names.0x7",
        "opensm_node_names.0x8",
    ]
    (problem,) = problems(["leaf"])
    assert problem.variable == "opensm_node_names"


Hosts = t.Dict[str, t.Optional[t.Dict[str, str]]]
lines = st.text(alphabet='0x12af "#\nleaf', max_size=60)
named = st.one_of(st.none(), st.dictionaries(st.just("mlx5_0"), st.sampled_from([ONE, TWO])))
known = st.dictionaries(st.sampled_from(["node1", "node two", "node3"]), named)


@given(lines, known, known)
def test_it_settles_at_once_and_never_touches_foreign_lines(foreign: str, first: Hosts, second: Hosts) -> None:
    once = render(foreign, first)
    assert render(once, first) == once
    assert once.startswith(foreign)
    moved = render(once, second)
    assert render(moved, second) == moved
    assert moved.startswith(foreign)


@given(st.recursive(st.one_of(st.none(), st.integers(), st.text()), lambda inner: st.dictionaries(st.one_of(st.text(), st.integers()), inner, max_size=3)))
def test_any_value_is_answered_with_problems_at_most(declared: t.Any) -> None:
    for problem in problems(declared):
        assert problem.variable.startswith("opensm_node_names")


@pytest.mark.parametrize("name", [*hostile.NAMES, "x" * 1000, "\xe4" * 300])
def test_the_name_of_an_hca_is_one_name(name: str) -> None:
    """opensm drops the whole file because of one line that it does not know."""
    text = render("", {"node1": {name: ONE}, "node2": {"mlx5_0": TWO}})
    assert broken_lines(text) == [] and set(parse(text)) == {ONE, TWO} and parse(text)[TWO] == "node2 mlx5_0"
    assert len(text.splitlines()) == text.count("\n") == 4
    assert all(line.isprintable() and len(line) < 255 for line in text.splitlines())
