# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planner: what it lists, what it refuses, and that a plan carried out leaves nothing to do."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import PREFIX
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _ifupdown, _networkd
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import IFUPDOWN, NETWORKD
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._capability import by_driver
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._linkplan import canonical
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._node import UNBORN, Decision, Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import decide
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._target import Record, Target, target_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Wanted, wanted_of
from hypothesis import given
from hypothesis import strategies as st

MAIN = "source /etc/network/interfaces.d/*\n"
DATAGRAM = Netdev("ib0", "ipoib", mode="datagram", mtu=2044, up=True)


def carried_out(node: Node, decision: Decision, group_mtu: int = 2044) -> Node:
    """The node after the decision: its files, its unit, and its interfaces on a fabric with that datagram MTU."""
    files = dict(node.files)
    unit = node.boot_unit
    for change in decision.plan.changes:
        if change.what.startswith(PREFIX):
            files[change.what[len(PREFIX) :]] = change.after
        elif change.what.startswith("service "):
            unit = unit._replace(enabled="enabled" if change.after == "yes" else "")
    netdevs = dict(node.netdevs)
    for record in decision.removed:
        netdev = netdevs.pop(record.name, None)
        if netdev is not None and not netdev.parent:
            left = tuple(address for address in netdev.addresses if address not in record.addresses)
            netdevs[record.name] = netdev._replace(mode=netdev.mode and "datagram", mtu=2044, addresses=left, up=bool(left) and netdev.up)
    for target in decision.targets:
        netdev = netdevs.get(target.name, UNBORN._replace(name=target.name, parent=target.parent, pkey="0x%04x" % target.pkey))
        mtu = target.mtu or (2044 if netdev.mode != target.mode else netdev.mtu)
        netdevs[target.name] = netdev._replace(
            mode=netdev.mode and target.mode, mtu=mtu if target.mode == "connected" else min(mtu, group_mtu), addresses=target.addresses, up=True
        )
    return node._replace(files={path: text for path, text in files.items() if text}, boot_unit=unit, netdevs=netdevs)


def words(decision: Decision) -> list[str]:
    return [change.words() for change in decision.plan.changes]


def test_fresh_node_and_node_with_ib_ipoib_loaded_are_planned_alike() -> None:
    target = Target("ib0", "datagram", addresses=("10.20.0.1/24",))
    loaded = Node({"ib0": Netdev("ib0", "ipoib", mode="datagram", mtu=2044)}, {})
    assert words(decide(Node({}, {}), [target], NETWORKD)) == words(decide(loaded, [target], NETWORKD))
    assert words(decide(loaded, [target], NETWORKD)) == [
        "create file /etc/systemd/network/50-rdma-ib0.network",
        "ib0 addresses: none -> 10.20.0.1/24",
        "ib0 link: down -> up",
    ]


def test_mode_comes_before_mtu_and_parents_before_children() -> None:
    targets = (Target("ib0", "connected", mtu=65520), Target("ib0.8001", "connected", mtu=65520, parent="ib0", pkey=0x8001))
    found = words(decide(Node({"ib0": DATAGRAM}, {}), targets, NETWORKD))
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
    targets = (Target("ib0", "connected"), Target("ib0.8001", "connected", parent="ib0", pkey=0x8001))
    found = words(decide(Node({}, {}, raised=True), targets, NETWORKD))
    assert "ib0 link: down -> up" not in found
    assert "ib0.8001 link: down -> up" in found


@pytest.mark.parametrize("mtu", [2044, 4092])
def test_the_mtu_before_the_first_join_is_nobodys(mtu: int) -> None:
    """The kernel begins with what the port could, and takes the group's when it joins: check mode can't know either."""
    fresh = decide(Node({"ib0": DATAGRAM._replace(mtu=mtu, up=False)}, {}), [Target("ib0", "connected", mtu=65520)], NETWORKD)
    assert words(fresh) == words(decide(Node({}, {}), [Target("ib0", "connected", mtu=65520)], NETWORKD))


def test_clamped_mtu_is_a_reason_and_no_change() -> None:
    target = Target("ib0", "datagram", mtu=4092)
    node = Node({"ib0": DATAGRAM}, {})
    first = decide(node, [target], NETWORKD)
    assert "ib0 mtu: 2044 -> 4092" in words(first)
    assert first.reasons == ()
    second = decide(carried_out(node, first), [target], NETWORKD)
    assert not second.plan
    assert len(second.reasons) == 1
    assert "mtu=5" in second.reasons[0]


def test_mtu_that_no_group_imposes_is_a_change() -> None:
    target = Target("ib0", "datagram", mtu=4092)
    node = Node({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [target], NETWORKD))
    tampered = after._replace(netdevs={"ib0": DATAGRAM._replace(mtu=1500)})
    assert words(decide(tampered, [target], NETWORKD)) == ["ib0 mtu: 1500 -> 4092"]


def test_removed_interface_returns_to_the_kernels_state() -> None:
    target = Target("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24",))
    node = Node({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [target], NETWORKD))
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
    targets = (Target("ib0", "datagram"), Target("ib0.8001", "datagram", parent="ib0", pkey=0x8001))
    node = Node({"ib0": DATAGRAM}, {_ifupdown.MAIN: MAIN})
    after = carried_out(node, decide(node, targets, IFUPDOWN))
    gone = decide(after, [], IFUPDOWN)
    assert [record.name for record in gone.removed] == ["ib0.8001", "ib0"]
    assert words(gone)[0] == "ib0.8001 device: P_Key child 0x8001 of ib0 -> none"


def test_other_peoples_interfaces_and_addresses_stay() -> None:
    node = Node({"ib0": DATAGRAM._replace(addresses=("10.9.0.1/24",)), "ib1": DATAGRAM}, {_ifupdown.MAIN: MAIN})
    assert not decide(node, [], IFUPDOWN).plan


def test_files_of_the_former_network_stack_go() -> None:
    target = Target("ib0", "datagram", addresses=("10.20.0.1/24",))
    node = Node({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [target], NETWORKD))
    assert words(decide(after, [target], IFUPDOWN)) == [
        "create file /etc/network/interfaces",
        "create file /etc/network/interfaces.d/rdma-ib0",
        "remove file /etc/systemd/network/50-rdma-ib0.network",
    ]


def test_foreign_files_are_refused_by_name() -> None:
    files = {"/etc/systemd/network/10-ib.network": "[Match]\nName=ib*\n", _ifupdown.MAIN: "iface ib0 inet dhcp\n"}
    with pytest.raises(Refused, match=r"/etc/systemd/network/10-ib\.network configures ib0"):
        decide(Node({}, files), [Target("ib0")], NETWORKD)
    with pytest.raises(Refused, match=r"/etc/network/interfaces configures ib0"):
        decide(Node({}, {_ifupdown.MAIN: files[_ifupdown.MAIN]}, stacks=frozenset([IFUPDOWN])), [Target("ib0")], NETWORKD)
    with pytest.raises(Refused, match="is not of this collection"):
        decide(Node({}, {_networkd.path_of("ib0", "network"): "[Match]\nName=other\n"}), [Target("ib0")], NETWORKD)


@pytest.mark.parametrize(
    "targets",
    [
        [Target("ib0", "datagram", addresses=("10.20.0.2/24",))],
        [Target("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24",))],
        [],
    ],
)
def test_the_branch_that_the_run_sits_on(targets: list[Target]) -> None:
    target = Target("ib0", "datagram", addresses=("10.20.0.1/24",))
    node = Node({"ib0": DATAGRAM}, {})
    after = carried_out(node, decide(node, [target], NETWORKD))._replace(ssh_path=frozenset(["ib0"]))
    assert not decide(after, [target], NETWORKD).plan
    assert decide(after, [target._replace(addresses=("10.20.0.1/24", "10.20.0.2/24"))], NETWORKD).plan
    with pytest.raises(Refused, match="the connection of this run goes through"):
        decide(after, targets, NETWORKD)


@pytest.mark.parametrize(
    ("driver", "hca_type", "capable"),
    [("mlx5_core", "MT4119", False), ("mlx5_core", "MT4113", True), ("mlx4_core", "MT4099", True), ("ib_qib", "", True), ("hfi1", "", False), ("", "", False)],
)
def test_capability_by_driver(driver: str, hca_type: str, capable: bool) -> None:
    verdict = by_driver(driver, hca_type)
    assert verdict.capable == capable
    assert verdict.reason


def test_auto_mode() -> None:
    facts = {"netdevs": [{"name": "ib0", "connected_capable": True, "connected_reason": "80"}, {"name": "ib1", "connected_reason": "00"}]}
    assert target_of(Wanted("ib0"), facts) == Target("ib0", "connected", "auto: 80", 65520)
    assert target_of(Wanted("ib1"), facts) == Target("ib1", "datagram", "auto: 00", 0)
    assert target_of(Wanted("ib0", mode="datagram"), facts) == Target("ib0", "datagram", "declared", 0)
    mixed = {
        "ports": [{"name": "mlx4_0/1", "device": "mlx4_0", "link_layer": "InfiniBand"}, {"name": "mlx5_0/1", "device": "mlx5_0", "link_layer": "InfiniBand"}],
        "hcas": [{"name": "mlx4_0", "driver": "mlx4_core"}, {"name": "mlx5_0", "driver": "mlx5_core"}],
    }
    assert [target_of(Wanted(name), mixed).mode for name in ("ib0", "ib1", "ibp1s0")] == ["connected", "datagram", "datagram"]


NAMES = ("ib0", "ib1")
ADDRESSES = st.lists(st.sampled_from(["10.20.0.1/24", "10.20.0.2/24", "10.21.0.1/16", "fd00:20::1/64"]), max_size=3, unique=True).map(tuple)


@st.composite
def target_lists(draw: st.DrawFn) -> tuple[Target, ...]:
    found: list[Target] = []
    for name in draw(st.lists(st.sampled_from(NAMES), unique=True)):
        for parent, own in [("", name)] + [(name, name + ".8001")] * draw(st.booleans()):
            mode = draw(st.sampled_from(["datagram", "connected"]))
            mtu = draw(st.sampled_from([0, 1500, 2044, 4092])) if mode == "datagram" else draw(st.sampled_from([65520, 32000]))
            found.append(Target(own, mode, "", mtu, draw(ADDRESSES), parent, 0x8001 if parent else 0))
    return tuple(sorted(found, key=lambda target: (target.is_child, target.name)))


@st.composite
def nodes(draw: st.DrawFn) -> Node:
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
    return Node(netdevs, {_ifupdown.MAIN: main} if main else {}, Unit(_boot.UNIT))


@given(nodes(), target_lists(), target_lists(), st.sampled_from([NETWORKD, IFUPDOWN]), st.sampled_from([NETWORKD, IFUPDOWN]), st.sampled_from([2044, 4092]))
def test_a_plan_carried_out_leaves_nothing_to_do(
    node: Node, first: tuple[Target, ...], second: tuple[Target, ...], before: str, after: str, group_mtu: int
) -> None:
    for targets, backend in ((first, before), (second, after), ((), after)):
        decision = decide(node, targets, backend)
        assert all(change.before != change.after for change in decision.plan.changes)
        node = carried_out(node, decision, group_mtu)
        again = decide(node, targets, backend)
        assert words(again) == []
    assert not [path for path in node.files if "rdma" in path]


@given(st.permutations([{"name": "ib1"}, {"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001}, {"parent": "ib0", "pkey": "8002"}]))
def test_the_order_of_input_does_not_matter(interfaces: list[dict[str, t.Any]]) -> None:
    assert [wanted.name for wanted in wanted_of(interfaces)] == ["ib0", "ib1", "ib0.8001", "ib0.8002"]


def test_addresses_have_one_spelling() -> None:
    assert canonical(["FD00:0::1/64", "10.0.0.1/8"]) == ("10.0.0.1/8", "fd00::1/64")
    assert Record("ib0") == Record("ib0", (), 0)
