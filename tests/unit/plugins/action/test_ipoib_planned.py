# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module ipoib planned on the controller: from the found state as transferred, its result is that of the module, or none."""

from __future__ import annotations

import json
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import unchanged
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed, look_whole
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from support.ipoib_node import FakeNode, wait_briefly, with_two_ports

GUID = "0x0002c903000f0001"
IB0: list[dict[str, t.Any]] = [{"name": "ib0", "addresses": ["10.20.0.1/24", "fd00::1/64"]}, {"name": "ib1", "mtu": 2044, "mode": "datagram"}]
CASES: dict[str, list[dict[str, t.Any]]] = {
    "plain": IB0,
    "children": [{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.1/24"]}],
    "bond": [
        {"name": "bond0", "addresses": ["10.20.0.1/24"], "routes": [{"to": "default", "via": "10.20.0.253"}], "bond": {"ports": ["ib0", "ib1"]}},
    ],
    "by port": [{"port_guid": GUID, "addresses": ["10.20.0.1/24"]}],
    "clamped": [{"name": "ib0", "mode": "datagram", "mtu": 4092}],
    "nothing": [],
}
# Files that do not belong to this collection, each with data that must not leave the node.
FOREIGN = {
    "etc/NetworkManager/system-connections/office": "[connection]\ntype=wifi\ninterface-name=wlan0\n[wifi-security]\npsk=s3cret\n",
    "etc/netplan/60-wifi.yaml": "network: {version: 2, wifis: {wlan0: {access-points: {a: {password: s3cret}}}}}\n",
    "etc/network/interfaces.d/wifi": "iface wlan0 inet dhcp\n  wpa-psk s3cret\n",
    "etc/sysconfig/network/ifcfg-wlan0": "WIRELESS_WPA_PSK=s3cret\n",
    "etc/systemd/network/70-wg.netdev": "[WireGuard]\nPrivateKey=s3cret\n",
}


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.2)


def new(path: pathlib.Path, stack: str) -> FakeNode:
    node = with_two_ports(path, stack)
    for file, text in FOREIGN.items():
        if stack != "netplan" and "netplan" not in file:
            node.write(file, text)
    if stack == "ifupdown":
        node.write("etc/network/interfaces", "iface wlan0 inet dhcp\n  wpa-psk s3cret\nsource /etc/network/interfaces.d/*")
    return node


def sent(node: FakeNode, environ: t.Mapping[str, str] | None = None) -> str:
    return json.dumps(encode(condensed(look_whole(node, environ or {}, str(node.root)))))


def received(text: str) -> Found:
    return decode(Found, json.loads(text))


@pytest.mark.parametrize("stack", ["systemd-networkd", "ifupdown", "networkmanager"])
@pytest.mark.parametrize("case", CASES)
def test_the_controller_comes_to_the_result_of_the_module(tmp_path: pathlib.Path, stack: str, case: str) -> None:
    node = new(tmp_path, stack)
    options: dict[str, t.Any] = {"interfaces": CASES[case], "backend": stack if case == "plain" else "auto"}
    found = received(sent(node))
    assert (unchanged(options, found) is None) == node.call(check=True, **options)["changed"]
    node.call(**options)
    text = sent(node)
    assert len(text) < 20_000
    assert "s3cret" not in text
    result = unchanged(options, received(text))
    assert result == node.call(**options)
    assert result == unchanged({**options, "backup": True, "confirm": "", "state": "present"}, received(text))
    # Everything else is left to the module.
    assert (unchanged({"state": "absent"}, received(text)) is None) == bool(CASES[case])
    assert unchanged({**options, "confirm": "a.timer"}, received(text)) is None
    assert unchanged({**options, "rollback_timeout": 5}, received(text)) is None
    assert unchanged({**options, "interfaces": [*CASES[case], {"name": "ib7"}]}, received(text)) is None


def test_under_netplan(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "netplan")
    text = sent(node)
    assert unchanged({"state": "absent"}, received(text)) == node.call(state="absent")
    # An interrupted run has set files aside.
    node.write("run/systemd/network/.rdma-ofed/10-netplan-eth0.network", "eth0\n")
    assert unchanged({"state": "absent"}, received(sent(node))) is None


def test_an_armed_rollback_is_for_the_module(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=IB0)
    node.write("run/rdma-ofed-ipoib-rollback/undo", "")
    assert unchanged({"interfaces": IB0}, received(sent(node))) is not None
    node.timers.add("rdma-ofed-ipoib-rollback.timer")
    assert unchanged({"interfaces": IB0}, received(sent(node))) is None


def test_a_foreign_file_of_the_interface_is_for_the_module(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=IB0)
    node.write("etc/systemd/network/10-ib.network", "[Match]\nName=ib*\n[Network]\nDHCP=yes")
    found = received(sent(node))
    assert found.foreign is not None
    assert found.foreign["systemd-networkd"]["ib0"] == ("/etc/systemd/network/10-ib.network",)
    assert unchanged({"interfaces": IB0}, found) is None


def test_a_connection_that_would_be_cut_is_for_the_module(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=IB0)
    found = received(sent(node, {"SSH_CONNECTION": "10.20.0.9 50000 10.20.0.1 22"}))
    assert found.ssh_path == {"ib0"}
    assert unchanged({"interfaces": IB0}, found) is not None
    assert unchanged({"interfaces": IB0[1:], "rollback_timeout": 60}, found) is None


def test_the_action_answers_for_the_module(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path / "controller"))
    node = new(tmp_path / "node", "systemd-networkd")
    node.call(interfaces=IB0)

    def run(interfaces: t.Any) -> dict[str, t.Any]:
        task: t.Any = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args={"interfaces": interfaces, "rollback_timeout": "60"})
        plugin = ipoib.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
        plugin._execute_module = lambda **_arguments: {"changed": True, "from": "the node"}
        return t.cast("dict[str, t.Any]", plugin.run(task_vars={"inventory_hostname": "node1"}))

    _looks.keep("node1", {"ipoib": json.loads(sent(node))})
    assert run(IB0)["interfaces"] == node.call(interfaces=IB0)["interfaces"]
    assert run(IB0[:1]) == {"changed": True, "from": "the node"}
    # The state has changed since the inspection.
    assert run(IB0) == {"changed": True, "from": "the node"}
