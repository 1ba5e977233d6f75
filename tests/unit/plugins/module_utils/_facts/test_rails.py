# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of rails: what may be declared, which adapter each one is, and the ports that they name."""

from __future__ import annotations

import typing as t

import hypothesis
import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import port_problems
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _railrule
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _rails as rails
from ansible_collections.rdma.ofed.plugins.module_utils._facts._portname import find
from ansible_collections.rdma.ofed.plugins.module_utils._facts._railplaces import likely_names, port_name, resolved, with_places
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems as ipoib_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._data import guids_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import problems as opensm_problems
from hypothesis import strategies

GUIDS = ("0x0002c90300001021", "0x0002c90300001022", "0x0c42a10300000011")


def row(device: str, pci: str, guid: str, *, number: int = 1, **more: t.Any) -> dict[str, t.Any]:
    name = "%s/%d" % (device, number)
    return {"name": name, "device": device, "port": number, "port_guid": guid, "link_layer": "InfiniBand", "pci": pci, "apart": "", **more}


def facts(*rows: dict[str, t.Any], virtual: t.Collection[str] = ()) -> dict[str, t.Any]:
    hcas = [{"name": each["device"], "pci": each["pci"], "virtual": each["pci"] in virtual} for each in rows]
    return {"ports": list(rows), "hcas": hcas, "adapters": []}


# An adapter with two ports behind one function, and another one.
NODE = facts(row("mlx4_0", "0000:18:00.0", GUIDS[0]), row("mlx4_0", "0000:18:00.0", GUIDS[1], number=2), row("mlx5_0", "0000:41:00.1", GUIDS[2]))
DECLARED = {"left": {"pci": "0000:18:00.0", "interface": "ib0"}, "right": {"port_guid": GUIDS[2], "interface": "ib1"}}


@pytest.mark.parametrize(
    "value", [None, {}, "pci_order", DECLARED, {"rdma0": {"pci": "18:00.0/2"}}, {"a" * 63: {"pci": "18:00.0"}}, {"rail-1.a": {"port_guid": "2:c903:0:1021"}}]
)
def test_what_may_be_declared(value: t.Any) -> None:
    value = {"rail-1.a": {"port_guid": "0002:c903:0000:1021"}} if value == {"rail-1.a": {"port_guid": "2:c903:0:1021"}} else value
    assert rails.problems(value) == []


@pytest.mark.parametrize(
    ("value", "variable", "allowed"),
    [
        ("pci", "rdma_rails", rails.FORM),
        (["rdma0"], "rdma_rails", rails.FORM),
        ({"mlx5_7": {"pci": "0000:18:00.0"}}, "rdma_rails.mlx5_7", rails.NAME_FORM),
        ({"mlx5_bond_0": {"pci": "0000:18:00.0"}}, "rdma_rails.mlx5_bond_0", rails.NAME_FORM),
        ({"irdma0": {"pci": "0000:18:00.0"}}, "rdma_rails.irdma0", rails.NAME_FORM),
        ({"bnxt_re0": {"pci": "0000:18:00.0"}}, "rdma_rails.bnxt_re0", rails.NAME_FORM),
        ({"ibp24s0": {"pci": "0000:18:00.0"}}, "rdma_rails.ibp24s0", rails.NAME_FORM),
        ({"a" * 64: {"pci": "0000:18:00.0"}}, "rdma_rails." + "a" * 64, rails.NAME_FORM),
        ({'r"0': {"pci": "0000:18:00.0"}}, 'rdma_rails.r"0', rails.NAME_FORM),
        ({"r 0": {"pci": "0000:18:00.0"}}, "rdma_rails.r 0", rails.NAME_FORM),
        ({"r%k": {"pci": "0000:18:00.0"}}, "rdma_rails.r%k", rails.NAME_FORM),
        ({0: {"pci": "0000:18:00.0"}}, "rdma_rails.0", rails.NAME_FORM),
        ({"rdma0": "0000:18:00.0"}, "rdma_rails.rdma0", rails.ENTRY_FORM),
        ({"rdma0": {}}, "rdma_rails.rdma0", rails.ENTRY_FORM),
        ({"rdma0": {"pci": "0000:18:00.0", "port_guid": GUIDS[0]}}, "rdma_rails.rdma0", rails.ENTRY_FORM),
        ({"rdma0": {"pci": "mlx5_0"}}, "rdma_rails.rdma0.pci", rails.PCI_FORM),
        ({"rdma0": {"pci": 24.0}}, "rdma_rails.rdma0.pci", rails.PCI_FORM),
        ({"rdma0": {"port_guid": "0000:18:00.0"}}, "rdma_rails.rdma0.port_guid", rails.GUID_FORM),
        ({"rdma0": {"port_guid": 0x0002C90300001021}}, "rdma_rails.rdma0.port_guid", rails.GUID_FORM),
        ({"rdma0": {"pci": "18:00.0", "interface": "a" * 16}}, "rdma_rails.rdma0.interface", rails.INTERFACE_FORM),
        ({"rdma0": {"pci": "18:00.0", "interface": "ib/0"}}, "rdma_rails.rdma0.interface", rails.INTERFACE_FORM),
    ],
)
def test_what_may_not(value: t.Any, variable: str, allowed: str) -> None:
    assert [(problem.variable, problem.allowed) for problem in rails.problems(value)] == [(variable, allowed)]
    assert rails.explicit(value, NODE) is None


def test_each_adapter_and_each_name_once() -> None:
    pairs = {"a": {"pci": "18:00.0", "interface": "ib0"}, "b": {"pci": "0000:18:00.0/2"}, "c": {"pci": "19:00.0", "interface": "ib0"}}
    assert [problem.variable for problem in rails.problems(pairs)] == ["rdma_rails.b.pci", "rdma_rails.c.interface"]
    assert [problem.variable for problem in rails.problems({"a": {"port_guid": GUIDS[0]}, "b": {"port_guid": "0002:c903:0000:1021"}})] == [
        "rdma_rails.b.port_guid"
    ]
    # Only the node shows that an address and a GUID are one adapter.
    both = {"a": {"pci": "0000:41:00.1"}, "b": {"port_guid": GUIDS[2]}}
    assert rails.problems(both) == []
    assert [problem.variable for problem in rails.shared(both, NODE)] == ["rdma_rails.b"]
    assert rails.shared(DECLARED, NODE) == []


def test_names_that_only_look_like_those_of_drivers() -> None:
    assert rails.problems({"rail_0": {"pci": "18:00.0"}, "gpu_1": {"pci": "19:00.0"}}) == []


def test_in_pci_order_what_is_no_rail_does_not_count() -> None:
    """Omni-Path, whose software needs the names of its driver, and functions that another driver has."""
    others = [
        {"pci": "0000:%02x:00.0" % number, "infiniband": True, "rdma": [], "driver": driver} for number, driver in enumerate(("vfio-pci", "mlx5_core", ""), 1)
    ]
    node = {**facts(row("hfi1_0", "0000:10:00.0", GUIDS[0]), row("mlx5_0", "0000:18:00.0", GUIDS[1])), "adapters": others}
    assert rails.functions(node) == {"0000:02:00.0", "0000:03:00.0", "0000:18:00.0"}


def test_a_host_without_adapters_has_no_rails() -> None:
    known = rails.explicit(rails.PCI_ORDER, facts())
    assert known == {}
    assert resolved({"rails": rails.PCI_ORDER}, known, []) == {"rails": {}}
    # The declaration of a host whose adapters are not known.
    assert rails.named_devices(rails.PCI_ORDER) == ()  # type: ignore[arg-type]


def test_a_rail_names_its_ports() -> None:
    known = rails.with_rails(NODE, DECLARED)
    assert [port.get("rails") for port in known["ports"]] == [["left/1"], ["left/2"], ["right", "right/1"]]
    assert find("right", known["ports"]) == known["ports"][2]
    assert find("left/2", known["ports"]) == known["ports"][1]
    # The rail is the adapter, which has two ports.
    assert find("left", known["ports"]) is None
    chosen = rails.with_rails(NODE, {"left": {"pci": "0000:18:00.0/2"}})
    assert find("left", chosen["ports"]) == chosen["ports"][1]
    assert rails.with_rails(NODE, None) == NODE
    assert rails.with_rails(NODE, "nonsense") == NODE


def test_roles_accept_the_names_of_rails() -> None:
    known = rails.with_rails(NODE, DECLARED)
    assert port_problems("rdma_ports", ["left/1", "right"], known, declared=DECLARED) == []
    fabrics = {"rdma_rails": DECLARED, "rdma_fabrics": {"ib": ["right"], "storage": ["left/2"]}}
    variables = {**fabrics, "opensm_fabrics": {"storage": {"subnet_prefix": "0xfe80000000000001"}}}
    assert opensm_problems(variables, known, manages=True) == []
    assert opensm_problems({"rdma_rails": DECLARED, "opensm_port": "right"}, known, manages=True) == []
    assert guids_of("ib", "node1", {"node1": variables}, facts=lambda _host: known) == [GUIDS[2]]
    twice = {**variables, "rdma_fabrics": {"ib": ["right"], "storage": [GUIDS[2]]}}
    assert [problem.variable for problem in opensm_problems(twice, known)] == ["rdma_fabrics.storage[0]"]


def test_an_unknown_rail_is_refused_with_those_that_exist() -> None:
    (problem,) = port_problems("rdma_ports", ["middle"], declared=DECLARED)
    assert problem.allowed.startswith("a rail (left, right), or a port")
    (problem,) = opensm_problems({"rdma_rails": DECLARED, "opensm_port": "middle"})
    assert "left, right" in problem.allowed
    (problem,) = opensm_problems({"rdma_rails": DECLARED, "rdma_fabrics": {"ib": ["middle"]}})
    assert "left, right" in problem.allowed
    assert port_problems("rdma_ports", ["rdma7"], declared="pci_order") == []
    (problem,) = port_problems("rdma_ports", ["rail7"], declared="pci_order")
    assert "rdma0, rdma1" in problem.allowed
    # A rail without its adapter is declared, and the host lacks the port.
    known = rails.with_rails(NODE, {**DECLARED, "middle": {"pci": "0000:99:00.0"}})
    (problem,) = port_problems("rdma_ports", ["middle"], known, declared={**DECLARED, "middle": {"pci": "0000:99:00.0"}})
    assert "a port of this node" in problem.allowed
    assert "rail right" in problem.allowed


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("left/2", "0000:18:00.0/2"),
        ("left", "left"),
        ("right", GUIDS[2]),
        ("right/1", GUIDS[2]),
        ("middle/1", "middle/1"),
        ("0000:41:00.1/1", "0000:41:00.1/1"),
        (7, 7),
    ],
)
def test_a_node_gets_names_that_it_knows(text: t.Any, name: t.Any) -> None:
    ports = rails.with_rails(NODE, DECLARED)["ports"]
    assert port_name(text, DECLARED, ports) == name
    # Without facts, what the declaration tells.
    without: t.Any = {"right/1": "right/1", "left": "0000:18:00.0/1"}.get(text, name) if isinstance(text, str) else name
    assert port_name(text, DECLARED, ()) == without


def test_options_with_the_names_of_rails() -> None:
    ports = rails.with_rails(NODE, DECLARED)["ports"]
    given = {"port": "right", "ports": ["left/1", GUIDS[0]], "fabrics": {"right": ["right"]}, "wait": 5, "tcp_port": 18600}
    expected = {"port": GUIDS[2], "ports": ["0000:18:00.0/1", GUIDS[0]], "fabrics": {"right": [GUIDS[2]]}, "wait": 5, "tcp_port": 18600}
    assert resolved(given, DECLARED, ports) == expected
    given = {"fabrics": [{"fabric": "right", "ports": ["right"]}, "odd"], "instances": [{"fabric": "right", "port": "right"}]}
    assert resolved(given, DECLARED, ports) == {
        "fabrics": [{"fabric": "right", "ports": [GUIDS[2]]}, "odd"],
        "instances": [{"fabric": "right", "port": GUIDS[2]}],
    }


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"rail": "left"}, {"pci": "0000:18:00.0", "name": "ib0"}),
        ({"rail": "left", "name": "x"}, {"pci": "0000:18:00.0", "name": "x"}),
        ({"rail": "left/2"}, {"pci": "0000:18:00.0/2"}),
        ({"rail": "right", "mtu": 2044}, {"port_guid": GUIDS[2], "name": "ib1", "mtu": 2044}),
        ({"name": "ib7"}, {"name": "ib7"}),
        ({"rail": "right/2"}, {"rail": "right/2"}),
        ({"rail": "middle"}, {"rail": "middle"}),
        ({"rail": "left", "pci": "0000:19:00.0"}, {"rail": "left", "pci": "0000:19:00.0"}),
        ({"rail": ["left"]}, {"rail": ["left"]}),
        ("ib0", "ib0"),
    ],
)
def test_an_interface_has_the_port_and_the_name_of_its_rail(item: t.Any, expected: t.Any) -> None:
    assert with_places([item], DECLARED) == [expected]
    assert resolved({"interfaces": [item]}, DECLARED, ()) == {"interfaces": [expected]}
    assert likely_names([item], DECLARED) == [expected]


def test_before_the_look_the_order_gives_names_only() -> None:
    items = [{"rail": "rdma1"}, {"rail": "rdma0", "name": "x"}, {"rail": "left"}, {"rail": 7}, "ib0"]
    assert likely_names(items, "pci_order") == [{"name": "ib1", "rail": "rdma1"}, {"rail": "rdma0", "name": "x"}, *items[2:]]
    assert likely_names("odd", "pci_order") == "odd"


@pytest.mark.parametrize(
    ("item", "declared", "words"),
    [
        ({"rail": "middle"}, DECLARED, "ipoib_interfaces[0].rail is 'middle'; allowed: a rail of this host: left, right"),
        ({"rail": "rail9"}, "pci_order", "ipoib_interfaces[0].rail is 'rail9'; allowed: a rail of this host: rdma0, rdma1"),
        ({"rail": "left"}, None, "ipoib_interfaces[0].rail is 'left'; allowed: a rail of this host (rdma_rails has to name it"),
        ({"rail": "right/2"}, DECLARED, "ipoib_interfaces[0].rail is 'right/2'; allowed: right (a rail with port_guid stands for that port"),
        ({"rail": "left", "pci": "18:00.0"}, DECLARED, "ipoib_interfaces[0].pci is '18:00.0'; allowed: either rail or pci"),
        ({"rail": 7}, DECLARED, "ipoib_interfaces[0].rail is 7; allowed: a rail of this host: left, right"),
        ({"rail": "rdma0", "mtu": 1}, "pci_order", "ipoib_interfaces[0].mtu is 1;"),
    ],
)
def test_an_interface_without_a_known_rail_is_refused(item: t.Any, declared: t.Any, words: str) -> None:
    (problem,) = ipoib_problems({"ipoib_interfaces": [item], "rdma_rails": declared})
    assert str(problem).startswith(words)


def test_a_host_that_does_not_answer_has_no_wrong_rail() -> None:
    assert ipoib_problems({"ipoib_interfaces": [{"rail": "rdma0", "addresses": ["10.20.0.1/24"]}], "rdma_rails": "pci_order"}) == []


def test_while_names_wait_for_the_boot_the_rail_counts() -> None:
    # What is now named rdma0 shall be rdma1, and the other way round.
    node = facts(row("rdma0", "0000:41:00.0", GUIDS[0]), row("rdma1", "0000:18:00.0", GUIDS[1]))
    known = rails.with_rails(node, "pci_order")
    assert find("rdma0/1", known["ports"])["pci"] == "0000:18:00.0"  # type: ignore[index]
    assert find("rdma0", known["ports"])["pci"] == "0000:18:00.0"  # type: ignore[index]


def test_the_order_is_that_of_physical_functions_on_a_fabric() -> None:
    node = facts(
        row("mlx5_2", "10000:01:00.0", GUIDS[0]),
        row("mlx5_0", "0000:a1:00.0", GUIDS[1]),
        row("mlx5_1", "0000:18:00.0", GUIDS[2]),
        row("mlx5_3", "0000:18:00.2", "0x0c42a10300000012"),
        row("mlx5_4", "0000:19:00.0", "0x0c42a10300000013", link_layer="Ethernet"),
        row("mlx5_5", "0000:1a:00.0", "0x0c42a10300000014", apart="nvswitch"),
        row("rxe0", "", "0x0c42a10300000015"),
        virtual=["0000:18:00.2"],
    )
    found = rails.explicit("pci_order", node)
    assert found is not None
    assert {name: entry["pci"] for name, entry in found.items()} == {"rdma0": "0000:18:00.0", "rdma1": "0000:a1:00.0", "rdma2": "10000:01:00.0"}
    # Before the driver is loaded, the class of the function tells. Afterwards the names are the same.
    waiting = [{"pci": pci, "infiniband": pci != "0000:19:00.0", "rdma": [], "virtual": pci == "0000:18:00.2"} for pci in ("0000:18:00.2", "0000:19:00.0")]
    waiting += [{"pci": entry["pci"], "infiniband": True, "rdma": [], "virtual": False} for entry in found.values()]
    assert rails.explicit("pci_order", {"ports": [], "hcas": [], "adapters": waiting}) == found
    assert rails.explicit("pci_order", None) is None
    assert rails.explicit("pci_order", {"ports": []}) is None


def test_a_missing_adapter_keeps_its_name() -> None:
    rows = [row("mlx5_%d" % place, "0000:%s:00.0" % bus, GUIDS[place]) for place, bus in enumerate(("18", "3b", "5d"))]
    before = rails.explicit("pci_order", facts(*rows))
    assert before is not None
    rule = {rail.name: rail.pci for rail in rails.named_devices(before)}
    broken = {**facts(rows[0], rows[2]), "rails": rule}
    assert rails.explicit("pci_order", broken) == before
    known = rails.with_rails(broken, "pci_order")
    assert find("rdma2", known["ports"]) is not None
    assert find("rdma1", known["ports"]) is None
    # A new adapter has its place in the order, and a rule with other names tells nothing.
    more = facts(*rows, row("mlx5_3", "0000:20:00.0", "0x0c42a10300000099"))
    assert rails.explicit("pci_order", {**more, "rails": rule}) == rails.explicit("pci_order", more)
    odd = {**facts(rows[0]), "rails": {"rdma1": "0000:18:00.0", "rdma0": "0000:3b:00.0"}}
    assert rails.explicit("pci_order", odd) == rails.explicit("pci_order", facts(rows[0]))


def test_a_rule_is_read_back() -> None:
    named = rails.named_devices({"b": {"pci": "18:00.0/2"}, "a": {"pci": "0000:3b:00.1"}, "c": {"port_guid": GUIDS[0]}})
    text = _railrule.render(named, "NAME_FALLBACK")
    assert _railrule.parse(HEADER + text) == {"a": "0000:3b:00.1", "b": "0000:18:00.0"}
    assert _railrule.parse(text) == {}


@hypothesis.given(
    strategies.sets(strategies.integers(0, 255), min_size=1, max_size=10).flatmap(
        lambda buses: strategies.tuples(*[strategies.permutations(sorted(buses))] * 2)
    )
)
def test_the_names_do_not_depend_on_the_order_of_detection(orders: tuple[list[int], list[int]]) -> None:
    def named(order: list[int]) -> dict[str, t.Any]:
        node = facts(*(row("mlx5_%d" % place, "0000:%02x:00.0" % bus, "0x%016x" % (bus + 1)) for place, bus in enumerate(order)))
        ports = rails.with_rails(node, "pci_order")["ports"]
        return {name: port["pci"] for port in ports for name in port["rails"]}

    first, second = map(named, orders)
    assert first == second
    assert len(first) == 2 * len(orders[0])
