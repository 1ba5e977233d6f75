# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Members of multicast groups and P_Key tables in the output format of saquery.c."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import UnexpectedOutput
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _saquery
from ansible_collections.rdma.ofed.plugins.module_utils._tools._saquery import McMember, PkeyBlock

CORPUS = pathlib.Path(__file__).resolve().parents[5] / "tests/corpus/saquery"
GROUP = """MCMember Record dump:
\t\tMGID....................ff12:401b:ffff::ffff:ffff
\t\tPortGid.................%s
\t\tqkey....................0xb1b
\t\tmlid....................0xc000
\t\tmtu.....................0x84
\t\tTClass..................0x0
\t\tpkey....................0xffff
\t\trate....................0x83
\t\tpkt_life................0x92
\t\tSL......................0x2
\t\tFlowLabel...............0x0
\t\tHopLimit................0x0
\t\tScope...................0x2
\t\tJoinState...............%s
\t\tProxyJoin...............0x0
"""
TABLE = """PKeyTableRecord dump:
\t\tLID........................%d
\t\t%s.......................%d
\t\tBlock......................0
\t\tPKey Table:
\t\t0x7fff 0x8001 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000
\t\t0x0000 0x0000 0x0000 0x0000 0x0000 0x0000 0x0000 0x8002

"""


def test_groups_and_members() -> None:
    group = McMember("ff12:401b:ffff::ffff:ffff", "0xc000", "0xffff", 4, 3, "0x00000b1b", 2, "", "")
    assert _saquery.parse_members(GROUP % ("::", "0x1")) == (group,)
    found = _saquery.parse_members(GROUP % ("fe80::2:c903:0:1011", "0x1") + GROUP % ("fe80::10:1", "0x4") + GROUP % ("fe80::10:2", "0x2"))
    assert found == (
        group._replace(port_guid="0x0002c90300001011", membership="full"),
        group._replace(port_guid="0x0000000000100001", membership="send_only"),
        group._replace(port_guid="0x0000000000100002", membership="non_member"),
    )
    assert _saquery.parse_members("") == ()


def test_tables_of_pkeys() -> None:
    keys = (0x7FFF, 0x8001, 0x8002)
    assert _saquery.parse_pkeys(TABLE % (1, "Port", 1) + TABLE % (2, "PortNum", 0)) == (PkeyBlock(1, 1, keys), PkeyBlock(2, 0, keys))


@pytest.mark.parametrize("text", ["x", GROUP % ("fe80::x", "0x1"), GROUP % ("::", "what"), "MCMember Record dump:\n"])
def test_a_member_that_is_none(text: str) -> None:
    with pytest.raises(UnexpectedOutput, match="MCMR"):
        _saquery.parse_members(text)


@pytest.mark.parametrize("text", ["x", "PKeyTableRecord dump:\n", TABLE.replace("PKey Table:", "") % (1, "Port", 1)])
def test_a_table_that_is_none(text: str) -> None:
    with pytest.raises(UnexpectedOutput, match="PKTR"):
        _saquery.parse_pkeys(text)


def test_ports_by_lid() -> None:
    record = (CORPUS / "sim_node_record_first.txt").read_text(encoding="utf-8")
    assert _saquery.parse_port_lids(record) == {(1, 1): "0x0000000000100001"}
    switch = record.replace("Channel Adapter", "Switch").replace("lid.....................1", "lid.....................7")
    assert _saquery.parse_port_lids(record + switch) == {(1, 1): "0x0000000000100001", (7, 0): "0x0000000000100001"}
    assert _saquery.parse_port_lids("x") == _saquery.parse_port_lids("") == {}
