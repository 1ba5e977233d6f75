# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run reports what a node cannot do before it removes anything, and a failed run reports what it has changed."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import look_whole
from support.ipoib_node import CAPABLE, FakeNode, wait_briefly

IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]
BOND: list[t.Any] = [{"name": "bond0", "addresses": ["10.20.0.1/24"], "bond": {"ports": ["ib0", "ib1"]}}]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.3)


def node_with_address(root: pathlib.Path, stack: str, *, bonding: bool = False) -> FakeNode:
    node = FakeNode(root, stack, ports=2, bonding=bonding)
    for name in ("ib0", "ib1"):
        node.appear(name)
    node.call(interfaces=[*IB0, {"name": "ib1"}])
    return node


@pytest.mark.parametrize("stack", ["systemd-networkd", "ifupdown", "networkmanager"])
@pytest.mark.parametrize("check", [True, False])
def test_a_kernel_without_bonding(tmp_path: pathlib.Path, stack: str, check: bool) -> None:
    node = node_with_address(tmp_path, stack)
    node.write("proc/sys/kernel/osrelease", "6.1.0-9-cloud")
    node.write("lib/modules/6.1.0-9-cloud/modules.dep", "kernel/net/core/dummy.ko:")
    before = {path: path.read_text() for path in tmp_path.rglob("*rdma*") if path.is_file()}
    with pytest.raises(Refused, match=r"bond0 can't be made: kernel 6\.1\.0-9-cloud has no bonding driver"):
        node.call(check=check, interfaces=BOND)
    assert (node.argv, node.addresses["ib0"]) == ([], ["10.20.0.1/24"])
    assert {path: path.read_text() for path in tmp_path.rglob("*rdma*") if path.is_file()} == before
    assert "no bonding driver" in refusals(Options(interfaces=BOND)._asdict(), look_whole(node, {}, str(tmp_path)))[0]
    # A module for another kernel would not help; a built-in one needs no file.
    node.write("lib/modules/6.1.0-9-cloud/modules.builtin", "kernel/drivers/net/bonding/bonding.ko")
    assert refusals(Options(interfaces=BOND)._asdict(), look_whole(node, {}, str(tmp_path))) == []


@pytest.mark.parametrize("loads", [True, False])
def test_the_bonding_driver_is_loaded_before_the_ports_lose_anything(tmp_path: pathlib.Path, loads: bool) -> None:
    node = node_with_address(tmp_path, "systemd-networkd")
    node.tools.add("modprobe")

    def modprobe(words: list[str]) -> None:
        assert words == ["bonding", "max_bonds=0"]
        assert node.addresses["ib0"] == ["10.20.0.1/24"]
        if loads:
            node.write("sys/class/net/bonding_masters", "")
        else:
            raise CommandFailed("modprobe: ERROR: could not insert 'bonding': Operation not permitted")

    node._modprobe = modprobe  # type: ignore[attr-defined]
    if loads:
        assert node.call(interfaces=BOND)["changed"]
        return
    with pytest.raises(Refused, match="bond0 can't be made: the kernel of this node did not load the driver bonding") as raised:
        node.call(interfaces=BOND)
    assert (raised.value.details["changed"], raised.value.details["changes"]) == (False, [])
    assert (node.argv, node.addresses["ib0"]) == (["modprobe bonding max_bonds=0"], ["10.20.0.1/24"])


def test_a_run_that_fails_says_what_it_has_changed(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    node.break_at = 1
    with pytest.raises(CommandFailed) as raised:
        node.call(interfaces=IB0)
    assert raised.value.details["changed"] is True
    assert raised.value.details["changes"] == ["create file /etc/systemd/network/50-rdma-ib0.network"]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/usr/share/ifupdown2/ifupdown2", "ifupdown2"),
        ("ifupdown", "ifupdown-ng"),
        ("/bin/busybox", "BusyBox"),
        (None, ""),
    ],
)
def test_another_program_that_is_called_ifup(tmp_path: pathlib.Path, target: str | None, name: str) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    (tmp_path / "sbin").mkdir()
    if target is None:
        (tmp_path / "sbin/ifup").write_text("")
        assert node.call(interfaces=IB0)["changed"]
        return
    (tmp_path / "sbin/ifup").symlink_to(target)
    for check in (True, False):
        with pytest.raises(Refused, match=r"the ifup of this node is that of %s \(.*name another back-end" % name):
            node.call(check=check, interfaces=IB0)
    assert node.argv == []
    # It does not concern another back end, or the removal of what an earlier run configured.
    node.change_stack("systemd-networkd")
    assert node.call(interfaces=IB0, backend="systemd-networkd")["backend"] == "systemd-networkd"
    assert node.call(state="absent")["changed"]


def test_children_whose_names_would_be_the_same() -> None:
    parents = ["ibP22p3s0f0", "ibP22p3s0f1"]
    declared = [*({"name": parent} for parent in parents), *({"parent": parent, "pkey": 0x8001} for parent in parents)]
    (problem,) = problems({"ipoib_interfaces": declared})
    assert (problem.variable, problem.value) == ("ipoib_interfaces[3].parent", "ibP22p3s0f1")
    assert "ibP22p3s0f0 (ipoib_interfaces[2]) would be ibP22p3s0f.8001" in problem.hint
    assert "name beside port_guid or pci" in problem.hint
    declared[3] = {"parent": parents[1], "pkey": 0x8002}
    assert problems({"ipoib_interfaces": declared}) == []


def test_a_child_whose_name_that_of_another_parent_has(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", ports=2)
    node.appear("ib0")
    node.appear("ib1")
    node.appear("ib1.8001", "ib0")
    with pytest.raises(InvalidInput, match=r"ib1\.8001 is there, as the P_Key child of ib0"):
        node.call(interfaces=[{"name": "ib1"}, {"parent": "ib1", "pkey": 0x8001}])


@pytest.mark.parametrize("known", [True, False])
def test_a_list_of_what_is_up_knows_more_than_the_files(tmp_path: pathlib.Path, known: bool) -> None:
    """If the file of an interface is gone, only the back end that still lists the interface is told to release it."""
    node = FakeNode(tmp_path, "systemd-networkd", CAPABLE, "mlx4_core")
    node.appear("ib0")
    node.call(interfaces=[{**IB0[0], "mode": "connected"}])
    node.tools.add("ifdown")
    node.write("run/network/ifstate", "lo=lo\nib0=ib0")
    if not known:
        (tmp_path / "etc/systemd/network/50-rdma-ib0.network").unlink()
    node.call(state="absent")
    assert ("ifdown --force ib0" in node.argv) == (not known)
