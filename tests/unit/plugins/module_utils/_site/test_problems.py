# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The controller finds every kind of bad input before the first change, and reports variable, value and the allowed values."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import port_problems
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._survey import placement
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import KNOWN, PLAIN
from ansible_collections.rdma.ofed.plugins.module_utils._site._problems import playbook_problems, serial_problems, site_notes
from hypothesis import given
from hypothesis import strategies as st
from support.subjects import host_problems, node_problems

KNOWN_NAMES = {prefix + rest for prefix, names in KNOWN.items() for rest in names} | PLAIN
PORT = {"name": "mlx5_0/1", "device": "mlx5_0", "port": 1, "port_guid": "0x0c42a10300000011", "link_layer": "InfiniBand", "state": "ACTIVE", "netdevs": ["ib0"]}
IB0 = {
    "name": "ib0",
    "kind": "ipoib",
    "port": "mlx5_0/1",
    "port_guid": "0x0c42a10300000011",
    "parent": "",
    "pkey": "0xffff",
    "mode": "datagram",
    "mtu": 2044,
    "addresses": [],
    "connected_capable": False,
    "connected_reason": "the driver uses Enhanced IPoIB, which is datagram only",
}
ETH0 = {"name": "eth0", "kind": "ethernet", "port": "", "parent": "", "mode": "", "mtu": 1500, "addresses": []}
FACTS: t.Mapping[str, t.Any] = types.MappingProxyType(
    {
        "os": {"family": "Debian", "id": "debian", "version": "12", "name": "Debian GNU/Linux 12 (bookworm)"},
        "stack": {"kind": "inbox", "version": "44.0"},
        "ports": [PORT],
        "netdevs": [ETH0, IB0],
        "hcas": [{"name": "mlx5_0"}],
        "modules": [{"name": "ib_ipoib"}],
    }
)
NO_HCA = {**FACTS, "ports": [], "netdevs": [ETH0], "hcas": [], "modules": []}
NO_RDS = {**FACTS, "kernels": {"installed": [{"release": "5.14", "running": True, "modules": {"rds_rdma": False}}]}}
GENTOO = {**FACTS, "os": {"family": "Unknown", "id": "gentoo", "version": "2.15", "name": "Gentoo"}}

GOOD: dict[str, t.Any] = {
    "fabric": "ib",
    "rdma_ports": ["mlx5_0/1"],
    "ipoib_interfaces": [{"name": "ib0", "addresses": ["10.20.0.1/24"], "mode": "datagram", "mtu": 2044}],
    "kernel_modules_load": ["ib_umad", "ib_ipoib"],
    "opensm_rank": 1,
    "ofed_tools": True,
    "node_check_wait": 30,
}


@pytest.mark.parametrize("value", [1, 4, "3", "1%", "100%", [1, "10%", 8]])
def test_batches(value: t.Any) -> None:
    assert serial_problems({"rdma_serial": value}) == []


@pytest.mark.parametrize("value", [0, -1, "-1", "abc", "0%", "101%", "5.5%", 2.5, True, None, [], [1, "abc"], [[1]], {"a": 1}, "", "1\n", "9" * 5000])
def test_what_is_no_batch(value: t.Any) -> None:
    assert [problem.variable for problem in host_problems({"rdma_serial": value}, None, False)] == ["rdma_serial"]


def interface(**keys: t.Any) -> dict[str, t.Any]:
    return {"ipoib_interfaces": [{"name": "ib0", **keys}]}


def child(pkey: t.Any) -> dict[str, t.Any]:
    return {"ipoib_interfaces": [{"name": "ib0"}, {"parent": "ib0", "pkey": pkey}]}


def lines(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = FACTS, designated: bool = True) -> list[str]:
    return [str(problem) for problem in host_problems(variables, facts, designated)]


def test_good_input_has_no_problem() -> None:
    assert lines(GOOD) == []
    assert lines(GOOD, None) == []
    assert lines({}) == []


@pytest.mark.parametrize(
    ("variables", "facts", "variable", "value"),
    [
        pytest.param({"ipoib_interfaces": [{"name": "ib7"}]}, FACTS, "ipoib_interfaces[0].name", "'ib7'", id="unknown interface"),
        pytest.param({"ipoib_interfaces": [{"name": "eth0"}]}, FACTS, "ipoib_interfaces[0].name", "'eth0'", id="not an IPoIB interface"),
        pytest.param(interface(addresses=["10.20.0.1"]), FACTS, "ipoib_interfaces[0].addresses[0]", "'10.20.0.1'", id="address without a prefix"),
        pytest.param(interface(addresses=["node1"]), FACTS, "ipoib_interfaces[0].addresses[0]", "'node1'", id="no address"),
        pytest.param(interface(mode="datagram", mtu=9000), FACTS, "ipoib_interfaces[0].mtu", "9000", id="mtu of datagram mode"),
        pytest.param(interface(mode="connected", mtu=70000), FACTS, "ipoib_interfaces[0].mtu", "70000", id="mtu of connected mode"),
        pytest.param(interface(mtu=4093), FACTS, "ipoib_interfaces[0].mtu", "4093", id="mtu where the port does datagram only"),
        pytest.param(interface(mtu=67), FACTS, "ipoib_interfaces[0].mtu", "67", id="mtu too small"),
        pytest.param(child(0), FACTS, "ipoib_interfaces[1].pkey", "'0x0000'", id="pkey 0"),
        pytest.param(child(0x8000), FACTS, "ipoib_interfaces[1].pkey", "'0x8000'", id="pkey 0x8000"),
        pytest.param(child("0x8000"), FACTS, "ipoib_interfaces[1].pkey", "'0x8000'", id="pkey 0x8000 as text"),
        pytest.param(interface(mode="connected"), FACTS, "ipoib_interfaces[0].mode", "'connected'", id="connected mode on a datagram port"),
        pytest.param({"rdma_ports": ["mlx5_0/1"]}, NO_HCA, "rdma_ports[0]", "'mlx5_0/1'", id="port on a node without HCA"),
        pytest.param({"rdma_ports": ["mlx5_3/1"]}, FACTS, "rdma_ports[0]", "'mlx5_3/1'", id="unknown port"),
        pytest.param({"rdma_ports": ["mlx5_0"]}, None, "rdma_ports[0]", "'mlx5_0'", id="port in another notation"),
        pytest.param({}, GENTOO, "ofed_source", "'inbox'", id="unsupported distribution"),
        pytest.param({"opensm_port": "mlx5_9/1"}, FACTS, "opensm_port", "'mlx5_9/1'", id="unknown port of opensm"),
        pytest.param({"ipoib_interface": []}, FACTS, "ipoib_interface", "unknown", id="misspelt"),
        pytest.param({"kernel_modules_load": ["ib_sdp"]}, FACTS, "kernel_modules_load[0]", "'ib_sdp'", id="module of the past"),
        # Wrong types of all variables.
        pytest.param({"rdma_ports": "mlx5_0/1"}, FACTS, "rdma_ports", "'mlx5_0/1'", id="type of rdma_ports"),
        pytest.param({"rdma_ports": [1]}, FACTS, "rdma_ports[0]", "1", id="type of a port"),
        pytest.param({"fabric": 7}, FACTS, "fabric", "7", id="type of fabric"),
        pytest.param({"ofed_state": True}, FACTS, "ofed_state", "True", id="type of ofed_state"),
        pytest.param({"ofed_source": ["inbox"]}, FACTS, "ofed_source", "['inbox']", id="type of ofed_source"),
        pytest.param({"ofed_tools": 3}, FACTS, "ofed_tools", "3", id="type of ofed_tools"),
        pytest.param({"ofed_extra_packages": "perftest"}, FACTS, "ofed_extra_packages", "'perftest'", id="type of ofed_extra_packages"),
        pytest.param({"ofed_ulps": "srp"}, FACTS, "ofed_ulps", "'srp'", id="type of ofed_ulps"),
        pytest.param({"ofed_ulps": ["sdp"]}, FACTS, "ofed_ulps[0]", "'sdp'", id="protocol that is gone"),
        pytest.param({"ofed_ulps": ["rds"]}, NO_RDS, "ofed_ulps", "'rds'", id="protocol that the kernel lacks"),
        pytest.param({"kernel_modules_load": "ib_umad"}, FACTS, "kernel_modules_load", "'ib_umad'", id="type of kernel_modules_load"),
        pytest.param({"kernel_modules_options": ["a"]}, FACTS, "kernel_modules_options", "['a']", id="type of kernel_modules_options"),
        pytest.param({"kernel_modules_initramfs": 1}, FACTS, "kernel_modules_initramfs", "1", id="type of kernel_modules_initramfs"),
        pytest.param({"ipoib_interfaces": {"name": "ib0"}}, FACTS, "ipoib_interfaces", "{'name': 'ib0'}", id="type of ipoib_interfaces"),
        pytest.param({"ipoib_interfaces": ["ib0"]}, FACTS, "ipoib_interfaces[0]", "'ib0'", id="type of an interface"),
        pytest.param({"ipoib_backend": 1}, FACTS, "ipoib_backend", "1", id="type of ipoib_backend"),
        pytest.param(interface(mtu="big"), FACTS, "ipoib_interfaces[0].mtu", "'big'", id="type of mtu"),
        pytest.param({"opensm_rank": "first"}, FACTS, "opensm_rank", "'first'", id="type of opensm_rank"),
        pytest.param({"opensm_priority": 16}, FACTS, "opensm_priority", "16", id="range of opensm_priority"),
        pytest.param({"opensm_wait_timeout": "soon"}, FACTS, "opensm_wait_timeout", "'soon'", id="type of opensm_wait_timeout"),
        pytest.param({"opensm_allow_foreign_master": 3}, FACTS, "opensm_allow_foreign_master", "3", id="type of opensm_allow_foreign_master"),
        pytest.param({"opensm_port_guid": "mlx5_0/1"}, FACTS, "opensm_port_guid", "'mlx5_0/1'", id="type of opensm_port_guid"),
        pytest.param({"node_check_wait": "long"}, FACTS, "node_check_wait", "'long'", id="type of node_check_wait"),
        pytest.param({"node_check_fail": "perhaps"}, FACTS, "node_check_fail", "'perhaps'", id="type of node_check_fail"),
        pytest.param({"node_check_modules": "ib_umad"}, FACTS, "node_check_modules", "'ib_umad'", id="type of node_check_modules"),
    ],
)
def test_bad_input(variables: dict[str, t.Any], facts: dict[str, t.Any] | None, variable: str, value: str) -> None:
    # Only the designated subnet manager needs a port.
    (line,) = lines(variables, facts, designated=variable == "opensm_port")
    assert line.startswith("%s is %s; allowed: " % (variable, value))


def test_everything_is_said_at_once() -> None:
    assert len(lines({"rdma_ports": ["x"], "fabric": 3, "ipoib_interfaces": [{"name": "ib0", "mtu": 1}], "opensm_prio": 1})) == 4


def test_numbers_and_flags_of_the_command_line_are_accepted() -> None:
    assert lines({"node_check_wait": "30", "node_check_fail": "yes", "opensm_rank": "2"}) == []


def test_the_range_of_an_mtu_is_that_of_the_port() -> None:
    (line,) = lines(interface(mtu=70000))
    assert line.startswith("ipoib_interfaces[0].mtu is 70000; allowed: 68 to 4092 in datagram mode (this port supports no other mode: ")
    (line,) = lines(interface(mtu=70000), None)
    assert line == "ipoib_interfaces[0].mtu is 70000; allowed: 68 to 65520 in connected mode"
    capable = {**FACTS, "netdevs": [{**IB0, "connected_capable": True}]}
    assert lines(interface(mtu=70000), capable) == [line]


def test_an_ethernet_interface_is_called_so() -> None:
    (line,) = lines({"ipoib_interfaces": [{"name": "eth0"}]})
    assert line.endswith("allowed: an IPoIB interface of this node: ib0 (eth0 is not an IPoIB interface, but of kind ethernet)")
    # The eth0 of a container is a veth, which facts omit.
    (line,) = lines({"ipoib_interfaces": [{"name": "eth0"}]}, {**FACTS, "netdevs": [IB0]})
    assert line.endswith("(ib_ipoib is loaded, and that is not one of its interfaces)")


KEYS = st.sampled_from(("name", "mtu", "addresses", "parent", "pkey", "mode", "state", "x"))
ANY: st.SearchStrategy[t.Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(KNOWN_NAMES)), ANY, max_size=4), st.sampled_from((None, FACTS, NO_HCA)), st.booleans())
def test_no_input_is_an_exception(variables: dict[str, t.Any], facts: dict[str, t.Any] | None, designated: bool) -> None:
    assert all(str(problem) for problem in host_problems(variables, facts, designated))


def place(groups: dict[str, list[str]], hostvars: dict[str, dict[str, t.Any]], host: str = "node1", **variables: t.Any) -> tuple[str, list[str], list[str]]:
    names = {name for members in groups.values() for name in members}
    found = placement(host, groups=groups, hostvars={name: hostvars.get(name, {}) for name in names}, variables=variables, playing=[host])
    return found.first.designated, [str(problem) for problem in found.own], [str(problem) for problem in found.common]


ALL = ["node1", "node2", "node3"]


def test_the_first_of_the_group_is_designated() -> None:
    assert place({"rdma": ALL, "opensm": ["node2", "node3"]}, {}) == ("node2", [], [])


def test_two_designated_hosts() -> None:
    _designated, own, (line,) = place({"rdma": ALL, "opensm": ["node1", "node2"]}, {"node1": {"opensm_rank": 1}, "node2": {"opensm_rank": 1}})
    assert not own
    assert line.startswith("opensm_rank of node1, node2 is 1; allowed: a different rank for each host")


@pytest.mark.parametrize("groups", [{"rdma": ALL}, {"rdma": ALL, "opensm": []}])
def test_an_empty_group(groups: dict[str, list[str]]) -> None:
    designated, own, (line,) = place(groups, {})
    assert (designated, own) == ("", [])
    assert line.startswith("group opensm is []; allowed: at least one host of each fabric")


def test_an_empty_group_is_right_where_opensm_shall_be_absent() -> None:
    assert place({"rdma": ALL}, {}, opensm_state="absent") == ("", [], [])


def test_a_fabric_without_a_subnet_manager_is_the_problem_of_its_hosts() -> None:
    groups = {"rdma": ALL, "opensm": ["node1"]}
    assert place(groups, {}) == ("node1", [], [])
    designated, (line,), common = place(groups, {}, "node3", fabric="storage")
    assert (designated, common) == ("", [])
    assert "node3 is on that fabric" in line


def test_settings_of_a_fabric_without_members() -> None:
    groups, settings = {"rdma": ALL, "opensm": ["node1"]}, {"stroage": {"priority": 3}}
    _designated, _own, (line,) = place(groups, {}, opensm_fabrics=settings)
    assert line.startswith("opensm_fabrics is 'stroage'; allowed: ib (")
    assert place(groups, {}, opensm_fabrics=settings, opensm_state="absent") == ("node1", [], [])


def test_a_designated_host_outside_of_the_group() -> None:
    designated, own, (line,) = place({"rdma": ALL, "opensm": ["mgmt", "node1"]}, {})
    assert (designated, own) == ("mgmt", [])
    assert line.startswith("group opensm is 'mgmt'; allowed: hosts of group rdma")
    assert place({"rdma": ALL, "opensm": ["node1", "mgmt"]}, {}) == ("node1", [], [])


def test_the_group_may_have_another_name() -> None:
    groups = {"compute": ALL, "opensm": ["node1"]}
    assert place(groups, {}, rdma_hosts="compute") == ("node1", [], [])
    assert "hosts of group compute" in place({**groups, "opensm": ["mgmt"]}, {}, rdma_hosts="compute")[2][0]
    assert place({**groups, "opensm": ["mgmt"]}, {}, rdma_hosts="node1:node2") == ("mgmt", [], [])


def test_a_designated_host_may_be_anywhere_where_opensm_shall_be_absent() -> None:
    assert place({"rdma": ALL, "opensm": ["mgmt"]}, {}, opensm_state="absent") == ("mgmt", [], [])


def test_only_the_host_that_speaks_for_all_looks_at_all() -> None:
    found = placement("node2", groups={"opensm": ["mgmt"]}, hostvars={"mgmt": {"opensm_rank": 1}}, variables={})
    assert (found.first.designated, found.common) == ("mgmt", [])


def test_what_a_play_says_of_a_standby_counts_for_the_host_itself() -> None:
    """Variables of a play are not in the inventory, from which hosts know each other."""
    groups, hostvars = (
        {"opensm": ["node1", "node2", "node3"], "rdma": ["node1", "node2", "node3"]},
        {"node1": {}, "node2": {}, "node3": {"opensm_standby": True}},
    )
    election = placement("node1", groups=groups, hostvars=hostvars, variables={}, playing=["node1", "node2", "node3"]).election

    def part(host: str, **variables: t.Any) -> str:
        found = placement(host, groups=groups, hostvars=hostvars, variables=variables, known=election)
        assert found.election == election, "what the others are given"
        return found.part

    assert (part("node2"), part("node2", opensm_standby=True)) == ("resting", "standby")
    assert (part("node3", opensm_standby=True), part("node3", opensm_standby=False)) == ("standby", "resting")
    assert part("node1") == part("node1", opensm_standby=True) == "master"
    assert part("node9", opensm_standby=True) == "resting"


def test_a_bad_rank_of_a_host_of_the_play_is_said_once() -> None:
    groups = {"rdma": ALL, "opensm": ["node1"]}
    assert place(groups, {"node1": {"opensm_rank": "x"}}, opensm_rank="x") == ("", [], [])
    assert len(lines({"opensm_rank": "x"})) == 1
    assert len(place(groups, {"node1": {"opensm_rank": "x"}}, "node2")[2]) == 1


def test_a_fabric_that_is_no_name_has_no_place() -> None:
    assert place({"rdma": ALL, "opensm": ["node1"]}, {}, fabric=["ib"]) == ("", [], [])


def test_ports_need_an_infiniband_link_layer() -> None:
    roce = {"ports": [{"name": "mlx5_1/1", "link_layer": "Ethernet"}]}
    assert [str(problem) for problem in port_problems("rdma_ports", ["mlx5_1/1"], roce)] == [
        "rdma_ports[0] is 'mlx5_1/1'; allowed: an InfiniBand port (its link layer is Ethernet)"
    ]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("fabric_basline", "fabric_baseline"),
        ("fabric_baselines", "fabric_baseline"),
        ("fabric_save_baselin", "fabric_save_baseline"),
        ("fabric_reportdir", "fabric_report_dir"),
        ("fabric_adapter", "fabric_adapters"),
        ("node_check_cable", "node_check_cables"),
    ],
)
def test_misspelt_variables_of_the_playbook_fabric(name: str, meant: str) -> None:
    (problem,) = playbook_problems({name: "x"}, "fabric")
    assert problem.variable == name
    assert meant in problem.allowed
    assert playbook_problems({name: "x", "rdma_own_variables": [name]}, "fabric") == []


def test_misspelt_variables_of_the_playbook_discover() -> None:
    for name, meant in (("discover_ouput", "discover_output"), ("discover_over_write", "discover_overwrite"), ("discover_singlefile", "discover_single_file")):
        (problem,) = playbook_problems({name: "x"}, "discover")
        assert problem.variable == name and meant in problem.allowed
    assert [problem.variable for problem in playbook_problems({"discover_explicit": "perhaps"}, "discover")] == ["discover_explicit"]


def test_what_is_not_like_a_variable_of_the_playbook_fabric_is_of_the_site() -> None:
    assert playbook_problems({"fabric_name": "x", "fabric_vendor": "x", "fabric_baseline": "ib.json", "node_check_fail": True}, "fabric") == []
    assert [problem.variable for problem in playbook_problems({"fabric_save_baseline": "perhaps"}, "fabric")] == ["fabric_save_baseline"]


PORT = {
    "name": "mlx5_0/1",
    "device": "mlx5_0",
    "port": 1,
    "pci": "0000:03:00.0",
    "link_layer": "InfiniBand",
    "port_guid": "0x0002c903000f0001",
    "netdevs": ["ib0"],
}
GONE = {"ipoib_interfaces": [{"name": "storage", "port_guid": "0x0002c903000f0009"}], "rdma_fabrics": {"ib": ["0x0002c903000f0009"]}}


def test_what_a_host_lacks_is_of_that_host_and_of_the_roles_concerned() -> None:
    """The declaration itself is right, so the run ends for no other host."""
    facts = {"ports": [PORT], "modules": [{"name": "ib_ipoib"}], "stack": {"kind": "inbox"}, "machine": {"kind": "host"}}
    assert host_problems(GONE, None, True) == []
    assert set(node_problems(GONE, facts, True)) == {"ipoib", "opensm"}
    # The check itself reports its own missing port.
    assert node_problems({"rdma_ports": ["0x0002c903000f0009"]}, facts, False) == {}


@pytest.mark.parametrize(
    ("facts", "comes"),
    [
        ({"stack": {"kind": "none"}}, True),
        ({"stack": {"kind": "inbox"}, "adapters": [{"pci": "0000:03:00.0"}]}, True),
        ({"stack": {"kind": "inbox"}, "machine": {"kind": "chroot"}}, True),
        # A failed HCA that is off the bus.
        ({"stack": {"kind": "inbox"}, "machine": {"kind": "host"}, "adapters": []}, False),
    ],
)
def test_ports_whose_driver_this_run_brings_are_not_missed_yet(facts: dict[str, t.Any], comes: bool) -> None:
    assert (node_problems(GONE, {"ports": [], **facts}, True) == {}) is comes


def test_accepted_findings_of_a_host_that_is_gone() -> None:
    entries = [{"code": code, "host": "node3", "reason": "known"} for code in ("pending", "link_slower", "link_degraded")]
    assert [note.partition(" is ")[0] for note in site_notes(Subject("node1", {"rdma_accepted": entries}, groups={"all": ["node1"]}))] == [
        "rdma_accepted[0].host"
    ]
    assert site_notes(Subject("node1", {"rdma_accepted": entries}, groups={"all": ["node1", "node3"]})) == []
