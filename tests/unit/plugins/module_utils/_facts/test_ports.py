# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("100 Gb/sec (4X EDR)", (100, "4X", "EDR")),
        ("2.5 Gb/sec (1X SDR)", (2.5, "1X", "SDR")),
        ("10 Gb/sec (4X)", (10, "4X", "")),
        ("40 Gb/sec (4X FDR10)\n", (40, "4X", "FDR10")),
        ("800 Gb/sec (4X XDR)", (800, "4X", "XDR")),
        ("", (0, "", "")),
        ("unknown", (0, "", "")),
        ("100 Gb/sec", (0, "", "")),
    ],
)
def test_rate(text: str, rate: tuple[float, str, str]) -> None:
    assert _ports.parse_rate(text) == rate


def test_whole_rates_are_whole_numbers() -> None:
    assert repr(_ports.parse_rate("100 Gb/sec (4X EDR)")[0]) == "100"


@pytest.mark.parametrize(("text", "state"), [("4: ACTIVE\n", "ACTIVE"), ("5: LinkUp", "LinkUp"), ("4: ACTIVE_DEFER", "ACTIVE_DEFER"), ("", ""), ("what", "")])
def test_state(text: str, state: str) -> None:
    assert _ports.parse_numbered(text) == state


@pytest.mark.parametrize(
    ("gid", "guid"),
    [
        ("fe80:0000:0000:0000:0c42:a103:0000:0011", "0x0c42a10300000011"),
        ("FE80:0000:0000:0000:0C42:A103:0000:0011\n", "0x0c42a10300000011"),
        ("fe80:0000:0000:0000:0000:0000:0000:0000", ""),
        ("fe80::1", ""),
        ("", ""),
    ],
)
def test_gid(gid: str, guid: str) -> None:
    assert _ports.gid_guid(gid) == guid


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    _ports.parse_rate(text)
    _ports.parse_numbered(text)
    _ports.gid_guid(text)


def test_node_without_adapter(tmp_path: pathlib.Path) -> None:
    assert _ports.read_ports(str(tmp_path)) == ()


def test_connectx5(tmp_path: pathlib.Path) -> None:
    first, second = _ports.read_ports(nodes.write(tmp_path, nodes.connectx5()))
    assert first == Port(
        name="mlx5_0/1",
        device="mlx5_0",
        port=1,
        port_guid="0x0c42a10300000011",
        gid="fe80:0000:0000:0000:0c42:a103:0000:0011",
        link_layer="InfiniBand",
        state="ACTIVE",
        phys_state="LinkUp",
        rate="100 Gb/sec (4X EDR)",
        rate_gbps=100,
        width="4X",
        speed="EDR",
        lid=1,
        sm_lid=1,
        pkeys=("0xffff",),
        pci=nodes.CX5[0],
    )
    assert (second.name, second.lid) == ("mlx5_1/1", 2)


def test_p_keys_are_sorted_and_unused_slots_left_out(tmp_path: pathlib.Path) -> None:
    keys = {"pkeys/0": "0xffff", "pkeys/1": "0x8001", "pkeys/2": "0x0000", "pkeys/3": "0x8000", "pkeys/10": "0x7fff", "pkeys/4": "0x8001"}
    tree = {**nodes.rdma("mlx5_0", nodes.CX5[0], "0x1"), **nodes.port("mlx5_0/1", nodes.CX5[0], nodes.CX5_GUIDS[0], **keys)}
    assert _ports.read_ports(nodes.write(tmp_path, tree))[0].pkeys == ("0x7fff", "0x8001", "0xffff")


def test_ten_ports_are_in_the_order_of_their_numbers(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {}
    for number in range(1, 12):
        tree.update(nodes.port("mlx4_0/%d" % number, nodes.CX3, nodes.CX3_GUIDS[0]))
    tree["sys/class/infiniband/mlx4_0"] = nodes.Link("/%s/infiniband/mlx4_0" % nodes.pci_path(nodes.CX3))
    assert [port.port for port in _ports.read_ports(nodes.write(tmp_path, tree))] == list(range(1, 12))


def test_nothing_readable_is_empty_and_no_failure(tmp_path: pathlib.Path) -> None:
    (tmp_path / "sys/class/infiniband/mlx5_0/ports/1/state").mkdir(parents=True)
    assert _ports.read_ports(str(tmp_path)) == (Port("mlx5_0/1", "mlx5_0", 1, link_layer="InfiniBand"),)


def test_recorded_eight_hdr_adapters(tmp_path: pathlib.Path) -> None:
    text = (nodes.CORPUS / "ibstatus/a100_all_active_0.txt").read_text(encoding="utf-8")
    ports = _ports.read_ports(nodes.write(tmp_path, nodes.recorded_ports(text)))
    assert len(ports) == text.count("Infiniband device") > 7
    infiniband = [port for port in ports if port.infiniband]
    assert {port.state for port in infiniband} == {"ACTIVE"}
    assert {(port.rate_gbps, port.width, port.speed) for port in infiniband} == {(200, "4X", "HDR")}
    assert ports[0].port_guid == "0x00155dfffd3411eb"
    assert (ports[0].lid, ports[0].sm_lid) == (0x33BF, 1)


def test_recorded_connectx3_with_an_ethernet_port(tmp_path: pathlib.Path) -> None:
    text = (nodes.CORPUS / "ibstatus/cx3_teaker_eth_port_disabled.txt").read_text(encoding="utf-8")
    first, second = _ports.read_ports(nodes.write(tmp_path, nodes.recorded_ports(text)))
    assert (first.link_layer, first.state, first.lid, first.sm_lid) == ("InfiniBand", "ACTIVE", 10, 12)
    assert (second.link_layer, second.state, second.phys_state, second.lid) == ("Ethernet", "DOWN", "Disabled", 0)
    assert second.port_guid == "0xf65214fffe91ba12"


def test_the_tree_of_a_connectx3_is_the_recorded_one(tmp_path: pathlib.Path) -> None:
    text = (nodes.CORPUS / "ibstat/cx3_mt4099_dual_ib_active.txt").read_text(encoding="utf-8")
    recorded = [(line.split()[-1], int(lid)) for line, lid in zip(re.findall(r"Port GUID: .*", text), re.findall(r"Base lid: (\d+)", text))]
    assert [(port.port_guid, port.lid) for port in _ports.read_ports(nodes.write(tmp_path, nodes.connectx3()))] == recorded


def test_devices_come_in_the_order_in_which_the_kernel_counts_them(tmp_path: pathlib.Path) -> None:
    for number in range(12):
        ports = tmp_path / ("sys/class/infiniband/mlx5_%d/ports" % number)
        for port in ("1", "2", "10"):
            (ports / port / "gids").mkdir(parents=True)
    expected = [("mlx5_%d" % number, port) for number in range(12) for port in (1, 2, 10)]
    assert [(port.device, port.port) for port in _ports.read_ports(str(tmp_path))] == expected
    assert [hca.name for hca in _ports.read_hcas(str(tmp_path))] == ["mlx5_%d" % number for number in range(12)]
