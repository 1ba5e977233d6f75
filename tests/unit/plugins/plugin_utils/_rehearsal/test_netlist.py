# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ibnetdiscover import parse_topology
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._netlist import netlist
from hypothesis import given, settings
from hypothesis import strategies as st
from support.recordings import CORPUS

LAB = CORPUS.parent / "lab/topologies"
TWO = """\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x10
switchguid=0x10(10)
Switch\t36 "S-0000000000000010"\t\t# "leaf" base port 0 lid 3 lmc 0
[1]\t"H-0000000000000020"[1](20)\t\t# "node1 mlx5_0" lid 1 4xEDR
[2]\t"H-0000000000000021"[1](21)\t\t# "node1 mlx5_1" lid 2 4xEDR

vendid=0x2c9
devid=0x1017
caguid=0x20
Ca\t1 "H-0000000000000020"\t\t# "node1 mlx5_0"
[1](20)\t"S-0000000000000010"[1]\t\t# lid 1 lmc 0 "leaf" lid 3 4xEDR

caguid=0x21
Ca\t1 "H-0000000000000021"\t\t# "node1 mlx5_1"
[1](21)\t"S-0000000000000010"[2]\t\t# lid 2 lmc 0 "leaf" lid 3 4xEDR
"""


def files() -> list[pathlib.Path]:
    return [*sorted(LAB.glob("*.topo")), *sorted((CORPUS / "ibnetdiscover").glob("*.txt"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.stem)
def test_what_is_written_is_what_was_read(path: pathlib.Path) -> None:
    text = path.read_text(encoding="utf-8")
    before = parse_topology(text)
    try:
        found = netlist(text, path.name)
    except RdmaError as exc:
        assert "ibnetdiscover" in exc.msg
        return
    after = parse_topology(found.text)
    assert not after.unread
    assert [(node.guid, node.kind, node.port_count) for node in after.nodes] == [(node.guid, node.kind, node.port_count) for node in before.nodes]
    ends = {(end.node_guid, end.port, end.peer_guid, end.peer_port) for end in before.ends}
    kept = {(end.node_guid, end.port, end.peer_guid, end.peer_port) for end in after.ends}
    assert kept <= ends
    # Cables that only one end reports are named.
    assert bool(ends - kept) == any("other end is not in the file" in words for words in found.left_out)
    assert {end.lid for end in after.ends} <= {end.lid for end in before.ends}


def test_the_fabric_of_a_real_cluster() -> None:
    found = netlist((CORPUS / "ibnetdiscover/ndr_two_level.txt").read_text(encoding="utf-8"), "file")
    assert (found.switches, found.adapters, len(found.ports), found.limits) == (40, 582, 582, ())
    assert found.left_out == ("2228 ends of cables with the speed NDR, which have HDR there",)
    ports = found.by_host()["a08-p1-dgx-04-c02"]
    assert [port.description for port in ports] == ["a08-p1-dgx-04-c02 mlx5_%d" % number for number in sorted(int(port.description[-1]) for port in ports)]


def test_each_port_has_the_guid_that_the_simulator_gives_it() -> None:
    found = netlist(TWO, "file")
    assert [(port.guid[-2:], port.simulated[-2:], port.place) for port in found.ports] == [
        ("20", "21", "H-0000000000000020"),
        ("21", "22", "H-0000000000000021"),
    ]
    # A second port of the first adapter would have the GUID of the other adapter's port.
    moved = netlist(TWO.replace("Ca\t1", "Ca\t2", 1), "file")
    assert len({port.simulated for port in moved.ports}) == 2
    assert moved.left_out == ("the GUIDs of 1 adapters, which would give two ports one GUID there",)


def test_nothing_of_the_file_reaches_the_simulator_unchecked() -> None:
    text = 'do unlink "S-0000000000000010"\ninclude "/etc/passwd"\n' + TWO.replace("leaf", 'le"af" # \\ \x1b')
    found = netlist(text, "file")
    lines = found.text.splitlines()
    assert not [line for line in lines if line.startswith(("do", "include"))]
    assert all(line.isascii() and line.count('"') in (0, 4) for line in lines if line and not line.startswith("["))
    assert any("lines that ibnetdiscover does not print" in words for words in found.left_out)


LINES = TWO.split("\n")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.integers(0, 60), st.sampled_from(["", "0", "9", "2", "[", '"', " ", "\n", "a", "-"])), max_size=6))
def test_a_damaged_file_is_read_or_refused(damages: list[tuple[int, int, str]]) -> None:
    lines = list(LINES)
    for line, column, text in damages:
        lines[line] = lines[line][:column] + text + lines[line][column + 1 :]
    try:
        found = netlist("\n".join(lines), "file")
    except RdmaError:
        return
    after = parse_topology(found.text)
    counts = {node.guid: node.port_count for node in after.nodes}
    ends = {(end.node_guid, end.port): (end.peer_guid, end.peer_port) for end in after.ends}
    # The simulator has each port once, and each cable with both ends.
    assert not after.unread and len(ends) == len(after.ends)
    assert all(0 < port <= counts[guid] and ends[peer] == (guid, port) and peer != (guid, port) for (guid, port), peer in ends.items())
    assert len({port.simulated for port in found.ports}) == len(found.ports)


def test_a_large_fabric_needs_room() -> None:
    adapters = ['caguid=0x%x\nCa\t1 "H-%016x"\t\t# "node"\n' % (guid, guid) for guid in range(4096, 4096 + 2 * 2100, 2)]
    assert netlist("\n".join([TWO, *adapters]), "file").limits == ("-N", "2103")


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "no node"), ("{}", "it begins with '{}'"), (TWO + "\n" + TWO, "a node twice"), (TWO.partition("\n\n")[0], "no adapter with a cable")],
)
def test_a_file_of_something_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(RdmaError) as caught:
        netlist(text, "file")
    assert said in caught.value.msg and "ibnetdiscover > FILE" in caught.value.msg
