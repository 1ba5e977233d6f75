# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _storage, _usage
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module, parse_proc_modules
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._processes import Process, scan_processes
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sockets import Table, parse_route4
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Mount, Session
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.node_files import PROC, ROUTE4

NETDEVS = (
    Netdev("bond0", "bond", members=("ib0",)),
    Netdev("eth0", "ethernet", driver="virtio_net"),
    Netdev("ib0", "ipoib", port="mlx5_0/1", master="bond0"),
)
ROUTES = Table(parse_route4(ROUTE4, "little"))


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
        ("gpfs0 /gpfs gpfs rw 0 0", User("mount", "/gpfs", "gpfs, which uses verbs if it can")),
        ("beegfs_nodev /b beegfs rw 0 0", User("mount", "/b", "beegfs, which uses verbs if it can")),
        ("s:/root / nfs rw,addr=10.1.0.7 0 0", User("root", "/", "nfs from s:/root, reached through ib0", ("ib0",))),
        # ceph_show_options in fs/ceph/super.c: with the syntax of two names, the monitors are in mon_addr, separated by slashes.
        (
            "10.1.0.7:6789,192.0.2.7:6789:/ /ceph ceph rw,name=admin,secret=<hidden>,acl 0 0",
            User("mount", "/ceph", "ceph from 10.1.0.7:6789,192.0.2.7:6789:/, reached through ib0", ("ib0",)),
        ),
        (
            "admin@07fe3187-00d9-42a3-814b-72a4d5e7d5be.cephfs=/ /ceph ceph rw,name=admin,secret=<hidden>,mon_addr=192.0.2.7:3300/10.1.0.7:3300 0 0",
            User("mount", "/ceph", "ceph from admin@07fe3187-00d9-42a3-814b-72a4d5e7d5be.cephfs=/, reached through ib0", ("ib0",)),
        ),
        ("192.0.2.7:6789:/ /ceph ceph rw,name=admin,secret=<hidden> 0 0", None),
        (
            "brick1-ib:/gv0 /g fuse.glusterfs rw,user_id=0,group_id=0 0 0",
            User("mount", "/g", "fuse.glusterfs from brick1-ib:/gv0, reached through ib0", ("ib0",)),
        ),
        ("eth-only,brick1-ib:/gv /g fuse.glusterfs rw 0 0", User("mount", "/g", "fuse.glusterfs from eth-only,brick1-ib:/gv, reached through ib0", ("ib0",))),
        ("eth-only:/gv0 /g fuse.glusterfs rw 0 0", None),
        ("panfs://10.1.0.7/home /p panfs rw 0 0", User("mount", "/p", "panfs from panfs://10.1.0.7/home, reached through ib0", ("ib0",))),
        ("panfs://192.0.2.7:global/home /p panfs rw 0 0", None),
        ("panfs://realm/home /p panfs rw 0 0", User("mount", "/p", "panfs from panfs://realm/home, whose address is unknown")),
        ("be0,be1/default /w wekafs rw,num_cores=1 0 0", User("mount", "/w", "wekafs, which uses verbs if it can")),
        ("tmpfs /tmp tmpfs rw 0 0", None),
        ("short line", None),
    ],
)
def test_mounts(line: str, user: User | None) -> None:
    hosts = _storage.parse_hosts("127.0.0.1 localhost\n10.1.0.9 brick1-ib.cluster brick1-ib # InfiniBand\n192.0.2.9 eth-only\n")
    assert _usage.mount_users(_storage.parse_mounts(line + "\n"), ROUTES, NETDEVS, hosts=hosts) == ([user] if user else [])


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
    processes = scan_processes(root).processes
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


# drbd_seq_show in drivers/block/drbd/drbd_proc.c: "%2d: cs:%s ro:%s/%s ds:%s/%s %c %c%c%c%c%c%c\n".
DRBD8 = """\
version: 8.4.11 (api:1/proto:86-101)
srcversion: 473968AD625BA317874A57E
 0: cs:Connected ro:Primary/Secondary ds:UpToDate/UpToDate C r-----
    ns:0 nr:0 dw:0 dr:8 al:0 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:0
 1: cs:StandAlone ro:Primary/Unknown ds:UpToDate/DUnknown   r-----
 2: cs:Unconfigured

 4: cs:WFConnection ro:Secondary/Unknown ds:UpToDate/DUnknown C r-----
"""
# The same function of DRBD 9: headings, and the loaded transports.
DRBD9 = "version: 9.2.4 (api:2/proto:86-122)\nGIT-hash: d6b8bb4\nTransports (api:18): tcp (9.2.4)\n"
DRBD_RES = """\
resource home {
  device /dev/drbd0;
  on a { address 10.1.0.5:7788; }
  on b { address ipv4 10.1.0.6:7788; }
}
resource logs {
  on a { device minor 4; address 192.0.2.5:7789; }
  on b { device minor 4; address 192.0.2.6:7789; }
}
"""


@pytest.mark.parametrize("status", [DRBD8, DRBD9])
def test_drbd(status: str, tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {"proc/drbd": status, "etc/drbd.d/all.res": DRBD_RES, "proc/net/route": ROUTE4}
    if status == DRBD9:
        tree.update({"sys/class/block/drbd0/size": "8", "sys/class/block/drbd4/size": "8"})
    users = _usage.read_usage(nodes.write(tmp_path, tree), NETDEVS)
    assert users == (User("ulp", "drbd0", "DRBD, address 10.1.0.5, reached through ib0", ("ib0",)),)


def test_drbd_without_readable_configuration(tmp_path: pathlib.Path) -> None:
    users = _usage.read_usage(nodes.write(tmp_path, {"proc/drbd": DRBD8}), NETDEVS)
    assert [(user.name, user.detail) for user in users] == [("drbd0", "DRBD, whose peer is unknown"), ("drbd4", "DRBD, whose peer is unknown")]


def test_disks_of_others(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "proc/net/route": ROUTE4,
        "proc/mounts": "/dev/rbd0p1 / ext4 rw 0 0\n",
        # rbd_client_addr_show in drivers/block/rbd.c: "%pISpc/%u\n", the node's own address with port and nonce.
        "sys/bus/rbd/devices/0/client_addr": "10.1.0.5:0/3487526345\n",
        "sys/bus/rbd/devices/1/client_addr": "192.0.2.5:0/348752\n",
        "sys/devices/rbd/0/block/rbd0/rbd0p1/partition": "1\n",
        "sys/class/block/rbd0p1": nodes.Link("/sys/devices/rbd/0/block/rbd0/rbd0p1"),
        # pid_show in drivers/block/nbd.c: the file exists while the device is connected.
        "sys/class/block/nbd0/pid": "700\n",
        "proc/700/cmdline": "nbd-client\x0010.1.0.9\x0010809\x00/dev/nbd0\x00",
        "sys/class/block/nbd1/pid": "701\n",
        "proc/701/cmdline": "nbd-client\x00192.0.2.9\x00/dev/nbd1\x00",
        "sys/class/block/nbd2/pid": "702\n",
        "proc/702/cmdline": "qemu-nbd\x00-c\x00/dev/nbd2\x00disk.qcow2\x00",
        "sys/class/block/nbd3/size": "0\n",
        "sys/class/block/nbd4/pid": "799\n",
    }
    assert _usage.read_usage(nodes.write(tmp_path, tree), NETDEVS) == (
        User("root", "/", "/dev/rbd0p1 is on rbd0 (RBD)"),
        User("ulp", "nbd0", "NBD, address 10.1.0.9, reached through ib0", ("ib0",)),
        User("ulp", "nbd4", "NBD, whose peer is unknown"),
        User("ulp", "rbd0", "RBD, address 10.1.0.5, reached through ib0", ("ib0",)),
    )


PORT = Netdev("enp1s0f0", "ethernet", driver="mlx5_core", up=True)


@pytest.mark.parametrize(
    ("netdevs", "user"),
    [
        # A bridge with only this port is an ordinary interface: its connections show whether it is in use.
        ([PORT, Netdev("br0", "bridge", members=("enp1s0f0",))], None),
        (
            [PORT, Netdev("br0", "bridge", members=("enp1s0f0", "vnet0", "veth3"))],
            ("br0", "a bridge with enp1s0f0 and vnet0 (a virtual machine), veth3", ("enp1s0f0",)),
        ),
        ([Netdev("eth0", "ethernet", driver="virtio_net"), Netdev("br0", "bridge", members=("eth0", "vnet0"))], None),
        (
            [PORT, Netdev("bond0", "bond", members=("enp1s0f0",)), Netdev("v5", "vlan", parent="bond0"), Netdev("br5", "bridge", members=("v5", "vnet0"))],
            ("br5", "a bridge with v5 and vnet0 (a virtual machine)", ("v5",)),
        ),
        ([PORT, Netdev("ovs-system", "other", members=("enp1s0f0",))], ("ovs-system", "ports of Open vSwitch: enp1s0f0", ("enp1s0f0",))),
        ([PORT, Netdev("macvtap0", "other", parent="enp1s0f0", up=True)], ("macvtap0", "an interface on top of enp1s0f0", ("enp1s0f0",))),
        ([PORT, Netdev("vrf1", "other", members=("enp1s0f0",))], None),
        ([PORT, Netdev("v5", "vlan", parent="enp1s0f0", up=True)], None),
    ],
)
def test_machines_and_containers(netdevs: list[Netdev], user: tuple[str, str, tuple[str, ...]] | None) -> None:
    assert _usage.carrying(netdevs, {"vnet0"}) == ((user,) if user else ())


def test_virtual_functions_and_taps(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "sys/bus/pci/drivers/mlx5_core/0000:03:00.0/class": "",
        "sys/bus/pci/drivers/mlx5_core/module": "",
        "sys/bus/pci/devices/0000:03:00.0/sriov_numvfs": "4\n",
        "sys/class/net/vnet0/tun_flags": "0x5002\n",
        "sys/class/net/eth0/type": "1\n",
    }
    root = nodes.write(tmp_path, tree)
    assert _usage.read_usage(root) == (User("vf", "4 virtual functions of 0000:03:00.0"),)
    assert _usage.read_tap_devices(root) == {"vnet0"}


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    _usage.mount_users(_storage.parse_mounts(text), ROUTES, NETDEVS)
    _storage.parse_swaps(text)
    _usage.module_users(parse_proc_modules(text))


@given(st.text(), st.sampled_from(["nfs", "lustre", "ceph", "fuse.glusterfs", "panfs"]), st.lists(st.text()))
def test_any_mount(source: str, kind: str, options: list[str]) -> None:
    _usage.mount_reason(Mount(source, "/x", kind, tuple(options)), ROUTES, NETDEVS)
