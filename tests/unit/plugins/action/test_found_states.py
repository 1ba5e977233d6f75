# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Found states as the controller reads them: its Python evaluates annotations that the nodes' Pythons may not know."""

from __future__ import annotations

import json

from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import Card, Live, Manager, Master, Opensm, Process
from ansible_collections.rdma.ofed.plugins.module_utils._facts._appliance import Appliance
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import Device, Gpu, Path, Peer, PeerMemory
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import Driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._pcie import PcieLink, Slot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found as Gpus
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._limits import Daemon, Line
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as Managers
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode


def test_a_plan_survives() -> None:
    plan = Plan((Change(Kind.FILE, "/a", "", "", "x"),))
    found = decode(Plan, json.loads(json.dumps(encode(plan))))
    assert found == plan
    assert found.changes[0].kind is Kind.FILE


def test_subnet_managers_survive() -> None:
    managers = Managers(("opensm.service",), ("a.service",), (), ("a.service",), (7,), {"/etc/x": "y"}, "names", "template", ("opensmd.service",))
    for found in (managers, managers.public(), Managers()):
        assert decode(Managers, json.loads(json.dumps(encode(found)))) == found


def test_a_node_in_its_fabric_survives() -> None:
    live = Live(
        ports=(Port("mlx5_0/1", "mlx5_0", 1, "0x0002c903000f0001", link_layer="InfiniBand", state="ACTIVE"),),
        netdevs=(Netdev("ib0", "ipoib", port="mlx5_0/1", addresses=("10.20.0.1/24",)),),
        opensm=Opensm((Process(42, "ib"),), ("opensm.service",)),
        cards={"mlx5_0": Card("0000:03:00.0", "MT_0000000008")},
        slots=(Slot("0000:03:00.0", PcieLink(8, 16.0), PcieLink(16, 16.0)),),
        managers=(
            Manager("ib", "mlx5_0/1", Master("0x0002c903000f0001", 3, "node1"), masters=("0x0002c903000f0001",), stopped=True),
            Manager("storage", unable="no link"),
        ),
    )
    for found in (live, Live()):
        assert decode(Live, json.loads(json.dumps(encode(found)))) == found


def test_stacks_and_kernel_modules_survive() -> None:
    modules = Seen(
        frozenset(("ib_umad",)),
        found=Modules(unit_limits={"slurmd.service": (Line("/x", 1, "64"),)}, daemons=(Daemon("slurmd", "slurmd.service", "8192"),)),
        limits={"memlock": {"session": "64"}},
    )
    of_image = Stack("doca", "2.9.1", appliance=Appliance("NVIDIA DGX Server", "5.2.0", "/etc/dgx-release"))
    for form, found in ((Stack, Stack("inbox", version="44.0")), (Stack, of_image), (Seen, modules)):
        assert decode(form, json.loads(json.dumps(encode(found)))) == found


def test_gpus_survive() -> None:
    gpu = Gpu(
        (Device("0000:81:00.0", "0x2330", "nvidia", 1), Device("0000:82:00.0")),
        Driver("535.104.05", "proprietary", True),
        (Peer("nvidia_peermem", "nvidia_peermem", linked=True, loaded=True),),
        PeerMemory("ib_core", "ib_core", True),
        ("nv_mem",),
        (Path("0000:81:00.0", "0000:03:00.0", "PIX", ("0000:80:00.0",)),),
    )
    for found in (Gpus(gpu, "6.1.0", "mlnx_ofed", files={"/etc/x": "y"}, shows_clients=True), Gpus()):
        assert decode(Gpus, json.loads(json.dumps(encode(found)))) == found
