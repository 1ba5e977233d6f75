# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _storage
from ansible_collections.rdma.ofed.plugins.module_utils._facts._storage import Session
from support import node_trees as nodes

NVME: nodes.Tree = {
    "sys/class/nvme/nvme0/transport": "pcie\n",
    "sys/class/nvme/nvme0/address": "0000:01:00.0\n",
    "sys/class/nvme/nvme1/transport": "rdma\n",
    "sys/class/nvme/nvme1/address": "traddr=10.1.0.9,trsvcid=4420,src_addr=10.1.0.1\n",
}
SCSI: nodes.Tree = {
    "sys/class/scsi_host/host0/proc_name": "ahci\n",
    "sys/class/scsi_host/host5/proc_name": "iscsi_iser\n",
    "sys/class/scsi_host/host6/proc_name": "ib_srp\n",
}


def test_no_storage(tmp_path: pathlib.Path) -> None:
    assert _storage.read_sessions(str(tmp_path), {}) == ()


def test_sessions(tmp_path: pathlib.Path) -> None:
    target: nodes.Tree = {
        "sys/kernel/config/nvmet/ports/1/addr_trtype": "rdma\n",
        "sys/kernel/config/nvmet/ports/1/addr_traddr": "10.1.0.1\n",
        "sys/kernel/config/nvmet/ports/1/subsystems/nqn.a": "",
        "sys/kernel/config/nvmet/ports/2/addr_trtype": "rdma\n",
        "sys/kernel/config/nvmet/ports/3/addr_trtype": "tcp\n",
        "sys/kernel/config/nvmet/ports/3/subsystems/nqn.a": "",
        "sys/class/iscsi_connection/connection1:0/persistent_address": "10.1.0.8\n",
    }
    assert _storage.read_sessions(nodes.write(tmp_path, {**NVME, **SCSI, **target}), {}) == (
        Session("nvme1", "NVMe over RDMA", "10.1.0.9"),
        Session("host5", "iSER"),
        Session("host6", "SRP"),
        Session("connection1:0", "iSCSI", "10.1.0.8"),
        Session("nvmet port 1", "NVMe over RDMA", "10.1.0.1"),
    )


def block(name: str, path: str, partition: bool = False) -> nodes.Tree:
    tree: nodes.Tree = {"sys/devices/%s/%s/size" % (path, name): "1", "sys/class/block/" + name: nodes.Link("/sys/devices/%s/%s" % (path, name))}
    if partition:
        tree["sys/devices/%s/%s/partition" % (path, name)] = "1"
    return tree


@pytest.mark.parametrize(
    ("device", "session"),
    [
        ("/dev/nvme1n1p2", "nvme1"),
        ("/dev/nvme0n1", ""),
        ("/dev/sdb1", "host5"),
        ("/dev/sda", ""),
        ("/dev/mapper/vg-root", "host5"),
        ("/dev/dm-1", "host5"),
        ("/dev/missing", ""),
    ],
)
def test_what_a_block_device_stands_on(tmp_path: pathlib.Path, device: str, session: str) -> None:
    scsi = "platform/host5/session1/target5:0:0/5:0:0:0/block"
    tree: nodes.Tree = {
        **NVME,
        **SCSI,
        **block("nvme1n1", "virtual/nvme-fabrics/ctl/nvme1"),
        **block("nvme1n1p2", "virtual/nvme-fabrics/ctl/nvme1/nvme1n1", partition=True),
        **block("sda", "pci0000:00/ata1/host0/target0:0:0/0:0:0:0/block"),
        **block("sdb", scsi),
        **block("sdb1", scsi + "/sdb", partition=True),
        **block("dm-1", "virtual/block"),
        "sys/devices/virtual/block/dm-1/slaves/sdb1": "",
        "dev/dm-1": "",
        "dev/mapper/vg-root": nodes.Link("../dm-1"),
    }
    root = nodes.write(tmp_path, tree)
    found = _storage.block_session(device, _storage.read_sessions(root, {}), root)
    assert (found.name if found else "") == session


def test_multipath_namespace_is_found_through_its_subsystem(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        **block("nvme7n1", "virtual/nvme-subsystem/nvme-subsys7"),
        "sys/class/nvme-subsystem/nvme-subsys7/nvme1": "",
        **NVME,
    }
    root = nodes.write(tmp_path, tree)
    found = _storage.block_session("/dev/nvme7n1", _storage.read_sessions(root, {}), root)
    assert found is not None
    assert found.name == "nvme1"
