# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _ibnetdiscover
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import End, Node

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
