# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bonds, routes and children on every network stack: check mode, run, idempotence, interruption at any point, and removal."""

from __future__ import annotations

import contextlib
import itertools
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _apply
from support.ipoib_declared import BOND, CHILDREN, STACKS, WANTED
from support.ipoib_node import CAPABLE, FakeNode, wait_briefly
from support.module_results import pending_words


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.2)


def new(path: pathlib.Path, stack: str, loaded: bool = True) -> FakeNode:
    node = FakeNode(path, stack, CAPABLE, "mlx4_core", ports=2)
    for name in ("ib0", "ib1") if loaded else ():
        node.appear(name)
    return node


def is_bare(node: FakeNode) -> None:
    """Check that the interface is as the kernel creates it, without any setting of the collection."""
    assert sorted(node.addresses) == ["ib0", "ib1"]
    for name in ("ib0", "ib1"):
        assert (node.addresses[name], node.get(name, "mode"), node.get(name, "mtu"), node.master(name)) == ([], "datagram", "2044", "")
    assert node.routes == []
    assert node.enabled == set()
    assert [path for path in node.root.rglob("*rdma*") if path.is_file()] == []


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("case", WANTED)
def test_check_mode_then_run_then_nothing_then_absent(tmp_path: pathlib.Path, stack: str, case: str) -> None:
    predicted = new(tmp_path / "fresh", stack, loaded=False).call(check=True, interfaces=WANTED[case])
    node = new(tmp_path / "node", stack)
    done = node.call(interfaces=WANTED[case])
    assert done["changes"] == predicted["changes"]
    assert [dict(item, mode_reason="") for item in done["interfaces"]] == [dict(item, mode_reason="") for item in predicted["interfaces"]]
    again = node.call(interfaces=WANTED[case])
    assert (again["changes"], node.argv) == ([], [])
    foreseen = node.call(check=True, state="absent")
    assert node.call(state="absent")["changes"] == foreseen["changes"]
    is_bare(node)
    assert not node.call(state="absent")["changed"]


def tour(cases: t.Sequence[str]) -> t.Iterator[str]:
    """Yield each transition between two cases exactly once: all steps of length 1, then of 2, and so on around a circle of prime size."""
    place = 0
    for stride in range(1, len(cases)):
        for _turn in cases:
            place = (place + stride) % len(cases)
            yield cases[place]


@pytest.mark.parametrize("stack", STACKS)
def test_from_each_to_each_other_and_nothing_left(tmp_path: pathlib.Path, stack: str) -> None:
    node = new(tmp_path, stack)
    cases = list(WANTED)
    node.call(interfaces=WANTED[cases[0]])
    steps = [cases[0]]
    for after in tour(cases):
        steps.append(after)
        foreseen = node.call(check=True, interfaces=WANTED[after])
        assert node.call(interfaces=WANTED[after])["changes"] == foreseen["changes"], steps[-2:]
        assert not node.call(interfaces=WANTED[after])["changed"], steps[-2:]
    assert set(zip(steps, steps[1:])) == set(itertools.permutations(cases, 2))
    node.call(state="absent")
    is_bare(node)


@pytest.mark.parametrize("stack", STACKS)
def test_broken_off_at_any_command(tmp_path: pathlib.Path, stack: str) -> None:
    """The next run completes the change, wherever the previous one stopped."""
    for step in range(1, 40):
        node = new(tmp_path / str(step), stack)
        reached = False
        for interfaces in (CHILDREN, WANTED["bond"], WANTED["smaller bond"], []):
            node.break_at = step
            with contextlib.suppress(CommandFailed):
                node.call(interfaces=interfaces)
            reached = reached or len(node.argv) >= step
            node.break_at = 0
            node.call(interfaces=interfaces)
            assert not node.call(interfaces=interfaces)["changed"]
        is_bare(node)
        if not reached:
            return
    raise AssertionError("a run of more than 40 commands")


@pytest.mark.parametrize(("before", "after"), list(itertools.permutations(STACKS, 2)))
def test_the_former_network_stack_lets_go(tmp_path: pathlib.Path, before: str, after: str) -> None:
    node = new(tmp_path, before)
    node.call(interfaces=WANTED["bond"])
    node.change_stack(after)
    node.call(interfaces=WANTED["bond"], backend=after)
    assert not node.call(interfaces=WANTED["bond"], backend=after)["changed"]
    assert (node.addresses["bond0"], node.members("bond0"), node.get("bond0", "mtu")) == (["10.20.0.1/24"], ["ib0", "ib1"], "65520")
    node.call(state="absent")
    is_bare(node)


def test_commands_for_a_bond_on_networkd(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=[BOND])
    assert node.argv == [
        "systemctl daemon-reload",
        "systemctl enable rdma-ofed-ipoib-mode.service",
        "ip link set dev ib0 mtu 65520",
        "ip link set dev ib1 mtu 65520",
        "ip link add name bond0 type bond mode active-backup fail_over_mac active miimon 100",
        "ip link set dev bond0 mtu 65520",
        "ip link set dev ib0 down",
        "ip link set dev ib0 master bond0",
        "ip link set dev ib1 down",
        "ip link set dev ib1 master bond0",
        "ip link set dev bond0 type bond primary ib1",
        "networkctl reload",
    ]


CHILD = "ip link add link ib1 name ib1.8001 type ipoib pkey 0x8001 mode datagram"


def test_children_come_in_the_step_in_which_their_parent_leaves_a_bond(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=[BOND])
    child = {"parent": "ib1", "pkey": 0x8001}
    bond1 = {"name": "bond1", "addresses": ["10.21.0.1/24"], "bond": {"ports": ["ib1.8001"]}}
    wanted = [{**BOND, "bond": {"ports": ["ib0"]}}, {"name": "ib1"}, child, bond1]
    node.call(interfaces=wanted)
    left, came, entered = (node.argv.index(words) for words in ("ip link set dev ib1 nomaster", CHILD, "ip link set dev ib1.8001 master bond1"))
    assert left < came < entered < node.argv.index("networkctl reload")
    assert not node.call(interfaces=wanted)["changed"]


def test_commands_on_networkmanager(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "networkmanager")
    node.call(interfaces=[BOND])
    assert node.argv == ["nmcli general reload conf", "nmcli connection reload", "nmcli --wait 60 connection up id rdma-bond0"]
    # A change that a running interface accepts causes no restart, and a port is never activated.
    node.call(interfaces=[{**BOND, "addresses": ["10.20.0.2/24"]}])
    assert node.argv == ["nmcli connection reload", "nmcli device reapply bond0"]
    node.addresses["bond0"].append("10.9.9.9/24")
    node.call(interfaces=[{**BOND, "addresses": ["10.20.0.2/24"]}])
    assert node.argv == ["nmcli connection reload", "nmcli device reapply bond0"]
    node.call(interfaces=[{**BOND, "addresses": ["10.20.0.2/24"], "mode": "datagram"}])
    assert node.argv == ["nmcli connection reload", "nmcli --wait 60 connection up id rdma-bond0"]
    node.call(state="absent")
    assert node.argv[0].startswith("nmcli connection down uuid ")


def test_a_primary_port_is_chosen_and_taken_back_live(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=[BOND])
    node.call(interfaces=[{**BOND, "bond": {"ports": ["ib0", "ib1"], "primary": "ib0", "miimon": 50}}])
    assert node.argv[:2] == ["ip link set dev bond0 type bond miimon 50", "ip link set dev bond0 type bond primary ib0"]
    node.call(interfaces=[{**BOND, "bond": {"ports": ["ib0", "ib1"]}}])
    assert node.get("bond0", "bonding/primary") == ""


def test_a_bond_that_the_module_has_made_by_itself_is_taken_over(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.bond("bond0", {})
    done = node.call(interfaces=[BOND])
    assert "bond0 bonding mode: balance-rr -> active-backup" in done["changes"]
    assert not node.call(interfaces=[BOND])["changed"]


def test_bonds_of_others_are_left_alone(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.bond("bond7", {"mode": "802.3ad 4"})
    node.call(interfaces=[BOND])
    node.call(state="absent")
    assert node.get("bond7", "bonding/mode") == "802.3ad 4"
    node.bond("bond8", {"mode": "active-backup 1"})
    node.link("ib1", "bond8")
    with pytest.raises(Refused, match="ib1 is a port of bond8, which is not declared"):
        node.call(interfaces=[{"name": "ib1"}])


def test_a_bond_wider_than_its_ports_is_said(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    wanted = [{**BOND, "mode": "datagram", "mtu": 4092}]
    done = node.call(interfaces=wanted)
    assert [reason for reason in done["reasons"] if "bond0: its MTU is 4092" in reason and "declare mtu: 2044" in reason]
    assert not node.call(interfaces=wanted)["changed"]


def test_routes_of_others_on_the_interface_go_and_those_of_the_kernel_stay(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "ifupdown")
    node.call(interfaces=WANTED["route"])
    node.route("ib0", "10.99.0.0/16", "", 0)
    node.routes.append({"dst": "10.20.0.0/24", "dev": "ib0", "protocol": "kernel"})
    assert node.call(interfaces=WANTED["route"])["changes"][0].startswith("ib0 routes: ")
    assert node.argv == ["ip -4 route del 10.99.0.0/16 dev ib0"]
    assert len(node.routes) == 3


def test_a_partition_that_is_not_assigned_yet_is_a_reason(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.write("sys/class/infiniband/hca_0/ports/1/pkeys/0", "0xffff")
    done = node.call(interfaces=[{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8002}])
    assert "the P_Key 0x8002 is not in the table of port hca_0/1 (0xffff)" in done["reasons"][0]


GUID = "0x0002c903000f0001"


def test_interfaces_by_their_port(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "ifupdown", loaded=False)
    node.appear("ibp3s0")
    node.set("ibp3s0", "address", CAPABLE)
    node.call(interfaces=[{"port_guid": GUID, "addresses": ["10.20.0.1/24"]}, {"parent": GUID, "pkey": 0x8001}])
    assert node.addresses == {"ibp3s0": ["10.20.0.1/24"], "ibp3s0.8001": []}
    with pytest.raises(InvalidInput, match="the adapter has 2 ports"):
        node.call(interfaces=[{"pci": "0000:03:00.0"}])


def test_an_interface_that_is_down_gets_its_name_at_once(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    wanted = [{"name": "storage", "port_guid": GUID, "addresses": ["10.20.0.1/24"]}]
    done = node.call(interfaces=wanted)
    assert "ib0 name: ib0 -> storage" in done["changes"]
    assert "ip link set dev ib0 name storage" in node.argv
    rule = node.read("etc/udev/rules.d/70-rdma-ofed-ipoib-names.rules")
    assert 'ATTR{address}=="*:00:02:c9:03:00:0f:00:01", NAME="storage"' in rule
    assert not node.call(interfaces=wanted)["changed"]
    node.call(state="absent")
    assert not (tmp_path / "etc/udev/rules.d/70-rdma-ofed-ipoib-names.rules").exists()


def test_an_interface_that_is_up_gets_its_name_at_the_next_start(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.up("ib0")
    wanted: list[t.Any] = [{"name": "storage", "port_guid": GUID, "addresses": ["10.20.0.1/24"]}, {"name": "ib1"}]
    foreseen = node.call(check=True, interfaces=wanted)
    done = node.call(interfaces=wanted)
    assert done["changes"] == foreseen["changes"]
    assert done["reboot_required"]
    assert pending_words(done) == ["ib0 name: ib0 -> storage (needs reboot; ib0 is up)"]
    assert node.addresses["ib0"] == []
    again = node.call(interfaces=wanted)
    assert (again["changed"], again["pending"]) == (False, done["pending"])


@pytest.mark.parametrize("ports", [(), ("ib0", "ib1")], ids=["empty", "with its ports"])
def test_a_bond_that_has_refused_a_port_is_made_anew(tmp_path: pathlib.Path, ports: t.Sequence[str]) -> None:
    """Another run, or another program, tried it with ports that could not have the bond's MTU."""
    node = new(tmp_path, "ifupdown")
    node.bond("bond0", {"mode": "active-backup 1", "fail_over_mac": "active 1", "miimon": "100"})
    for port in ports:
        node.link(port, "bond0")
    node.spoilt.add("bond0")
    assert node.call(interfaces=[BOND])["changed"]
    assert (node.get("bond0", "mtu"), node.members("bond0")) == ("65520", ["ib0", "ib1"])
    assert not node.call(interfaces=[BOND])["changed"]


def test_netplan_s_renderer_hears_of_a_bond_when_its_ports_are_in_it(tmp_path: pathlib.Path) -> None:
    """Also if files of the collection are removed, as those beside a child. With an earlier reload, networkd would enslave ports that cannot have the bond's
    MTU yet.
    """
    node = new(tmp_path, "netplan")
    child = {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.1/24"]}
    for interfaces in ([{"name": "ib0", "mode": "datagram"}, child, {"name": "ib1"}], [BOND]):
        node.argv.clear()
        # The node has no networkd to follow the commands.
        with contextlib.suppress(CommandFailed):
            node.call(interfaces=interfaces)
    assert "systemctl daemon-reload" in node.argv
    last = max(index for index, words in enumerate(node.argv) if words.endswith("master bond0"))
    assert node.argv.index("networkctl reload") > node.argv.index("netplan generate") > last


def test_what_netplan_generated_is_kept_before_any_file_is_changed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """systemd regenerates the files when it reloads its units, and networkd would treat them as changed."""
    node = new(tmp_path, "netplan")
    node.write("run/systemd/network/10-netplan-eth0.network", "eth0\n")
    kept = tmp_path / "run/systemd/network/.rdma-ofed/10-netplan-eth0.network"
    seen: list[bool] = []
    real = _apply.apply_file

    def apply_file(*arguments: t.Any, **more: t.Any) -> t.Any:
        seen.append(kept.exists())
        return real(*arguments, **more)

    monkeypatch.setattr(_apply, "apply_file", apply_file)
    # The node has no networkd to follow the commands.
    with contextlib.suppress(CommandFailed):
        node.call(interfaces=[{"name": "ib0", "addresses": ["10.20.0.1/24"]}])
    assert seen and all(seen)


def test_a_removal_broken_off_with_the_files_of_netplan_aside(tmp_path: pathlib.Path) -> None:
    """Everything else was done already: only the directory shows the next run that netplan and networkd were not notified."""
    node = new(tmp_path, "netplan")
    assert not node.call(state="absent")["changed"]
    node.write("run/systemd/network/10-netplan-eth0.network", "eth0\n")
    node.write("run/systemd/network/.rdma-ofed/10-netplan-eth0.network", "eth0\n")
    foreseen = node.call(check=True, state="absent")
    node.argv.clear()
    done = node.call(state="absent")
    assert done["changes"] == foreseen["changes"] == ["service systemd-networkd.service generated files: put aside -> in place"]
    assert [words for words in node.argv if words in ("netplan generate", "networkctl reload")][:2] == ["netplan generate", "networkctl reload"]
    assert not (tmp_path / "run/systemd/network/.rdma-ofed").exists()
    assert node.read("run/systemd/network/10-netplan-eth0.network") == "eth0"
    assert not node.call(state="absent")["changed"]
