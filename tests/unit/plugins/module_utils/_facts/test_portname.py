# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ports by PCI address, GUID and device: the same port before and after udev has renamed the device."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import port_problems
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _portname as portname
from ansible_collections.rdma.ofed.plugins.module_utils._facts._portname import PortName
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._data import guids_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import problems as opensm_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import bind

GUIDS = ("0x0002c90300001021", "0x0002c90300001022", "0x0c42a10300000011")


def ports(first: str = "mlx5_0", second: str = "mlx5_1") -> list[dict[str, t.Any]]:
    """Return an adapter with two ports, and another adapter."""
    places = ((first, 1, "0000:03:00.0"), (first, 2, "0000:03:00.0"), (second, 1, "0000:41:00.1"))
    return [
        {"name": "%s/%d" % (device, number), "device": device, "port": number, "port_guid": guid, "link_layer": "InfiniBand", "pci": pci}
        for (device, number, pci), guid in zip(places, GUIDS)
    ]


KERNEL, PERSISTENT = ports(), ports("ibp3s0", "ibp65s0f1")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0x0002c90300001021", PortName(guid=GUIDS[0])),
        ("0x2C90300001021", PortName(guid=GUIDS[0])),
        ("0002:c903:0000:1021", PortName(guid=GUIDS[0])),
        ("0002c90300001021", PortName(guid=GUIDS[0])),
        ("0000:03:00.0/1", PortName(pci="0000:03:00.0", number=1)),
        ("C1:00.1/2", PortName(pci="0000:c1:00.1", number=2)),
        ("mlx5_0/1", PortName(device="mlx5_0", number=1)),
        ("ibp3s0/1", PortName(device="ibp3s0", number=1)),
    ],
)
def test_the_ways_to_name_a_port(text: str, name: PortName) -> None:
    assert portname.parse(text) == name
    assert portname.form_problems("rdma_ports[0]", text) == []


@pytest.mark.parametrize("value", ["", "mlx5_0", "0000:03:00.0", "0000:03:00.8/1", "0x0", "0000000000000000", "mlx5_0/0", "a b/1", "/1", 7, None, True, ["x"]])
def test_what_names_no_port(value: t.Any) -> None:
    assert portname.parse(value) is None
    assert [problem.allowed for problem in portname.form_problems("rdma_ports[0]", value)] == [portname.FORM]


def test_a_number_has_lost_its_quotes() -> None:
    assert "quote it" in str(portname.form_problems("rdma_ports[0]", 0x0002C90300001021)[0])


@pytest.mark.parametrize("there", [KERNEL, PERSISTENT], ids=["kernel", "persistent"])
@pytest.mark.parametrize("name", ["0000:03:00.0/2", "03:00.0/2", "0002:c903:0000:1022", GUIDS[1]])
def test_address_and_guid_outlive_a_renaming(there: list[dict[str, t.Any]], name: str) -> None:
    assert portname.find(name, there) is there[1]
    assert port_problems("rdma_ports", [name], {"ports": there}) == []
    variables = {"rdma_fabrics": {"ib": [name], "storage": ["0000:41:00.1/1"]}, "opensm_fabrics": {"storage": {"subnet_prefix": "0xfe80000000000001"}}}
    assert opensm_problems(variables, {"ports": there}, manages=True) == []
    assert opensm_problems({"opensm_port": name}, {"ports": there}, manages=True) == []
    assert [bound.port.port_guid for bound in bind([Instance("ib", "", 0, port=name)], [Port(**port) for port in there])] == [GUIDS[1]]
    assert guids_of("ib", "node1", {"node1": variables}, facts=lambda _host: {"ports": there}) == [GUIDS[1]]


@pytest.mark.parametrize(
    ("declared", "there", "words"),
    [
        ("mlx5_0/2", PERSISTENT, "ibp3s0/2 now: write 0000:03:00.0/2,"),
        ("mlx5_1/1", PERSISTENT, "ibp65s0f1/1 now: write 0000:41:00.1/1,"),
        ("ibp3s0/1", KERNEL, "mlx5_0/1 now: write 0000:03:00.0/1,"),
        ("ibp65s0f1/1", KERNEL, "mlx5_1/1 now: write 0000:41:00.1/1,"),
        ("ibx0c42a10300000011/1", KERNEL, "mlx5_1/1 now: write 0000:41:00.1/1,"),
    ],
)
def test_what_became_of_a_name_is_said(declared: str, there: list[dict[str, t.Any]], words: str) -> None:
    (problem,) = port_problems("rdma_ports", [declared], {"ports": there})
    assert words in problem.hint
    assert all(portname.describe(port) in problem.allowed for port in there)
    assert all(port["port_guid"] in problem.allowed and port["pci"] in problem.allowed for port in there)
    (problem,) = opensm_problems({"opensm_port": declared}, {"ports": there}, manages=True)
    assert words in problem.hint
    (problem,) = opensm_problems({"rdma_fabrics": {"ib": [declared]}}, {"ports": there})
    assert words in problem.hint


@pytest.mark.parametrize("declared", ["mlx5_2/1", "mlx5_0/3", "ibp4s0/1", "ibs1/1", "ibo1/1", "rxe0/1", "node/1", "0000:05:00.0/1"])
def test_nothing_is_guessed(declared: str) -> None:
    assert portname.renaming(declared, KERNEL) == ""
    assert portname.find(declared, KERNEL) is None


def test_a_port_on_two_fabrics_by_two_names() -> None:
    prefix = {"storage": {"subnet_prefix": "0xfe80000000000001"}}
    variables = {"rdma_fabrics": {"ib": ["0000:03:00.0/1"], "storage": ["mlx5_0/1"]}, "opensm_fabrics": prefix}
    (problem,) = opensm_problems(variables, {"ports": KERNEL})
    assert (problem.variable, problem.value) == ("rdma_fabrics.storage[0]", "mlx5_0/1")
    (problem,) = opensm_problems({**variables, "rdma_fabrics": {"ib": ["0000:03:00.0/1"], "storage": ["03:00.0/1"]}})
    assert (problem.variable, problem.value) == ("rdma_fabrics.storage[0]", "03:00.0/1")


def test_who_gave_a_name() -> None:
    names = ("ibp3s0", "roceP1p65s0f1v2", "ibs2", "ibo1", "mlx5_0", "hfi1_0", "bnxt_re0")
    assert [name for name in names if portname.is_persistent(name)] == ["ibp3s0", "roceP1p65s0f1v2", "ibs2", "ibo1"]
