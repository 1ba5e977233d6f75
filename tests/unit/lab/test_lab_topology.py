# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from labctl import _generate, _topology
from labctl._say import LabError

LAB = pathlib.Path(__file__).resolve().parents[2] / "lab"

CORPUS_STYLE = """\
#
# Topology file: generated on Sat Nov 21 02:30:14 2026
#
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x200000
switchguid=0x200000(200000)
Switch\t8 "S-0000000000200000"\t\t# "sw;leaf" enhanced port 0 lid 2 lmc 0
[1]\t"H-0000000000100000"[1](100001) \t\t# "alpha HCA-1" lid 4 4xHDR
[2]\t"H-0000000000100010"[1](100011) \t\t# "alpha HCA-2" lid 5 4xHDR

vendid=0x2c9
devid=0x101b
caguid=0x100000
Ca\t1 "H-0000000000100000"\t\t# "alpha HCA-1"
[1](100001) \t"S-0000000000200000"[1]\t\t# lid 4 lmc 0 "sw;leaf" lid 2 4xHDR

caguid=0x100010
Ca\t1 "H-0000000000100010"\t\t# "alpha HCA-2"
[1](100011) \t"S-0000000000200000"[2]\t\t# lid 5 lmc 0 "sw;leaf" lid 2 4xHDR
"""


def test_two_adapters_of_one_host() -> None:
    topology = _topology.parse(CORPUS_STYLE)
    assert [node.name for node in topology.nodes] == ["alpha"]
    first, second = topology.nodes[0].hcas
    assert (first.guid, first.device_id, first.port_guid(1), first.description) == (0x100000, 0x101B, 0x100001, "alpha HCA-1")
    assert second.device_id == 0
    assert first.links == (_topology.Link(1, "S-0000000000200000", 1, "4xHDR"),)
    assert topology.switches[0].description == "sw;leaf"


@pytest.mark.parametrize("path", sorted((LAB / "topologies").glob("[0-9]*.topo")), ids=lambda path: path.stem)
def test_what_is_shipped(path: pathlib.Path) -> None:
    text = path.read_text()
    hosts = int(path.stem.partition("-")[0])
    assert text == _generate.generate(hosts)
    nodes = _topology.parse(text).nodes
    assert [node.name for node in nodes] == ["node%d" % (n + 1) for n in range(hosts)]
    assert [node.network for node in nodes[:3]] == ["networkd", "networkd", "ifupdown"][:hosts]


def test_nodes_of_two_suites() -> None:
    nodes = _topology.parse((LAB / "topologies" / "two-suites.topo").read_text()).nodes
    assert [(node.name, node.suite, node.network) for node in nodes] == [
        ("node1", "bookworm", "networkd"),
        ("node2", "trixie", "networkd"),
        ("node3", "trixie", "ifupdown"),
    ]


def test_attributes_of_a_host_can_stand_on_two_lines() -> None:
    text = "# lab alpha suite=trixie\n# lab alpha network=ifupdown\n" + CORPUS_STYLE
    assert [(node.suite, node.network) for node in _topology.parse(text).nodes] == [("trixie", "ifupdown")]
    assert [(node.suite, node.network) for node in _topology.parse(CORPUS_STYLE).nodes] == [("", "networkd")]


@pytest.mark.parametrize("hosts", [1, 8, 9, 17, 100, 300])
def test_generated_fabrics_are_sound(hosts: int) -> None:
    topology = _topology.parse(_generate.generate(hosts))
    assert len(topology.nodes) == hosts
    assert len({hca.guid for node in topology.nodes for hca in node.hcas}) == hosts


def test_hosts_that_are_ports_on_the_fabric_only() -> None:
    topology = _topology.parse(_generate.generate(2000, 3))
    assert [(node.name, node.network) for node in topology.nodes] == [("node1", "networkd"), ("node2", "networkd"), ("node3", "ifupdown")]
    assert sum(1 for device in topology.devices if device.kind == "Ca") == 2000
    assert max(switch.ports for switch in topology.switches) <= 254
    with pytest.raises(LabError, match="# lab node4' names a host that is not in the file"):
        _topology.parse("# lab node4 container=no\n" + _generate.generate(3))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("caguid=0x100010", "", "line 19: H-0000000000100010 has no caguid= line"),
        ("caguid=0x100010", "caguid=0x100001", "GUID 0x0000000000100001 belongs to"),
        ('"S-0000000000200000"[2]', '"S-0000000000300000"[2]', "is linked to S-0000000000300000, which is not in the file"),
        ('"S-0000000000200000"[2]', '"S-0000000000200000"[1]', "which is linked to H-0000000000100000[1]"),
        ("# Topology", "# lab alpha network=wicked\n# Topology", "the lab knows network=networkd|ifupdown"),
        (
            "# Topology",
            "# lab alpha suite=sid\n# Topology",
            "the lab knows network=networkd|ifupdown|networkmanager|netplan|netplan-nm|ifcfg suite=bookworm|trixie|bullseye",
        ),
        ("# Topology", "# lab alpha suite\n# Topology", "'# lab alpha suite=': the lab knows"),
        ("# Topology", "# lab alpha network=ifupdown=x\n# Topology", "'# lab alpha network=ifupdown=x': the lab knows"),
        ("# Topology", "# lab alpha suite=trixie suite=bookworm\n# Topology", "line 2: suite of alpha is bookworm here and trixie before"),
        ("# Topology", "# lab beta network=ifupdown\n# Topology", "names a host that is not in the file"),
        ("[1](100001)", "[7](100001)", "has 1 ports and a link on port 7"),
    ],
)
def test_what_is_wrong_is_named(old: str, new: str, words: str) -> None:
    with pytest.raises(LabError) as caught:
        _topology.parse(CORPUS_STYLE.replace(old, new), "some.topo")
    assert words in str(caught.value)
    assert str(caught.value).startswith("some.topo is not usable")


def test_a_file_without_hosts() -> None:
    with pytest.raises(LabError, match="no host"):
        _topology.parse("# nothing\n")


def test_nameless_adapters_get_names_from_their_guid() -> None:
    text = CORPUS_STYLE.replace('"alpha HCA-1"', '"MT4123 ConnectX6 Mellanox Technologies"')
    assert [node.name for node in _topology.parse(text).nodes] == ["host-100000", "alpha"]
