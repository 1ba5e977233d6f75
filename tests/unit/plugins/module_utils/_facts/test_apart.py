# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Devices that look like HCAs are recognised, and every default excludes them."""

from __future__ import annotations

import io
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import choose_port
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _apart, _ports
from ansible_collections.rdma.ofed.plugins.module_utils._facts._asked import asked_port
from ansible_collections.rdma.ofed.plugins.module_utils._facts._portname import find
from ansible_collections.rdma.ofed.plugins.module_utils._firmware import _devices
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._links import _look as _links
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._bench import endpoint
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._monitor import _health
from ansible_collections.rdma.ofed.plugins.module_utils._monitor._settings import HealthSettings
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._data import node_guids
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import port_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import port_guids
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import bind
from ansible_collections.rdma.ofed.plugins.module_utils._pairs import _node as pair
from ansible_collections.rdma.ofed.plugins.module_utils._record import as_data
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

# The board of a DGX B200, shortened: the functions that manage its NVSwitches come first on the bus.
SWITCHES = {"mlx5_%d" % index: "0000:05:00.%d" % index for index in range(2)}
ADAPTERS = {"mlx5_2": "0000:18:00.0", "mlx5_3": "0000:28:00.0"}
GUIDS = {name: "0xb0cf0e030000%04x" % (0x1000 + index) for index, name in enumerate((*SWITCHES, *ADAPTERS))}
OWN = [GUIDS[name] for name in ADAPTERS]


def vpd_of(text: bytes, part: str = "MCX75310AAS-NEAT") -> bytes:
    fields = b"PN" + bytes([len(part)]) + part.encode() + b"V3" + bytes([len(text)]) + text + b"RV\x01\x42"
    return b"\x90" + len(fields).to_bytes(2, "little") + fields + b"\x78"


def board(**verdicts: bytes) -> nodes.Tree:
    """Return the ports with the contents of their vital product data."""
    tree: nodes.Tree = {}
    for name, pci in {**SWITCHES, **ADAPTERS}.items():
        data = verdicts.get(name, b"NVD:MN=NVIDIA:SMDL=SW_MNG" if name in SWITCHES else b"MLX:MN=MLNX:MODL=CX75310")
        tree.update(nodes.rdma(name, pci, GUIDS[name], type="MT4129", vpd=vpd_of(data)))
        tree.update(nodes.port(name + "/1", pci, GUIDS[name]))
        tree.update({"sys/bus/pci/devices/%s" % pci: nodes.Link("/" + nodes.pci_path(pci))})
    return tree


def xdr(sub: str = "smi0", *, verbs: bool = True) -> nodes.Tree:
    """Return an adapter with two planes and its sub-device, which shares the function and the GUID of its parent."""
    pci, guid = "0000:18:00.0", "0x5c25730300002000"
    tree = {**nodes.rdma("zlx5_0", pci, guid), **nodes.port("zlx5_0/1", pci, guid, rate="800 Gb/sec (4X XDR)")}
    tree.update(nodes.rdma(sub, pci, guid))
    for number in (1, 2):
        tree.update(nodes.port("%s/%d" % (sub, number), pci, guid, rate="200 Gb/sec (1X XDR)"))
    if verbs:
        tree["sys/class/infiniband_verbs/uverbs0/ibdev"] = "zlx5_0\n"
    return tree


@pytest.fixture(name="root")
def board_of_switches(tmp_path: pathlib.Path) -> str:
    return nodes.write(tmp_path, board())


def facts_of(root: str) -> dict[str, t.Any]:
    return {"ports": as_data(_ports.read_ports(root)), "hcas": as_data(_ports.read_hcas(root))}


def test_the_management_functions_of_nvswitches_are_told_from_adapters(root: str) -> None:
    assert {port.name: port.apart for port in _ports.read_ports(root)} == {
        "mlx5_0/1": "nvswitch",
        "mlx5_1/1": "nvswitch",
        "mlx5_2/1": "",
        "mlx5_3/1": "",
    }
    assert [hca.apart for hca in _ports.read_hcas(root)] == ["nvswitch", "nvswitch", "", ""]
    assert all(hca.part_number == "MCX75310AAS-NEAT" for hca in _ports.read_hcas(root))


@pytest.mark.parametrize(
    ("tree", "apart"),
    [
        (xdr(), {"smi0": "smi", "zlx5_0": ""}),
        (xdr("smi-zlx5_0", verbs=False), {"smi-zlx5_0": "smi", "zlx5_0": ""}),
        (xdr("plane0"), {"plane0": "smi", "zlx5_0": ""}),
        # Without ib_uverbs, only its name identifies it.
        (xdr("plane0", verbs=False), {"plane0": "", "zlx5_0": ""}),
    ],
)
def test_a_sub_device_of_an_adapter_with_planes(tmp_path: pathlib.Path, tree: nodes.Tree, apart: dict[str, str]) -> None:
    assert {hca.name: hca.apart for hca in _ports.read_hcas(nodes.write(tmp_path, tree))} == apart


def test_an_adapter_that_was_named_like_a_sub_device_is_one(tmp_path: pathlib.Path) -> None:
    tree = {**nodes.rdma("smi0", nodes.CX5[0], "0x0c42a10300000010"), **nodes.port("smi0/1", nodes.CX5[0], nodes.CX5_GUIDS[0])}
    assert [port.apart for port in _ports.read_ports(nodes.write(tmp_path, tree))] == [""]


def test_of_ethernet_nothing_is_looked_for(tmp_path: pathlib.Path) -> None:
    data = vpd_of(b"SMDL=SW_MNG")
    tree = {**nodes.rdma("mlx5_0", nodes.CX5[0], "0x1", vpd=data), **nodes.port("mlx5_0/1", nodes.CX5[0], "0x1", "Ethernet")}
    assert [port.apart for port in _ports.read_ports(nodes.write(tmp_path, tree))] == [""]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (vpd_of(b"SMDL=SW_MNG"), True),
        (vpd_of(b"MODL=CX7"), False),
        # A keyword that is not the vendor's, such as a part number, identifies nothing.
        (vpd_of(b"MODL=CX7", part="SW_MNG"), False),
        (vpd_of(b"SMDL=SW_MNG")[:28], False),
        (b"", False),
    ],
)
def test_what_the_vital_product_data_say(data: bytes, found: bool) -> None:
    assert _apart.manages_switch(io.BytesIO(data)) is found


@given(st.binary())
def test_any_vital_product_data_are_read(data: bytes) -> None:
    assert _apart.manages_switch(io.BytesIO(data)) in (True, False)


def test_the_default_of_fabric_and_monitor(root: str) -> None:
    port = asked_port("", root)
    assert port is not None and port.name == "mlx5_2/1"
    named = asked_port("mlx5_0/1", root)
    assert named is not None and named.name == "mlx5_0/1", "who names one means it"


def test_the_default_of_verify(root: str) -> None:
    ports = _ports.read_ports(root)
    chosen, named = choose_port((), ports, ()), choose_port((), ports, ("mlx5_1/1",))
    assert chosen is not None and chosen.name == "mlx5_2/1"
    assert named is not None and named.name == "mlx5_1/1"


def test_the_default_of_the_subnet_manager(root: str) -> None:
    ports = _ports.read_ports(root)
    (bound,) = bind([Instance("ib", "", 13)], ports)
    assert bound.port.name == "mlx5_2/1"
    (named,) = bind([Instance("ib", "", 13, port="mlx5_0/1")], ports)
    assert named.port.name == "mlx5_0/1"


def test_a_subnet_manager_is_refused_where_only_switches_are(tmp_path: pathlib.Path) -> None:
    only = dict.fromkeys((*SWITCHES, *ADAPTERS), b"SMDL=SW_MNG")
    ports = _ports.read_ports(nodes.write(tmp_path, board(**only)))
    (problem,) = port_problems("", "", [port._asdict() for port in ports])
    assert "mlx5_0/1 is a management function of an NVSwitch" in problem.hint
    with pytest.raises(InvalidInput):
        bind([Instance("ib", "", 13)], ports)


def test_the_members_of_partitions_and_the_names_of_nodes(root: str) -> None:
    facts = facts_of(root)
    assert list(port_guids({}, facts)) == OWN
    assert list(port_guids({}, facts, ["mlx5_0/1"])) == [GUIDS["mlx5_0"]]
    assert list((node_guids({}, facts) or {}).values()) == OWN


def test_the_default_of_a_pair_test(root: str) -> None:
    assert pair.port_of("", root).name == "mlx5_2/1"


def test_a_pair_test_takes_no_switch_in_the_place_of_an_adapter(tmp_path: pathlib.Path) -> None:
    tree = board()
    tree.update({path: "1: DOWN\n" for path in tree if path.endswith("/state") and "0000:05:00" not in path})
    with pytest.raises(Refused, match="no RDMA port is ACTIVE"):
        pair.port_of("", nodes.write(tmp_path, tree))


def test_the_default_of_the_health_check(tmp_path: pathlib.Path) -> None:
    tree = board()
    tree.update({path: "1: DOWN\n" for path in tree if path.endswith("/state") and "0000:05:00" not in path})
    assert _health.problems(HealthSettings((), (), 0, "n1"), nodes.write(tmp_path, tree)) == ["no InfiniBand port is active"]


def test_all_adapters_of_firmware(root: str) -> None:
    devices = _devices.read_devices(root)
    chosen, problems = _devices.select_devices("images", [{"all": True}], devices, missing="fail")
    assert [device.pci for device in chosen] == list(ADAPTERS.values()) and not problems
    named, _none = _devices.select_devices("images", [{"pci": "0000:05:00.0"}], devices, missing="fail")
    assert [device.pci for device in named] == ["0000:05:00.0"]


def test_the_ports_whose_cables_are_judged(root: str) -> None:
    assert [port.name for port in _links.targets(root, [])] == ["mlx5_2/1", "mlx5_3/1"]
    assert [port.name for port in _links.targets(root, ["mlx5_0/1"])] == ["mlx5_0/1"]


def test_the_adapter_of_a_measurement_between_gpus(root: str) -> None:
    gpu = {"devices": [{"pci": "0000:1b:00.0"}], "driver": {"loaded": True}, "peers": [{"name": "nvidia_peermem", "loaded": True}]}
    near = [{"gpu": "0000:1b:00.0", "hca": "mlx5_0", "path": "PIX"}, {"gpu": "0000:1b:00.0", "hca": "mlx5_3", "path": "PXB"}]
    assert endpoint({**facts_of(root), "gpu": {**gpu, "topology": near}}, "--use_cuda=<n>").device == "mlx5_3"


def test_a_guid_means_the_adapter_and_not_its_sub_device(tmp_path: pathlib.Path) -> None:
    facts = facts_of(nodes.write(tmp_path, xdr()))
    found = find("0x5c25730300002000", facts["ports"])
    assert found is not None and found["name"] == "zlx5_0/1"
    assert find("smi0/2", facts["ports"]) is not None


def test_ipoib_has_no_interface_on_a_sub_device(tmp_path: pathlib.Path) -> None:
    facts = facts_of(nodes.write(tmp_path, xdr()))
    assert [port["name"] for port in _identity.infiniband_ports(facts)] == ["zlx5_0/1"]


@pytest.mark.parametrize(
    ("interface", "refused"),
    [
        ({"name": "ib0"}, True),
        ({"name": "ib2"}, False),
        ({"port_guid": GUIDS["mlx5_2"]}, False),
        # The port is declared explicitly, so it counts.
        ({"port_guid": GUIDS["mlx5_0"]}, False),
    ],
)
def test_ipoib_takes_no_name_that_is_that_of_a_switch(root: str, interface: dict[str, t.Any], refused: bool) -> None:
    found = [problem for problem in problems({"ipoib_interfaces": [{**interface, "addresses": ["10.0.0.1/24"]}]}, facts_of(root)) if "NVSwitch" in problem.hint]
    assert bool(found) is refused
    assert all(GUIDS["mlx5_2"] in problem.allowed for problem in found)
