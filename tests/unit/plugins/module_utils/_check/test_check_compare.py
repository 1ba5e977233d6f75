# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Declared against observed: each deviation is named, and nothing else is."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._check._compare import checked_ports, compare, fabric_port, table_rows
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Declared, Master, Observed, Opensm
from ansible_collections.rdma.ofed.plugins.module_utils._check._who import is_designated, short
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface
from hypothesis import given
from hypothesis import strategies as st

OWN = "0x0c42a10300000021"
MASTERS = "0x0c42a10300000011"
PORT = Port(
    name="mlx5_0/1",
    device="mlx5_0",
    port=1,
    port_guid=OWN,
    link_layer="InfiniBand",
    state="ACTIVE",
    phys_state="LinkUp",
    rate="100 Gb/sec (4X EDR)",
    lid=2,
    sm_lid=1,
)
IB0 = Netdev(name="ib0", kind="ipoib", port="mlx5_0/1", port_guid=OWN, pkey="0xffff", mode="datagram", mtu=2044, up=True, addresses=("10.20.0.2/24",))
MODULES = frozenset(("ib_umad", "ib_ipoib"))

DECLARED = Declared(
    ports=("mlx5_0/1",),
    interfaces=(Interface("ib0", "datagram", mtu=2044, addresses=("10.20.0.2/24",)),),
    modules=("ib_ipoib", "ib_umad"),
    designated_host="node1",
)
GOOD = Observed(
    ports=(PORT,),
    netdevs=(IB0,),
    loaded=MODULES,
    persisted=MODULES,
    master=Master(MASTERS, 1, 14, 3, "node1 mlx5_0"),
)
SM_DECLARED = DECLARED._replace(designated=True, designated_host="node2")
SM_GOOD = GOOD._replace(master=Master(OWN, 2, 14, 3), masters=(OWN,), opensm=Opensm((42,), ("opensm.service",)))


def words(declared: Declared, observed: Observed) -> list[str]:
    return [deviation.words() for deviation in compare(declared, observed)]


def test_nothing_deviates_on_a_good_node() -> None:
    assert compare(DECLARED, GOOD) == []
    assert compare(SM_DECLARED, SM_GOOD) == []


@pytest.mark.parametrize(
    ("observed", "expected"),
    [
        pytest.param(
            GOOD._replace(ports=(PORT._replace(state="DOWN", phys_state="Polling"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling (look at the cable and the switch port)",
            id="link down",
        ),
        pytest.param(
            GOOD._replace(ports=(PORT._replace(state="INIT"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found INIT and LinkUp (the link is up: no subnet manager has configured the port yet)",
            id="no subnet manager",
        ),
        pytest.param(
            GOOD._replace(ports=(PORT._replace(name="mlx5_1/1"),)),
            "port mlx5_0/1: wanted ACTIVE and LinkUp, found no such port (this node has mlx5_1/1)",
            id="another port",
        ),
        pytest.param(GOOD._replace(ports=(PORT._replace(link_layer="Ethernet"),)), "port mlx5_0/1: wanted link layer InfiniBand, found Ethernet", id="RoCE"),
        pytest.param(
            GOOD._replace(ports=(PORT._replace(sm_lid=0),)),
            "port mlx5_0/1 sm_lid: wanted the LID of the subnet manager, found 0 (no subnet manager has introduced itself to the port)",
            id="no SM LID",
        ),
        pytest.param(
            GOOD._replace(master=None, master_error="nobody answers on port mlx5_0/1"),
            "subnet manager of fabric ib: wanted one master on node1, found none (nobody answers on port mlx5_0/1)",
            id="no master",
        ),
        pytest.param(
            GOOD._replace(master=Master(MASTERS, 1, 5, 2, "node1 mlx5_0")),
            "subnet manager of fabric ib: wanted one master on node1, found node1 mlx5_0 (%s) in state standby" % MASTERS,
            id="standby only",
        ),
        pytest.param(
            GOOD._replace(opensm=Opensm((77,), ())),
            "opensm: wanted not running, not enabled at boot, found running (process 77), not enabled at boot (the designated host is node1)",
            id="opensm runs",
        ),
        pytest.param(
            GOOD._replace(opensm=Opensm((), ("opensm.service",))),
            "opensm: wanted not running, not enabled at boot, found not running, enabled (opensm.service) (the designated host is node1)",
            id="opensm enabled",
        ),
        pytest.param(GOOD._replace(netdevs=()), "interface ib0: wanted present, found absent (is ib_ipoib loaded, and is the port there?)", id="no interface"),
        pytest.param(GOOD._replace(netdevs=(IB0._replace(up=False),)), "interface ib0: wanted up, found down", id="interface down"),
        pytest.param(GOOD._replace(netdevs=(IB0._replace(mode="connected"),)), "interface ib0 mode: wanted datagram, found connected", id="mode"),
        pytest.param(GOOD._replace(netdevs=(IB0._replace(mtu=1500),)), "interface ib0 mtu: wanted 2044, found 1500", id="mtu"),
        pytest.param(
            GOOD._replace(netdevs=(IB0._replace(addresses=("10.20.0.3/24",)),)),
            "interface ib0 addresses: wanted 10.20.0.2/24, found 10.20.0.3/24",
            id="another address",
        ),
        pytest.param(
            GOOD._replace(netdevs=(IB0._replace(addresses=("10.20.0.2/16",)),)),
            "interface ib0 addresses: wanted 10.20.0.2/24, found 10.20.0.2/16",
            id="another prefix",
        ),
        pytest.param(GOOD._replace(loaded=frozenset(("ib_umad",))), "kernel module ib_ipoib: wanted loaded, found not loaded", id="module not loaded"),
        pytest.param(
            GOOD._replace(persisted=frozenset(("ib_umad",))),
            "kernel module ib_ipoib: wanted loaded at boot, found in no list of modules to load at boot",
            id="module not persisted",
        ),
    ],
)
def test_each_deviation_is_named_once(observed: Observed, expected: str) -> None:
    assert words(DECLARED, observed) == [expected]


def test_a_foreign_master_is_named() -> None:
    (line,) = words(DECLARED, GOOD._replace(master=Master("0x0000000000100001", 9, 15, 3, "ufm mlx5_0")))
    assert line.startswith("subnet manager of fabric ib: wanted one master on node1, found the master is ufm mlx5_0 (0x0000000000100001)")


def test_two_masters_are_named_on_the_designated_host() -> None:
    assert words(SM_DECLARED, SM_GOOD._replace(masters=(MASTERS, OWN))) == [
        "subnet manager of fabric ib: wanted one master on node2, found 2 masters: %s, %s" % (MASTERS, OWN)
    ]


def test_the_designated_host_runs_and_enables_opensm() -> None:
    assert words(SM_DECLARED, SM_GOOD._replace(opensm=Opensm((42,), ()))) == [
        "opensm: wanted running, enabled at boot, found running (process 42), not enabled at boot (this is the designated host)"
    ]


def test_a_master_elsewhere_is_wrong_on_the_designated_host() -> None:
    assert any("the master is" in line for line in words(SM_DECLARED, SM_GOOD._replace(master=Master(MASTERS, 1, 14, 3))))


def test_subnet_managers_are_left_alone_on_request() -> None:
    declared = DECLARED._replace(subnet_manager=False)
    assert compare(declared, GOOD._replace(master=None, opensm=Opensm((1,), ("opensm.service",)))) == []


def test_an_mtu_that_the_broadcast_group_clamps_comes_with_the_remedy() -> None:
    declared = DECLARED._replace(interfaces=(Interface("ib0", "datagram", mtu=4092),))
    joined = GOOD._replace(netdevs=(IB0._replace(carrier=True),))
    (deviation,) = compare(declared, joined)
    assert deviation.words().startswith("interface ib0 mtu: wanted 4092, found 2044") and "mtu=5" in deviation.hint
    assert deviation.lasting
    (deviation,) = compare(declared, GOOD)
    assert not deviation.lasting, "without a carrier nothing is known of the group yet"


def test_mode_auto_and_an_open_mtu_accept_what_is_there() -> None:
    declared = DECLARED._replace(interfaces=(Interface("ib0", "auto", addresses=("10.20.0.2/24",)),))
    assert compare(declared, GOOD._replace(netdevs=(IB0._replace(mode="connected", mtu=65520),))) == []


def test_a_child_is_compared_by_partition() -> None:
    declared = DECLARED._replace(interfaces=(Interface("ib0.8001", "auto", parent="ib0", pkey=0x8001),))
    child = Netdev(name="ib0.8001", kind="ipoib_child", port="mlx5_0/1", parent="ib0", pkey="0x8001", mode="datagram", mtu=2044, up=True)
    assert compare(declared, GOOD._replace(netdevs=(IB0, child))) == []
    assert words(declared, GOOD._replace(netdevs=(IB0, child._replace(pkey="0x8002")))) == ["interface ib0.8001 pkey: wanted 0x8001, found 0x8002"]


def test_an_absent_child_must_not_be_there_and_an_absent_parent_may() -> None:
    declared = DECLARED._replace(interfaces=(Interface("ib0", "auto", present=False), Interface("ib0.8001", "auto", parent="ib0", pkey=0x8001, present=False)))
    child = IB0._replace(name="ib0.8001", kind="ipoib_child", parent="ib0", pkey="0x8001")
    assert compare(declared, GOOD) == []
    assert words(declared, GOOD._replace(netdevs=(IB0, child))) == ["interface ib0.8001: wanted absent, found present"]


def test_addresses_compare_by_value() -> None:
    declared = DECLARED._replace(interfaces=(Interface("ib0", "auto", addresses=("fd00::1/64",)),))
    assert compare(declared, GOOD._replace(netdevs=(IB0._replace(addresses=("fd00:0:0::1/64",)),))) == []


def test_without_declared_ports_those_under_the_interfaces_are_checked() -> None:
    assert checked_ports(DECLARED._replace(ports=()), GOOD) == ("mlx5_0/1",)
    child = Interface("ib0.8001", "auto", parent="ib0", pkey=0x8001)
    assert checked_ports(Declared(interfaces=(child,)), GOOD) == ("mlx5_0/1",)
    assert checked_ports(Declared(), GOOD) == ()


def test_the_subnet_manager_is_asked_through_an_active_declared_infiniband_port() -> None:
    down = PORT._replace(name="mlx5_0/1", state="DOWN")
    other = PORT._replace(name="mlx5_1/1")
    roce = PORT._replace(name="mlx5_2/1", link_layer="Ethernet")
    assert fabric_port(DECLARED, GOOD._replace(ports=(roce, down, other))) == other
    assert fabric_port(DECLARED, GOOD._replace(ports=(other, PORT))) == PORT
    assert fabric_port(DECLARED, GOOD._replace(ports=(roce,))) is None


@pytest.mark.parametrize(
    ("declared", "master", "expected"),
    [
        (Declared(designated_host="node1"), Master(MASTERS, 1, 0, 3, "node1 mlx5_0"), True),
        (Declared(designated_host="node1.example.org"), Master(MASTERS, 1, 0, 3, "NODE1 HCA-1"), True),
        (Declared(designated_host="node1"), Master(MASTERS, 1, 0, 3, "node11 mlx5_0"), False),
        (Declared(designated_host="sm", designated_names=("node1.cluster",)), Master(MASTERS, 1, 0, 3, "node1 mlx5_0"), True),
        (Declared(designated_host="node1"), Master(MASTERS, 1, 0, 3, "MT4119 ConnectX5   Mellanox Technologies"), None),
        (Declared(designated_host="node1"), Master(MASTERS, 1, 0, 3, ""), None),
        (Declared(designated_host=""), Master(MASTERS, 1, 0, 3, "node1"), None),
        (Declared(designated_host="node1", designated_guids=(MASTERS,)), Master(MASTERS, 1, 0, 3, "other"), True),
        (Declared(designated_host="node1", designated_guids=("0x0",)), Master(MASTERS, 1, 0, 3, "node1"), False),
        (Declared(designated_host="node1"), Master(OWN, 1, 0, 3, "node1"), False),
        (Declared(designated_host="node2", designated=True), Master(OWN, 1, 0, 3), True),
        (Declared(designated_host="node2", designated=True), Master(MASTERS, 1, 0, 3, "node2"), False),
    ],
)
def test_who_the_master_is(declared: Declared, master: Master, expected: bool | None) -> None:
    assert is_designated(declared, GOOD, master) is expected


def test_a_master_without_a_name_is_its_guid() -> None:
    assert short(Master(MASTERS, 1, 0, 3, "MT4119 ConnectX5")) == MASTERS


def test_one_row_for_each_interface_and_each_port_without_one() -> None:
    second = PORT._replace(name="mlx5_1/1")
    declared = DECLARED._replace(ports=("mlx5_0/1", "mlx5_1/1"))
    observed = GOOD._replace(ports=(PORT, second))
    rows = table_rows(declared, observed, compare(declared, observed))
    assert [(row.port, row.interface, row.rate, row.sm, row.result) for row in rows] == [
        ("mlx5_0/1", "ib0", "100 Gb/sec", "node1", "OK"),
        ("mlx5_1/1", "-", "100 Gb/sec", "node1", "OK"),
    ]


def test_only_the_row_of_the_deviating_port_is_bad() -> None:
    second = PORT._replace(name="mlx5_1/1", state="DOWN", phys_state="Polling")
    declared = DECLARED._replace(ports=("mlx5_0/1", "mlx5_1/1"))
    observed = GOOD._replace(ports=(PORT, second))
    assert [row.result for row in table_rows(declared, observed, compare(declared, observed))] == ["OK", "BAD"]


def test_a_node_without_anything_has_a_row() -> None:
    declared, observed = Declared(), Observed(master_error="this node has no InfiniBand port")
    (row,) = table_rows(declared, observed, compare(declared, observed))
    assert (row.port, row.result) == ("-", "BAD")


def test_the_master_itself_is_marked() -> None:
    assert {row.sm for row in table_rows(SM_DECLARED, SM_GOOD, [])} == {"master"}


PORTS = st.builds(
    Port,
    name=st.sampled_from(("mlx5_0/1", "mlx5_1/1")),
    device=st.just("mlx5_0"),
    port=st.just(1),
    port_guid=st.sampled_from((OWN, MASTERS)),
    link_layer=st.sampled_from(("InfiniBand", "Ethernet")),
    state=st.sampled_from(("ACTIVE", "INIT", "DOWN")),
    phys_state=st.sampled_from(("LinkUp", "Polling")),
    lid=st.integers(0, 5),
    sm_lid=st.integers(0, 5),
)
NETDEVS = st.builds(
    Netdev,
    name=st.sampled_from(("ib0", "ib1", "ib0.8001")),
    kind=st.just("ipoib"),
    port=st.sampled_from(("", "mlx5_0/1", "mlx5_1/1")),
    pkey=st.sampled_from(("", "0xffff", "0x8001")),
    mode=st.sampled_from(("", "datagram", "connected")),
    mtu=st.sampled_from((2044, 4092)),
    up=st.booleans(),
    addresses=st.sampled_from(((), ("10.0.0.1/24",), ("10.0.0.1/24", "fd00::1/64"))),
)
WANTED = st.builds(
    Interface,
    name=st.sampled_from(("ib0", "ib1", "ib0.8001")),
    addresses=st.sampled_from(((), ("10.0.0.1/24",))),
    mode=st.sampled_from(("auto", "datagram", "connected")),
    mtu=st.sampled_from((0, 2044, 4092)),
    parent=st.sampled_from(("", "ib0")),
    pkey=st.sampled_from((0, 0x8001)),
    present=st.booleans(),
)
MODULE_SETS = st.frozensets(st.sampled_from(("ib_umad", "ib_ipoib", "rdma_ucm")))
OBSERVED = st.builds(
    Observed,
    ports=st.lists(PORTS, max_size=3).map(tuple),
    netdevs=st.lists(NETDEVS, max_size=3).map(tuple),
    loaded=MODULE_SETS,
    persisted=MODULE_SETS,
    master=st.none() | st.builds(Master, st.sampled_from((OWN, MASTERS)), st.just(1), st.just(0), st.integers(0, 3), st.sampled_from(("", "node1", "MT4119"))),
    masters=st.none() | st.lists(st.sampled_from((OWN, MASTERS)), max_size=2).map(tuple),
    opensm=st.builds(Opensm, st.sampled_from(((), (7,))), st.sampled_from(((), ("opensm.service",)))),
)
DECLARATIONS = st.builds(
    Declared,
    ports=st.lists(st.sampled_from(("mlx5_0/1", "mlx5_1/1")), unique=True).map(tuple),
    interfaces=st.lists(WANTED, max_size=3, unique_by=lambda wanted: wanted.name).map(tuple),
    modules=MODULE_SETS.map(sorted).map(tuple),
    subnet_manager=st.booleans(),
    designated=st.booleans(),
    designated_host=st.sampled_from(("", "node1")),
    designated_guids=st.sampled_from(((), (MASTERS,))),
)


@given(DECLARATIONS, OBSERVED)
def test_every_deviation_is_one_and_every_bad_node_shows_it(declared: Declared, observed: Observed) -> None:
    deviations = compare(declared, observed)
    assert all(deviation.wanted != deviation.found for deviation in deviations)
    rows = table_rows(declared, observed, deviations)
    assert rows
    assert any(row.result == "BAD" for row in rows) == bool(deviations)


@given(DECLARATIONS, OBSERVED)
def test_the_order_of_what_was_found_does_not_matter(declared: Declared, observed: Observed) -> None:
    names = [port.name for port in observed.ports], [netdev.name for netdev in observed.netdevs]
    if any(len(set(group)) != len(group) for group in names):
        return
    turned = observed._replace(ports=observed.ports[::-1], netdevs=observed.netdevs[::-1])
    assert compare(declared, turned) == compare(declared, observed)


@given(DECLARATIONS)
def test_a_node_with_nothing_deviates_where_anything_is_declared(declared: Declared) -> None:
    wanted = [*declared.ports, *declared.modules, *(item for item in declared.interfaces if item.present)]
    assert bool(compare(declared._replace(subnet_manager=False), Observed())) == bool(wanted)


def test_a_bond_is_compared_by_its_ports() -> None:
    bond = Interface("bond0", "connected", mtu=65520, addresses=("10.20.0.2/24",), bond=Bond(("ib0",)))
    port = Interface("ib0", "connected", mtu=65520, master="bond0")
    ib0 = Netdev("ib0", "ipoib", mode="connected", mtu=65520, up=True, master="bond0", port="mlx5_0/1")
    bond0 = Netdev("bond0", "bond", mtu=65520, up=True, addresses=("10.20.0.2/24",), members=("ib0",))
    declared = DECLARED._replace(interfaces=(port, bond))
    good = GOOD._replace(netdevs=(bond0, ib0))
    assert [text for text in words(declared, good) if "interface" in text] == []
    loose = good._replace(netdevs=(bond0, ib0._replace(master="")))
    assert [text for text in words(declared, loose) if "interface" in text] == ["interface ib0 bond: wanted bond0, found none"]
