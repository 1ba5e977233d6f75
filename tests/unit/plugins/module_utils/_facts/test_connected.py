# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connected import connected_capability, of_driver, silent_cause
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev, port_capability, read_netdevs, with_capability
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port, read_ports
from support import node_trees as nodes

REFUSED = "the drivers refuse"


@pytest.mark.parametrize(
    ("driver", "hca_type", "refused", "capable"),
    [
        ("mlx5_core", "MT4119", "", False),
        ("mlx5_core", "MT4115", "", False),
        ("mlx5_core.sf", "MT4129", "", False),
        ("mlx5_core", "MT4113", "", True),
        ("mlx4_core", "MT4099", "", True),
        ("mlx4_core", "MT4099", REFUSED, False),
        ("ib_qib", "InfiniPath_QLE7340", "", True),
        ("hfi1", "", "", None),
        ("", "", "", None),
    ],
)
def test_prediction(driver: str, hca_type: str, refused: str, capable: bool | None) -> None:
    found = of_driver(driver, hca_type, refused)
    assert found.capable is capable
    assert found.reason


def test_ethernet_has_no_ipoib_at_all() -> None:
    found = port_capability(Port("mlx4_0/1", "mlx4_0", 1, link_layer="Ethernet"), (), driver="mlx4_core", hca_type="MT4099")
    assert found.capable is False
    assert "Ethernet" in found.reason


@pytest.mark.parametrize("capable", [True, False])
def test_the_interface_knows_better_than_the_driver(capable: bool) -> None:
    port = Port("mlx5_0/1", "mlx5_0", 1, link_layer="InfiniBand")
    child = Netdev("ib0.8001", "ipoib_child", port="mlx5_0/1", connected_capable=not capable)
    parent = Netdev("ib0", "ipoib", port="mlx5_0/1", connected_capable=capable, connected_reason="seen")
    assert port_capability(port, (child, parent), driver="mlx5_core", hca_type="MT4119") == (capable, "ib0: seen")


def test_nodes_before_and_after_the_interfaces_appear(tmp_path: pathlib.Path) -> None:
    for name, tree, capable in (("cx5", nodes.connectx5(), False), ("cx3", nodes.connectx3(), True)):
        root = nodes.write(tmp_path / name, tree)
        ports = read_ports(root)
        before = with_capability(ports, (), root=root)
        after = with_capability(ports, read_netdevs(root, ports), root=root)
        assert [port.connected_capable for port in before] == [port.connected_capable for port in after] == [capable, capable]


@pytest.mark.parametrize(
    ("driver", "hca_type", "said", "unsaid"),
    [
        ("mlx5_core", "MT4119", "Enhanced IPoIB", "CONFIG_INFINIBAND_IPOIB_CM"),
        ("mlx4_core", "MT4099", "CONFIG_INFINIBAND_IPOIB_CM", "Enhanced"),
        ("mlx5_core", "MT4113", "CONFIG_INFINIBAND_IPOIB_CM", "Enhanced"),
        ("ib_qib", "", "CONFIG_INFINIBAND_IPOIB_CM", "Enhanced"),
    ],
)
def test_a_kernel_without_connected_mode_is_not_enhanced_ipoib(driver: str, hca_type: str, said: str, unsaid: str) -> None:
    cause = silent_cause(driver, hca_type)
    assert said in cause
    assert unsaid not in cause
    hwaddr = "00:" + ":".join(["00"] * 19)
    assert connected_capability(hwaddr, "datagram", cause=cause) == (False, "its hardware address starts with 00: " + cause)
    # If the driver does not report it, both are listed.
    assert silent_cause("hfi1", "") == ""
    assert "Enhanced" in connected_capability(hwaddr, "datagram")[1]
    assert "CONFIG_INFINIBAND_IPOIB_CM" in connected_capability(hwaddr, "datagram")[1]
