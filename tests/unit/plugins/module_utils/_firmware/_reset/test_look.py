# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import SshPath
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._reset import _look as use

FIRST = ("0000:03:00.0", "0000:03:00.1")
SECOND = ("0000:04:00.0",)
NETDEVS = (
    Netdev("bond0", "bond", members=("ib0", "ib2")),
    Netdev("eth9", "ethernet", driver="mlx5_core"),
    Netdev("ib0", "ipoib", port="mlx5_0/1", driver="mlx5_core"),
    Netdev("ib0.8001", "ipoib_child", port="mlx5_0/1", parent="ib0"),
    Netdev("ib2", "ipoib", port="mlx5_2/1", driver="mlx5_core"),
    Netdev("virtual", "bridge"),
)


@pytest.fixture
def root(tmp_path: pathlib.Path) -> str:
    """Return the root of a node with two cards: one with two functions, mlx5_0 and mlx5_1, one with mlx5_2; eth9 is an interface of the second function."""
    for index, pci in enumerate((*FIRST, *SECOND)):
        device = tmp_path / "sys/devices/pci0000:00" / pci
        (device / "infiniband" / ("mlx5_%d" % index)).mkdir(parents=True)
        for kind, name in (("infiniband_verbs", "uverbs"), ("infiniband_mad", "umad"), ("infiniband_mad", "issm")):
            folder = tmp_path / "sys/class" / kind / ("%s%d" % (name, index))
            folder.mkdir(parents=True)
            (folder / "ibdev").write_text("mlx5_%d\n" % index)
        rdma = tmp_path / "sys/class/infiniband" / ("mlx5_%d" % index)
        rdma.mkdir(parents=True)
        (rdma / "device").symlink_to(device)
        links = tmp_path / "sys/bus/pci/devices"
        links.mkdir(parents=True, exist_ok=True)
        (links / pci).symlink_to(device)
    eth9 = tmp_path / "sys/class/net/eth9"
    eth9.mkdir(parents=True)
    (eth9 / "device").symlink_to(tmp_path / "sys/devices/pci0000:00" / FIRST[1])
    return str(tmp_path)


def test_places(root: str) -> None:
    places = use.read_places(root, NETDEVS)
    assert places.of(["ib0"]) == {FIRST[0]} == places.of(["ib0.8001"]) == places.of(["uverbs0"])
    assert places.of(["eth9"]) == {FIRST[1]} == places.of(["umad1", "issm1"])
    assert places.of(["bond0"]) == {FIRST[0], SECOND[0]}
    assert places.of(["virtual", "rdma_cm", "nonsense"]) == frozenset()
    assert use.interfaces_of(FIRST, places) == ("bond0", "eth9", "ib0", "ib0.8001")
    assert use.interfaces_of(SECOND, places) == ("bond0", "ib2")


@pytest.mark.parametrize(
    ("user", "cards"),
    [
        (User("mount", "/data", "nfs", ("ib0.8001",)), (FIRST,)),
        (User("mount", "/data", "nfs", ("bond0",)), (FIRST, SECOND)),
        (User("process", "mpi", "pid 7", ("rdma_cm", "uverbs2")), (SECOND,)),
        (User("process", "ibacm", "pid 7", ("rdma_cm",)), (FIRST, SECOND)),
        (User("module", "ko2iblnd", "refcount 1"), (FIRST, SECOND)),
        (User("sm", "opensm", "pid 8", ("umad0",)), ()),
    ],
)
def test_a_user_counts_for_its_card_or_for_all(root: str, user: User, cards: tuple[tuple[str, ...], ...]) -> None:
    places = use.read_places(root, NETDEVS)
    for card in (FIRST, SECOND):
        assert use.users_of(card, [user], places) == (("%s (%s)" % (user.name, user.detail),) if card in cards else ())


@pytest.mark.parametrize(
    ("ssh", "first", "second"),
    [
        (SshPath("10.1.0.254", "ib2", over_rdma=True), "", "ib2"),
        (SshPath("10.1.0.254", "bond0", over_rdma=True), "bond0", "bond0"),
        (SshPath("10.1.0.254", "tun0", over_rdma=True), "tun0", "tun0"),
        (SshPath("192.0.2.1", "eth0"), "", ""),
        (SshPath("192.0.2.1"), "an unknown interface", "an unknown interface"),
        (SshPath(), "", ""),
    ],
)
def test_the_way_back_runs_over_a_card(root: str, ssh: SshPath, first: str, second: str) -> None:
    places = use.read_places(root, NETDEVS)
    assert (use.ssh_over(FIRST, ssh, places), use.ssh_over(SECOND, ssh, places)) == (first, second)


def test_virtual_functions_and_drivers(root: str) -> None:
    assert (use.read_virtual_functions(root, FIRST), use.read_foreign_drivers(root, FIRST)) == (0, ())
    device = pathlib.Path(root) / "sys/bus/pci/devices" / FIRST[1]
    (device / "sriov_numvfs").write_text("4\n")
    (device / "driver").symlink_to("../../../bus/pci/drivers/vfio-pci")
    (pathlib.Path(root) / "sys/bus/pci/devices" / FIRST[0] / "driver").symlink_to("../../../bus/pci/drivers/mlx5_core")
    assert (use.read_virtual_functions(root, FIRST), use.read_foreign_drivers(root, FIRST)) == (4, (FIRST[1] + " (vfio-pci)",))
