# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner: what it lists, what it refuses, and that an executed plan leaves nothing to do."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connected import Capability, of_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifupdown, _networkd
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import UNBORN, Found, Presence, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import capability_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Interface, Wanted, interfaces_of, settled
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from hypothesis import given
from hypothesis import strategies as st

IFUPDOWN, NETWORKD = "ifupdown", "systemd-networkd"
MAIN = "source /etc/network/interfaces.d/*\n"
DATAGRAM = Netdev("ib0", "ipoib", mode="datagram", mtu=2044, up=True)


def carried_out(node: Found, decision: IpoibPlan, group_mtu: int = 2044) -> Found:
    """Return the node after the decision: its files, its unit, and its interfaces on a fabric with that datagram MTU."""
    files = dict(node.files)
    unit = node.boot_unit
    for change in decision.plan.changes:
        if change.kind == Kind.FILE:
            files[change.subject] = change.after
        elif change.is_about(Kind.UNIT, _boot.UNIT):
            unit = unit._replace(enabled="enabled" if change.after == "yes" else "")
    netdevs = dict(node.netdevs)
    for record in decision.removed:
        netdev = netdevs.pop(record.name, None)
        if netdev is not None and not netdev.parent:
            left = tuple(address for address in netdev.addresses if address not in record.addresses)
            netdevs[record.name] = netdev._replace(mode=netdev.mode and "datagram", mtu=2044, addresses=left, up=bool(left) and netdev.up)
    for interface in decision.interfaces:
        netdev = netdevs.get(interface.name, UNBORN._replace(name=interface.name, parent=interface.parent, pkey="0x%04x" % interface.pkey))
        mtu = interface.mtu or (2044 if netdev.mode != interface.mode else netdev.mtu)
        netdevs[interface.name] = netdev._replace(
            mode=netdev.mode and interface.mode, mtu=mtu if interface.mode == "connected" else min(mtu, group_mtu), addresses=interface.addresses, up=True
        )
    return node._replace(files={path: text for path, text in files.items() if text}, boot_unit=unit, netdevs=netdevs)


def decide(node: Found, interfaces: t.Sequence[Interface], backend: str) -> IpoibPlan:
    """Decide with the consent to remove all interfaces."""
    return plan(Wanted(tuple(interfaces), backend, dismissed=None), node)


def words(decision: IpoibPlan) -> list[str]:
    return [change.words() for change in decision.plan.changes]


def test_fresh_node_and_node_with_ib_ipoib_loaded_are_planned_alike() -> None:
    interface = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))
    loaded = Found({"ib0": Netdev("ib0", "ipoib", mode="datagram", mtu=2044)}, {})
    assert words(decide(Found({}, {}), [interface], NETWORKD)) == words(decide(loaded, [interface], NETWORKD))
    assert words(decide(loaded, [interface], NETWORKD)) == [
        "create file /etc/systemd/network/50-rdma-ib0.network",
        "ib0 addresses: none -> 10.20.0.1/24",
        "ib0 link: down -> up",
    ]


def test_mode_comes_before_mtu_and_parents_before_children() -> None:
    interfaces = (Interface("ib0", "connected", mtu=65520), Interface("ib0.8001", "connected", mtu=65520, parent="ib0", pkey=0x8001))
    found = words(decide(Found({"ib0": DATAGRAM}, {}), interfaces, NETWORKD))
    assert found[-7:] == [
        "service rdma-ofed-ipoib-mode.service enabled: no -> yes",
        "ib0 mode: datagram -> connected",
        "ib0 mtu: none -> 65520",
        "ib0.8001 device: none -> P_Key child 0x8001 of ib0",
        "ib0.8001 mode: datagram -> connected",
        "ib0.8001 mtu: none -> 65520",
        "ib0.8001 link: down -> up",
    ]


def test_what_appears_is_brought_up_by_networkmanager() -> None:
    interfaces = (Interface("ib0", "connected"), Interface("ib0.8001", "connected", parent="ib0", pkey=0x8001))
    found = words(decide(Found({}, {}, backends={NETWORKD: Presence(raises=True)}), interfaces, NETWORKD))
    assert "ib0 link: down -> up" not in found
    assert "ib0.8001 link: down -> up" in found


@pytest.mark.parametrize("mtu", [2044, 4092])
def test_the_mtu_before_the_first_join_is_nobodys(mtu: int) -> None:
    """The kernel starts with the port's maximum and takes the group's MTU when it joins, so check mode cannot know either."""
    fresh = decide(Found({"ib0": DATAGRAM._replace(mtu=mtu, up=False)}, {}), [Interface("ib0", "connected", mtu=65520)], NETWORKD)
    assert words(fresh) == words(decide(Found({}, {}), [Interface("ib0", "connected", mtu=65520)], NETWORKD))


def test_clamped_mtu_is_a_reason_and_no_change() -> None:
    interface = Interface("ib0", "datagram", mtu=4092)
    node = Found({"ib0": DATAGRAM}, {})
    first = decide(node, [interface], NETWORKD)
    assert "ib0 mtu: 2044 -> 4092" in words(first)
    assert first.reasons == ()
    second = decide(carried_out(node, first), [interface], NETWORKD)
    assert not second.plan
    assert len(second.reasons) == 1
    assert "mtu: 4096 in opensm_partitions" in second.reasons[0]


def test_mtu_that_no_group_imposes_is_a_change() -> None:
    interface = Interface("ib0", "datagram", mtu=4092)
    node = Found({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [interface], NETWORKD))
    tampered = after._replace(netdevs={"ib0": DATAGRAM._replace(mtu=1500)})
    assert words(decide(tampered, [interface], NETWORKD)) == ["ib0 mtu: 1500 -> 4092"]


@pytest.mark.parametrize("lent", [{"dynamic_addresses": ("10.20.0.51/24",)}, {"addresses": ("10.20.0.51/24",)}, {}])
def test_an_address_from_dhcp_stays_whether_or_not_its_lease_ends(lent: dict[str, t.Any]) -> None:
    interface = Interface("ib0", "datagram", addresses=("fd00::1/64",), dhcp=True)
    node = Found({"ib0": DATAGRAM._replace(addresses=("fd00::1/64",))}, {})
    node = carried_out(node, decide(node, [interface], NETWORKD))
    own = ("fd00::1/64", *lent.get("addresses", ()))
    there = node._replace(netdevs={"ib0": node.netdevs["ib0"]._replace(**{**lent, "addresses": own})}, ssh_path=frozenset(["ib0"]))
    assert not decide(there, [interface], NETWORKD).plan
    # What is neither declared nor of IPv4 comes from no server of DHCP.
    strange = there._replace(netdevs={"ib0": there.netdevs["ib0"]._replace(addresses=(*own, "fd00::2/64"))}, ssh_path=frozenset())
    assert [change.aspect for change in decide(strange, [interface], NETWORKD).plan.changes] == ["addresses"]


@pytest.mark.parametrize("backend", ["ifupdown", "netplan", "networkmanager", "ifcfg", "wicked"])
def test_dhcp_is_refused_where_it_would_have_no_client_identifier(backend: str) -> None:
    with pytest.raises(Refused, match=r"ib0, ib1: dhcp needs a client identifier"):
        decide(Found({"ib0": DATAGRAM, "ib1": DATAGRAM}, {}), [Interface(name, "datagram", dhcp=True) for name in ("ib0", "ib1")], backend)


def test_removed_interface_returns_to_the_kernels_state() -> None:
    interface = Interface("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24",))
    node = Found({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [interface], NETWORKD))
    assert words(decide(after, [], NETWORKD)) == [
        "ib0 addresses: 10.20.0.1/24 -> none",
        "ib0 mode: connected -> datagram",
        "ib0 mtu: 65520 -> 2044",
        "ib0 link: up -> down",
        "remove file /etc/systemd/network/50-rdma-ib0.network",
        "remove file /etc/systemd/system/rdma-ofed-ipoib-mode.service",
        "remove file /etc/udev/rules.d/90-rdma-ofed-ipoib-mode.rules",
        "remove file /usr/local/libexec/rdma-ofed-ipoib-mode",
        "service rdma-ofed-ipoib-mode.service enabled: yes -> no",
    ]


def test_children_are_removed_before_their_parents() -> None:
    interfaces = (Interface("ib0", "datagram"), Interface("ib0.8001", "datagram", parent="ib0", pkey=0x8001))
    node = Found({"ib0": DATAGRAM}, {_ifupdown.MAIN: MAIN})
    after = carried_out(node, decide(node, interfaces, IFUPDOWN))
    gone = decide(after, [], IFUPDOWN)
    assert [record.name for record in gone.removed] == ["ib0.8001", "ib0"]
    assert words(gone)[0] == "ib0.8001 device: P_Key child 0x8001 of ib0 -> none"


def test_other_peoples_interfaces_and_addresses_stay() -> None:
    node = Found({"ib0": DATAGRAM._replace(addresses=("10.9.0.1/24",)), "ib1": DATAGRAM}, {_ifupdown.MAIN: MAIN})
    assert not decide(node, [], IFUPDOWN).plan


def test_files_of_the_former_network_stack_go() -> None:
    interface = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))
    node = Found({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [interface], NETWORKD))
    assert words(decide(after, [interface], IFUPDOWN)) == [
        "create file /etc/network/interfaces",
        "create file /etc/network/interfaces.d/rdma-ib0",
        "remove file /etc/systemd/network/50-rdma-ib0.network",
    ]


def test_foreign_files_are_refused_by_name() -> None:
    files = {"/etc/systemd/network/10-ib.network": "[Match]\nName=ib*\n", _ifupdown.MAIN: "iface ib0 inet dhcp\n"}
    with pytest.raises(Refused, match=r"/etc/systemd/network/10-ib\.network configures ib0"):
        decide(Found({}, files), [Interface("ib0")], NETWORKD)
    with pytest.raises(Refused, match=r"/etc/network/interfaces configures ib0"):
        decide(Found({}, {_ifupdown.MAIN: files[_ifupdown.MAIN]}, backends={IFUPDOWN: Presence(in_use=True)}), [Interface("ib0")], NETWORKD)
    with pytest.raises(Refused, match="does not belong to this collection"):
        decide(Found({}, {_networkd.path_of("ib0", "network"): "[Match]\nName=other\n"}), [Interface("ib0")], NETWORKD)


@pytest.mark.parametrize(
    "interfaces",
    [
        [Interface("ib0", "datagram", addresses=("10.20.0.2/24",))],
        [Interface("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24",))],
        [],
    ],
)
def test_the_branch_that_the_run_sits_on(interfaces: list[Interface]) -> None:
    interface = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))
    node = Found({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [interface], NETWORKD))._replace(ssh_path=frozenset(["ib0"]))
    assert not decide(after, [interface], NETWORKD).plan
    assert decide(after, [interface._replace(addresses=("10.20.0.1/24", "10.20.0.2/24"))], NETWORKD).plan
    with pytest.raises(Refused, match="the connection of this run goes through"):
        decide(after, interfaces, NETWORKD)


@pytest.mark.parametrize("hca_type", ["MT4099", "MT4113", "MT4119", ""])
@pytest.mark.parametrize("driver", ["mlx4_core", "mlx5_core", "mlx5_core.sf", "ib_mthca", "ib_qib", "hfi1", ""])
def test_connected_mode_is_predicted_as_in_the_facts(driver: str, hca_type: str) -> None:
    node = {
        "ports": [{"name": "a/1", "device": "a", "link_layer": "InfiniBand"}],
        "hcas": [{"name": "a", "driver": driver, "type": hca_type}],
    }
    assert capability_of("ib0", "", node) == of_driver(driver, hca_type)


def test_connected_mode_is_predicted_for_the_port_that_the_name_will_be_on() -> None:
    mixed = {
        "ports": [{"name": "mlx4_0/1", "device": "mlx4_0", "link_layer": "InfiniBand"}, {"name": "mlx5_0/1", "device": "mlx5_0", "link_layer": "InfiniBand"}],
        "hcas": [{"name": "mlx4_0", "driver": "mlx4_core"}, {"name": "mlx5_0", "driver": "mlx5_core"}],
    }
    # A name that does not reveal its port may be on any.
    assert [capability_of(name, "", mixed).capable for name in ("ib0", "ib1", "ibp1s0")] == [True, False, False]
    assert capability_of("storage", "ib0", mixed).capable
    seen = {**mixed, "netdevs": [{"name": "ib0", "connected_capable": False, "connected_reason": "00"}]}
    assert capability_of("ib0", "", seen) == capability_of("storage", "ib0", seen) == Capability(False, "00")


def test_auto_is_datagram_whatever_the_port_can_do() -> None:
    assert settled([Interface("ib0", "auto")]) == (Interface("ib0", "datagram", "the default", 0),)
    assert settled([Interface("ib0", "connected")]) == (Interface("ib0", "connected", "declared", 65520),)
    assert settled([Interface("ib0", "datagram")]) == (Interface("ib0", "datagram", "declared", 0),)


NAMES = ("ib0", "ib1")
ADDRESSES = st.lists(st.sampled_from(["10.20.0.1/24", "10.20.0.2/24", "10.21.0.1/16", "fd00:20::1/64"]), max_size=3, unique=True).map(tuple)


@st.composite
def target_lists(draw: st.DrawFn) -> tuple[Interface, ...]:
    found: list[Interface] = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        for parent, own in [("", name)] + [(name, name + ".8001")] * draw(st.booleans()):
            mode = draw(st.sampled_from(["datagram", "connected"]))
            mtu = draw(st.sampled_from([0, 1500, 2044, 4092])) if mode == "datagram" else draw(st.sampled_from([65520, 32000]))
            found.append(Interface(own, mode, "", mtu, draw(ADDRESSES), parent, 0x8001 if parent else 0))
    return tuple(sorted(found, key=lambda interface: (interface.is_child, interface.name)))


@st.composite
def nodes(draw: st.DrawFn) -> Found:
    netdevs = {}
    for name in NAMES:
        netdevs[name] = Netdev(
            name,
            "ipoib",
            mode=draw(st.sampled_from(["", "datagram", "connected"])),
            mtu=draw(st.sampled_from([1500, 2044, 65520])),
            up=draw(st.booleans()),
            addresses=draw(ADDRESSES),
        )
    main = draw(st.sampled_from(["", "auto lo\n", MAIN]))
    return Found(netdevs, {_ifupdown.MAIN: main} if main else {}, boot_unit=Unit(_boot.UNIT))


@given(nodes(), target_lists(), target_lists(), st.sampled_from([NETWORKD, IFUPDOWN]), st.sampled_from([NETWORKD, IFUPDOWN]), st.sampled_from([2044, 4092]))
def test_a_plan_carried_out_leaves_nothing_to_do(
    node: Found, first: tuple[Interface, ...], second: tuple[Interface, ...], before: str, after: str, group_mtu: int
) -> None:
    for interfaces, backend in ((first, before), (second, after), ((), after)):
        decision = decide(node, interfaces, backend)
        assert all(change.before != change.after for change in decision.plan.changes)
        node = carried_out(node, decision, group_mtu)
        again = decide(node, interfaces, backend)
        assert words(again) == []
    assert not [path for path in node.files if "rdma" in path]


@given(st.permutations([{"name": "ib1"}, {"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001}, {"parent": "ib0", "pkey": "8002"}]))
def test_the_order_of_input_does_not_matter(interfaces: list[dict[str, t.Any]]) -> None:
    assert [wanted.name for wanted in interfaces_of(interfaces)] == ["ib0", "ib1", "ib0.8001", "ib0.8002"]


def test_addresses_have_one_spelling() -> None:
    assert canonical(["FD00:0::1/64", "10.0.0.1/8"]) == ("10.0.0.1/8", "fd00::1/64")
    assert Record("ib0") == Record("ib0", (), 0)


OURS = {_networkd.path_of(name, "network"): _networkd.render([Interface(name, "datagram")])[_networkd.path_of(name, "network")] for name in ("ib0", "ib1")}


def test_a_declaration_without_interfaces_needs_consent() -> None:
    node = Found({"ib0": DATAGRAM}, OURS)
    with pytest.raises(Refused, match=r"declares no interface, .* ib0, ib1; .* rdma_allow_removal: true") as refusal:
        plan(Wanted(), node)
    assert refusal.value.details == {"removed": ["ib0", "ib1"]}
    assert [record.name for record in plan(Wanted(dismissed=None), node).removed] == ["ib0", "ib1"]


def test_what_is_named_as_absent_may_go_without_consent() -> None:
    node = Found({"ib0": DATAGRAM}, OURS)
    assert [record.name for record in plan(Wanted(dismissed=frozenset(("ib0", "ib1"))), node).removed] == ["ib0", "ib1"]
    with pytest.raises(Refused, match="earlier runs: ib1;"):
        plan(Wanted(dismissed=frozenset(("ib0",))), node)


def test_one_of_several_interfaces_may_go_without_consent() -> None:
    wanted = Wanted((Interface("ib0", "datagram"),), NETWORKD)
    assert [record.name for record in plan(wanted, Found({"ib0": DATAGRAM}, OURS)).removed] == ["ib1"]


def test_a_node_without_interfaces_of_ours_needs_no_consent() -> None:
    assert plan(Wanted(), Found({"ib0": DATAGRAM})).plan.changes == ()
