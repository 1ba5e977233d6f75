# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import node_trees as nodes
import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _processes, _usage
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module, parse_proc_modules
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import Process
from ansible_collections.rdma.ofed.plugins.module_utils._facts._routes import parse_route4
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Session
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import Mount, User
from hypothesis import given
from hypothesis import strategies as st
from test_facts_modules import PROC
from test_facts_routes import ROUTE4

NETDEVS = (
    Netdev("bond0", "bond", members=("ib0",)),
    Netdev("eth0", "ethernet", driver="virtio_net"),
    Netdev("ib0", "ipoib", port="mlx5_0/1", master="bond0"),
)
ROUTES = parse_route4(ROUTE4, "little")


def test_idle_node(tmp_path: pathlib.Path) -> None:
    assert _usage.read_usage(str(tmp_path)) == ()


def test_a_port_that_is_merely_up_is_no_user(tmp_path: pathlib.Path) -> None:
    tree = nodes.connectx5()
    idle = [line for line in PROC.splitlines() if line.split()[0] not in ("ko2iblnd", "nvidia_peermem")]
    tree["proc/modules"] = "\n".join(idle).replace("rdma_cm 131072 1 ko2iblnd,", "rdma_cm 131072 0 -")
    tree["proc/mounts"] = "/dev/vda1 / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n"
    assert _usage.read_usage(nodes.write(tmp_path, tree), NETDEVS) == ()


@pytest.mark.parametrize(
    ("line", "user"),
    [
        ("s:/x /data nfs rw,vers=3,proto=rdma,port=20049,addr=192.0.2.7 0 0", User("mount", "/data", "nfs over RDMA from s:/x")),
        ("s:/x /data nfs4 rw,rdma,port=20049,addr=192.0.2.7 0 0", User("mount", "/data", "nfs4 over RDMA from s:/x")),
        ("s:/x /my\\040data nfs4 rw,proto=tcp,addr=10.1.0.7 0 0", User("mount", "/my data", "nfs4 from s:/x, reached through ib0", ("ib0",))),
        ("s:/x /data nfs4 rw,proto=rdma,addr=10.1.0.7 0 0", User("mount", "/data", "nfs4 over RDMA from s:/x", ("ib0",))),
        ("s:/x /data nfs4 rw,proto=tcp,addr=192.0.2.7 0 0", None),
        ("//s/x /data cifs rw,addr=10.1.0.7 0 0", User("mount", "/data", "cifs from //s/x, reached through ib0", ("ib0",))),
        ("10.9.0.1@o2ib:10.9.0.2@o2ib:/l /lustre lustre rw 0 0", User("mount", "/lustre", "lustre from 10.9.0.1@o2ib:10.9.0.2@o2ib:/l")),
        ("192.0.2.1@tcp:/l /lustre lustre rw 0 0", None),
        (
            "192.0.2.1@tcp,10.1.0.1@tcp1:/l /lustre lustre rw 0 0",
            User("mount", "/lustre", "lustre from 192.0.2.1@tcp,10.1.0.1@tcp1:/l, reached through ib0", ("ib0",)),
        ),
        ("gpfs0 /gpfs gpfs rw 0 0", User("mount", "/gpfs", "gpfs, which uses verbs where it can")),
        ("beegfs_nodev /b beegfs rw 0 0", User("mount", "/b", "beegfs, which uses verbs where it can")),
        ("s:/root / nfs rw,addr=10.1.0.7 0 0", User("root", "/", "nfs from s:/root, reached through ib0", ("ib0",))),
        ("tmpfs /tmp tmpfs rw 0 0", None),
        ("short line", None),
    ],
)
def test_mounts(line: str, user: User | None) -> None:
    assert _usage.mount_users(_usage.parse_mounts(line + "\n"), ROUTES, NETDEVS) == ([user] if user else [])


def test_modules() -> None:
    users = _usage.module_users(
        [
            Module("rpcrdma", 3, ("x",)),
            Module("ib_iser", 0),
            Module("smc", 1, ("smc_diag",)),
            Module("ib_core", 9),
            Module("ko2iblnd", 1),
            Module("nvidia_peermem"),
        ]
    )
    assert [(user.kind, user.name) for user in users] == [("ulp", "rpcrdma"), ("module", "ko2iblnd"), ("module", "nvidia_peermem")]
    assert users[0].detail == "held by 2 users"


def test_sessions() -> None:
    sessions = [
        Session("nvme1", "NVMe over RDMA", "192.0.2.9"),
        Session("nvme2", "NVMe over TCP", "10.1.0.9"),
        Session("nvme3", "NVMe over TCP", "192.0.2.9"),
        Session("host5", "iSER"),
        Session("connection1:0", "iSCSI", "10.1.0.8"),
    ]
    assert _usage.session_users(sessions, ROUTES, NETDEVS) == [
        User("ulp", "nvme1", "NVMe over RDMA, address 192.0.2.9"),
        User("ulp", "nvme2", "NVMe over TCP, address 10.1.0.9, reached through ib0", ("ib0",)),
        User("ulp", "host5", "iSER"),
        User("ulp", "connection1:0", "iSCSI, address 10.1.0.8, reached through ib0", ("ib0",)),
    ]


def test_processes(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "proc/17/comm": "opensm\n",
        "proc/18/comm": "ibacm\n",
        "proc/18/fd/3": nodes.Link("../../../dev/null"),
        "proc/19/comm": "opensmtpd\n",
        "proc/20/comm": "python3\n",
        "proc/self/comm": "opensm\n",
    }
    root = nodes.write(tmp_path, tree)
    for number, target in ((4, "/dev/infiniband/uverbs0"), (5, "/dev/infiniband/rdma_cm"), (6, "/dev/infiniband/uverbs0")):
        (tmp_path / "proc/18/fd" / str(number)).symlink_to(target)
    processes = _processes.read_processes(root)
    assert processes == (Process(17, "opensm", ()), Process(18, "ibacm", ("rdma_cm", "uverbs0")))
    assert _usage.process_users(processes) == [
        User("sm", "opensm", "pid 17"),
        User("process", "ibacm", "pid 18 has rdma_cm, uverbs0 open", ("rdma_cm", "uverbs0")),
    ]


def test_root_and_swap_on_a_session(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "proc/mounts": "/dev/nvme1n1p2 / ext4 rw 0 0\n",
        "proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/nvme1n1p3 partition 1 0 -2\n/swapfile file 1 0 -3\n",
        "sys/class/nvme/nvme1/transport": "rdma\n",
        "sys/class/nvme/nvme1/address": "traddr=192.0.2.9,trsvcid=4420\n",
    }
    assert _usage.read_usage(nodes.write(tmp_path, tree)) == (
        User("root", "/", "/dev/nvme1n1p2 is on nvme1 (NVMe over RDMA)"),
        User("root", "/dev/nvme1n1p3", "/dev/nvme1n1p3 is on nvme1 (NVMe over RDMA)"),
        User("ulp", "nvme1", "NVMe over RDMA, address 192.0.2.9"),
    )


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    _usage.mount_users(_usage.parse_mounts(text), ROUTES, NETDEVS)
    _usage.parse_swaps(text)
    _usage.module_users(parse_proc_modules(text))


@given(st.text(), st.sampled_from(["nfs", "lustre"]), st.lists(st.text()))
def test_any_mount(source: str, kind: str, options: list[str]) -> None:
    _usage.mount_reason(Mount(source, "/x", kind, tuple(options)), ROUTES, NETDEVS)
