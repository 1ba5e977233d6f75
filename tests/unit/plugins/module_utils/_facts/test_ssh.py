# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _connections
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import SshPath
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

NETDEVS = (
    Netdev("bond0", "bond", members=("ib0", "ib1")),
    Netdev("enp3s0f1", "ethernet", driver="mlx5_core"),
    Netdev("eth0", "ethernet", driver="virtio_net"),
    Netdev("ib0", "ipoib", port="mlx5_0/1", master="bond0"),
    Netdev("ib0.8001", "ipoib_child", parent="ib0"),
    Netdev("ib1", "ipoib", port="mlx5_1/1", master="bond0"),
    Netdev("vlan7", "vlan", parent="eth0"),
)
VARIABLE = "10.1.0.254 51234 10.1.0.1 22"


@pytest.mark.parametrize(
    ("device", "ports", "over_rdma"),
    [
        ("ib0", ("mlx5_0/1",), True),
        ("bond0", ("mlx5_0/1", "mlx5_1/1"), True),
        ("ib0.8001", ("mlx5_0/1",), True),
        ("enp3s0f1", (), True),
        ("eth0", (), False),
        ("vlan7", (), False),
        ("unknown", (), False),
        ("", (), False),
    ],
)
def test_path(device: str, ports: tuple[str, ...], over_rdma: bool) -> None:
    run = nodes.FakeRunner({"ip": '[{"dst":"10.1.0.254","dev":"%s"}]' % device})
    assert _connections.read_ssh(run, NETDEVS, {"SSH_CONNECTION": VARIABLE}) == SshPath("10.1.0.254", device, ports[0] if ports else "", ports, over_rdma)


def test_one_process_and_only_over_ssh() -> None:
    run = nodes.FakeRunner({"ip": '[{"dst":"10.1.0.254","dev":"ib0"}]'})
    assert _connections.read_ssh(run, NETDEVS, {}, root="/nonexistent", pid=0) == SshPath()
    assert run.ran == []
    assert _connections.read_ssh(run, NETDEVS, {"SSH_CONNECTION": VARIABLE}).over_rdma
    assert run.ran == ["ip -j route get 10.1.0.254"]


def test_link_local_client_names_its_interface() -> None:
    path = _connections.read_ssh(nodes.FakeRunner(), NETDEVS, {"SSH_CONNECTION": "fe80::1%ib0 5 fe80::2%ib0 22"})
    assert (path.client, path.device, path.port) == ("fe80::1", "ib0", "mlx5_0/1")


def test_sudo_hides_the_variable_and_its_parent_knows_it(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "proc/30/status": "Name:\tpython3\nPPid:\t20\n",
        "proc/20/status": "Name:\tsudo\nPPid:\t10\n",
        "proc/20/environ": "PATH=/bin\0",
        "proc/10/status": "Name:\tsh\nPPid:\t1\n",
        "proc/10/environ": "PATH=/bin\0SSH_CONNECTION=%s\0" % VARIABLE,
    }
    root = nodes.write(tmp_path, tree)
    assert _connections.ssh_connection({}, root, 30) == VARIABLE
    assert _connections.ssh_connection({"SSH_CONNECTION": "x"}, root, 30) == "x"


def test_no_end_of_ancestors(tmp_path: pathlib.Path) -> None:
    root = nodes.write(tmp_path, {"proc/30/status": "PPid:\t31\n", "proc/31/status": "PPid:\t30\n"})
    assert _connections.ssh_connection({}, root, 30) == ""


@given(st.text())
def test_any_text(text: str) -> None:
    _connections.read_ssh(nodes.FakeRunner(), NETDEVS, {"SSH_CONNECTION": text}, root="/nonexistent")
    _connections.client_address(text)
    _connections.parent_pid(text)
