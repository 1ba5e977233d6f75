# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _ibnetdiscover
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import End, Node
from hypothesis import given
from hypothesis import strategies as st

CORPUS = pathlib.Path(__file__).resolve().parents[4] / "corpus/ibnetdiscover"
TEXT = (CORPUS / "sim_no_sm_lid0.txt").read_text(encoding="utf-8")


def test_nodes_and_ends_of_links() -> None:
    found = _ibnetdiscover.parse_topology(TEXT)
    assert (len(found.nodes), len(found.ends), found.unread) == (6, 12, ())
    assert found.nodes[0] == Node("0x0000000000200000", "switch", "Switch1", 8, "0x0000000000200000", "0x0", "0x0", "0x0000000000200000")
    assert found.nodes[2] == Node("0x0000000000100006", "ca", "Hca3", 2, "0x0000000000100006", "0x0", "0x0")
    assert found.ends[0] == End("0x0000000000200000", 1, "0x0000000000200000", 0, 0, "0x0000000000100000", 1, "4X", "SDR")
    assert found.ends[-1] == End("0x0000000000100003", 1, "0x0000000000100004", 0, 0, "0x0000000000200001", 1, "4X", "SDR")


def test_a_node_without_links() -> None:
    found = _ibnetdiscover.parse_topology((CORPUS / "gb200_bad_example.txt").read_text(encoding="utf-8"))
    assert [(node.description, node.device_id) for node in found.nodes] == [("dgx-gb200-n01-c1 HCA-1", "0x1021")]
    assert (found.ends, found.unread) == ((), ())


@pytest.mark.parametrize("name", ['a" enhanced port 0 lid 7 lmc 0', "# x", '"', "[1]"])
def test_names_may_have_any_character(name: str) -> None:
    text = (
        'switchguid=0x2(3)\nSwitch\t36 "S-0000000000000002"\t\t# "%s" enhanced port 0 lid 5 lmc 1\n'
        '[17][ext 4]\t"S-0000000000000009"[2]\t\t# "%s" lid 6 1xHDR\n[18]\t"H-0000000000000004"[2](5) \t\t# "%s" lid 6 4xEDR s=1 w=2 v=3\n'
    ) % (name, name, name)
    found = _ibnetdiscover.parse_topology(text)
    assert found.nodes == (Node("0x0000000000000002", "switch", name, 36, port_guid="0x0000000000000003", lid=5, lmc=1),)
    assert found.ends == (End("0x0000000000000002", 18, "0x0000000000000003", 5, 1, "0x0000000000000004", 2, "4X", "EDR"),)
    assert found.unread == ('[17][ext 4]\t"S-0000000000000009"[2]\t\t# "%s" lid 6 1xHDR' % name,)


@pytest.mark.parametrize("line", ["[1]", 'Ca\t1 "H-0000000000000004"\t\t# "no end', "src/query_smp.c:199; umad bad status 110; Connection timed out"])
def test_what_is_not_understood_is_kept(line: str) -> None:
    assert _ibnetdiscover.parse_topology(TEXT + "\n" + line + "\n") == _ibnetdiscover.parse_topology(TEXT)._replace(unread=(line,))


def test_a_link_without_a_speed_is_a_link() -> None:
    found = _ibnetdiscover.parse_topology((CORPUS / "spine_without_speed.txt").read_text(encoding="utf-8"))
    assert found.unread == ()
    assert [(end.peer_guid, end.peer_port, end.width, end.speed) for end in found.ends] == [
        ("0x08c0eb0300539a5c", 23, "4X", "HDR"),
        ("0x08c0eb0300539a9c", 23, "", ""),
    ]


SWITCH = (
    'switchguid=0x200(200)\nSwitch\t8 "S-0000000000000200"\t\t# "%s" enhanced port 0 lid 2 lmc 0\n[1]\t"H-0000000000000100"[1](100) \t\t# "%s" lid 1 4xEDR\n'
)
ADAPTER = 'caguid=0x100\nCa\t1 "H-0000000000000100"\t\t# "%s"\n[1](100) \t"S-0000000000000200"[1]\t\t# lid 1 lmc 0 "%s" lid 2 4xEDR\n'
WORDS = ['"', "lid 9 ", "lmc 7", "[1]", '"S-0000000000000666"[6]', " enhanced port 0 ", "4xSDR", "# ", "(666)", "x", "{{ x }}", "\u202e"]


@given(*2 * [st.lists(st.sampled_from(WORDS), max_size=7).map("".join).map(str.strip)])
def test_no_description_forges_a_line(switch: str, adapter: str) -> None:
    found = _ibnetdiscover.parse_topology("%s\n%s" % (SWITCH % (switch, adapter), ADAPTER % (adapter, switch)))
    assert [(node.description, node.lid) for node in found.nodes] == [(switch, 2), (adapter, 0)] and found.unread == ()
    assert [(end.node_guid[-3:], end.port, end.lid, end.lmc, end.peer_guid[-3:], end.peer_port, end.speed) for end in found.ends] == [
        ("200", 1, 2, 0, "100", 1, "EDR"),
        ("100", 1, 1, 0, "200", 1, "EDR"),
    ]
