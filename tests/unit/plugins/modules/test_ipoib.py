# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module on a node of files: sysfs and /etc below a directory, and tools that act on them like the real ones."""

from __future__ import annotations

import contextlib
import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifupdown
from support.ipoib_node import CAPABLE, ENHANCED, FakeNode, wait_briefly


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.3)


IB0: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24", "fd00:20::1/64"]}]
WITH_CHILD = [*IB0, {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.1/24"], "mode": "datagram"}]
CONNECTED = [{**IB0[0], "mode": "connected"}]

STACKS = ["systemd-networkd", "ifupdown"]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("hwaddr", [CAPABLE, ENHANCED])
@pytest.mark.parametrize("interfaces", [IB0, WITH_CHILD], ids=["plain", "child"])
def test_check_mode_then_run_then_nothing_then_absent(tmp_path: pathlib.Path, stack: str, hwaddr: str, interfaces: list[t.Any]) -> None:
    driver = "mlx4_core" if hwaddr == CAPABLE else "mlx5_core"
    node = FakeNode(tmp_path, stack, hwaddr, driver)
    if hwaddr == CAPABLE:
        interfaces = [{**interfaces[0], "mode": "connected"}, *interfaces[1:]]
    predicted = node.call(check=True, interfaces=interfaces)
    assert node.argv == []
    with pytest.raises(Refused, match="load ib_ipoib first"):
        node.call(interfaces=interfaces)
    node.appear("ib0")
    done = node.call(interfaces=interfaces)
    assert done["changes"] == predicted["changes"]
    assert done["backend"] == stack
    assert done["interfaces"][0]["addresses"] == ["10.20.0.1/24", "fd00:20::1/64"]
    assert done["interfaces"][0]["mtu"] == (65520 if hwaddr == CAPABLE else 2044)
    assert done["interfaces"][0]["mode"] == ("connected" if hwaddr == CAPABLE else "datagram")
    assert node.read("sys/class/net/ib0/mode") == done["interfaces"][0]["mode"]
    again = node.call(interfaces=interfaces)
    assert (again["changed"], again["changes"], node.argv) == (False, [], [])
    # Only cases without a netdev to delete: that is the work of a network stack or the kernel, and this test plays neither.
    if len(interfaces) == 1 or stack == "ifupdown":
        gone = node.call(state="absent")
        assert gone["changed"]
        assert node.addresses["ib0"] == []
        assert node.read("sys/class/net/ib0/mode") == "datagram"
        assert node.read("sys/class/net/ib0/mtu") == "2044"
        assert node.enabled == set()
        assert [path for path in tmp_path.rglob("*rdma*") if path.is_file()] == []
        assert not node.call(state="absent")["changed"]


@pytest.mark.parametrize("mode", [{}, {"mode": None}, {"mode": "auto"}])
def test_datagram_is_the_default_of_a_port_that_can_do_connected_mode(tmp_path: pathlib.Path, mode: dict[str, t.Any]) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", CAPABLE, "mlx4_core")
    node.appear("ib0")
    (done,) = node.call(interfaces=[{"name": "ib0", "addresses": ["10.20.0.1/24"], **mode}])["interfaces"]
    assert (done["mode"], done["mode_reason"], done["mtu"]) == ("datagram", "the default", 2044)
    assert node.read("sys/class/net/ib0/mode") == "datagram"


def test_commands_on_networkd(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", CAPABLE)
    node.appear("ib0")
    node.call(interfaces=CONNECTED)
    assert node.argv == [
        "systemctl daemon-reload",
        "systemctl enable rdma-ofed-ipoib-mode.service",
        "ip link set dev ib0 mtu 65520",
        "networkctl reload",
    ]
    assert os.access(tmp_path / "usr/local/libexec/rdma-ofed-ipoib-mode", os.X_OK)
    node.addresses["ib0"].remove("10.20.0.1/24")
    node.call(interfaces=CONNECTED)
    assert node.argv == ["networkctl reload", "networkctl reconfigure ib0"]
    node.call(interfaces=[])
    assert node.argv == [
        "ip address del 10.20.0.1/24 dev ib0",
        "ip address del fd00:20::1/64 dev ib0",
        "ip link set dev ib0 mtu 2044",
        "ip link set dev ib0 down",
        "systemctl disable rdma-ofed-ipoib-mode.service",
        "systemctl daemon-reload",
        "networkctl reload",
    ]


def test_commands_on_ifupdown(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    node.addresses["ib0"] = ["10.20.0.1/24"]
    done = node.call(interfaces=IB0, backup=True)
    assert node.argv == ["ip address del 10.20.0.1/24 dev ib0", "ifup --force ib0"]
    assert done["backup_files"] == [str(tmp_path / "etc/network/interfaces.backup")]
    assert node.read("etc/network/interfaces") == "source /etc/network/interfaces.d/*.cfg\n" + _ifupdown.SOURCE
    node.call(interfaces=[{"name": "ib0", "addresses": ["10.20.0.2/24"], "mtu": 1500}])
    assert node.argv == [
        "ip link set dev ib0 mtu 1500",
        "ip address replace 10.20.0.2/24 broadcast + dev ib0",
        "ip address del 10.20.0.1/24 dev ib0",
        "ip address del fd00:20::1/64 dev ib0",
        "ip address replace 10.20.0.2/24 broadcast + dev ib0",
    ]
    node.call(interfaces=[])
    assert node.argv == ["ifdown --force ib0", "ip link set dev ib0 mtu 2044"]
    assert node.read("etc/network/interfaces") == "source /etc/network/interfaces.d/*.cfg"


def test_a_clamped_mtu_is_explained_once_and_for_all(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    wanted = [{"name": "ib0", "mtu": 4092}]
    first = node.call(interfaces=wanted)
    assert "ib0 mtu: none -> 4092" in first["changes"]
    assert (first["interfaces"][0]["mtu"], len(first["reasons"])) == (2044, 1)
    second = node.call(interfaces=wanted)
    assert (second["changed"], second["reasons"]) == (False, first["reasons"])
    assert "mtu: 4096 in opensm_partitions" in second["reasons"][0]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("step", range(1, 8))
def test_a_run_that_was_broken_off_is_completed_by_the_next(tmp_path: pathlib.Path, stack: str, step: int) -> None:
    node = FakeNode(tmp_path, stack, CAPABLE)
    node.appear("ib0")
    for options in ({"interfaces": IB0}, {"interfaces": [dict(IB0[0], mode="datagram", addresses=["10.20.0.3/24"])]}, {"state": "absent"}):
        node.break_at = step
        with contextlib.suppress(CommandFailed):
            node.call(**options)
        node.break_at = 0
        node.call(**options)
        assert not node.call(**options)["changed"]
    assert [path for path in tmp_path.rglob("*rdma*") if path.is_file()] == []
    assert (node.addresses["ib0"], node.read("sys/class/net/ib0/mode"), node.enabled) == ([], "datagram", set())


def test_networkd_is_told_twice(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    node.lazy = True
    node.call(interfaces=IB0)
    assert node.argv == ["networkctl reload", "networkctl reconfigure ib0"]


def test_what_is_left_is_said_where_networkd_makes_no_child(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    node.call(interfaces=IB0)

    def networkctl(words: list[str]) -> None:
        if set(words[1:]) - set(node.addresses):
            raise CommandFailed("Interface not found")

    monkeypatch.setattr(node, "_networkctl", networkctl)
    with pytest.raises(CommandFailed, match=r"still missing: ib0\.8001 device: none -> P_Key child 0x8001 of ib0"):
        node.call(interfaces=WITH_CHILD)
    assert (node.argv[0], {*node.argv[1:]}) == ("networkctl reload", {"networkctl reconfigure ib0"})


def test_ipv6_is_switched_on_where_an_address_needs_it(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    node.call(interfaces=[{"name": "ib0", "addresses": ["10.20.0.1/24"]}])
    switch = "proc/sys/net/ipv6/conf/ib0/disable_ipv6"
    node.write(switch, "1")
    node.call(interfaces=[{"name": "ib0", "addresses": ["10.20.0.2/24"]}])
    assert node.read(switch) == "1"
    node.call(interfaces=IB0)
    assert node.read(switch) == "0"


def test_a_kernel_without_ipv6_is_found_before_the_first_change(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.appear("ib0")
    node.write("proc/sys/net/ipv4/ip_forward", "0")
    with pytest.raises(InvalidInput, match=r"ipv6\.disable=1"):
        node.call(interfaces=IB0)
    assert node.argv == []


def test_ipv6_that_can_not_be_switched_on_is_found_before_the_first_change(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode(tmp_path, "ifupdown")
    node.write("proc/sys/net/ipv6/conf/default/disable_ipv6", "1")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InvalidInput, match=r"net\.ipv6\.conf\.default\.disable_ipv6 is 1"):
        node.call(interfaces=IB0)
    assert node.argv == []


def test_a_stack_that_does_nothing_is_reported(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    monkeypatch.setattr(node, "_networkctl", lambda words: None)
    with pytest.raises(CommandFailed, match=r"still missing: ib0 addresses: none -> 10\.20\.0\.1/24"):
        node.call(interfaces=IB0)


@pytest.mark.parametrize(
    ("interfaces", "error", "words"),
    [
        ([{"name": "ib0", "mode": "connected"}], InvalidInput, "Enhanced IPoIB"),
        ([{"name": "ib0"}, {"name": "ib5"}], InvalidInput, "ipoib_interfaces[1].name is 'ib5'; allowed: an IPoIB interface of this node: ib0"),
        ([{"name": "ib0", "adress": 1}], InvalidInput, "did you mean addresses?"),
    ],
)
def test_wrong_input_changes_nothing(tmp_path: pathlib.Path, interfaces: list[t.Any], error: type[RdmaError], words: str) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    with pytest.raises(error) as caught:
        node.call(interfaces=interfaces)
    assert words in caught.value.msg
    assert node.argv == []
    assert not (tmp_path / "etc").exists()


def test_node_without_hca(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", ports=0)
    with pytest.raises(InvalidInput, match="declared port on a node without HCA"):
        node.call(check=True, interfaces=IB0)
    assert not node.call(interfaces=[])["changed"]


def test_unsupported_stack_is_no_obstacle_to_removing_nothing(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "connman")
    node.appear("ib0")
    with pytest.raises(Unsupported, match="no network back-end"):
        node.call(interfaces=IB0)
    assert not node.call(state="absent")["changed"]


def test_the_connection_of_the_run_is_not_cut(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    node.call(interfaces=IB0)
    environ = {"SSH_CONNECTION": "10.20.0.9 50000 10.20.0.1 22"}
    with pytest.raises(Refused, match="the connection of this run goes through"):
        node.call(environ=environ, state="absent")
    assert node.argv == []


def test_giving_up_all_interfaces_needs_consent(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", CAPABLE)
    node.appear("ib0")
    node.call(interfaces=IB0)
    for check in (True, False):
        with pytest.raises(Refused, match="rdma_allow_removal"):
            node.call(check=check, interfaces=[], allow_removal=False)
    assert node.call(interfaces=[{"name": "ib0", "state": "absent"}], allow_removal=False)["changed"]


def test_absent_is_consent(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd", CAPABLE)
    node.appear("ib0")
    node.call(interfaces=IB0)
    assert node.call(interfaces=[], state="absent", allow_removal=False)["changed"]
