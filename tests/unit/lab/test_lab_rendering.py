# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import io
import pathlib
import tarfile

import lab_kernel_subset
import pytest
import yaml
from labctl import _cluster, _docker, _fabric, _generate, _hardware, _image, _inventory, _network, _settings, _status, _topology
from labctl._say import LabError

NODES = _topology.parse(_generate.generate(3)).nodes


def test_node_json() -> None:
    assert _hardware.description(NODES[0], "172.30.0.2", "6.1.0-50-amd64") == {
        "name": "node1",
        "simulator": "172.30.0.2",
        "kernel": "6.1.0-50-amd64",
        "network": "networkd",
        "hcas": [
            {
                "device": "mlx5_0",
                "driver": "mlx5_core",
                "pci": "0000:03:00.0",
                "type": "MT4119",
                "psid": "MT_0000000008",
                "firmware": "16.35.2000",
                "part_number": "MCX556A-ECAT",
                "node_guid": "0x0002c90300001000",
                "sys_image_guid": "0x0002c90300001000",
                "numa_node": 0,
                "connected_capable": False,
                "ports": [{"port": 1, "port_guid": "0x0002c90300001001", "node_description": "node1", "netdev": "ib0"}],
            }
        ],
    }


def test_the_third_node_is_an_old_card() -> None:
    hca = _hardware.description(NODES[2], "", "")["hcas"][0]
    assert (hca["device"], hca["type"], hca["psid"], hca["firmware"], hca["connected_capable"]) == ("mlx4_0", "MT4099", "MT_1090110019", "2.42.5000", True)


def test_second_adapter_of_a_node() -> None:
    node = NODES[0]._replace(hcas=(NODES[0].hcas[0], NODES[1].hcas[0]))
    described = _hardware.description(node, "", "")["hcas"]
    assert [(hca["device"], hca["pci"], hca["numa_node"], hca["ports"][0]["netdev"]) for hca in described] == [
        ("mlx5_0", "0000:03:00.0", 0, "ib0"),
        ("mlx5_1", "0000:83:00.0", 1, "ib1"),
    ]
    assert _hardware.port_names(node) == ("mlx5_0/1", "mlx5_1/1")
    assert _hardware.port_places(node) == ("0000:03:00.0/1", "0000:83:00.0/1")


def test_inventory() -> None:
    everything = yaml.safe_load(_inventory.render(NODES, {node.name: "lab-" + node.name for node in NODES}))["all"]
    assert everything["vars"]["ansible_connection"] == "community.docker.docker"
    assert everything["children"]["rdma"]["hosts"]["node3"] == {
        "ansible_host": "lab-node3",
        "rdma_ports": ["0000:03:00.0/1"],
        "ipoib_interfaces": [{"name": "ib0", "addresses": ["10.20.0.3/24"], "mode": "auto"}],
    }
    assert everything["children"]["opensm"]["hosts"] == {"node1": None}


def test_inventory_of_many_nodes() -> None:
    nodes = _topology.parse(_generate.generate(300)).nodes
    hosts = yaml.safe_load(_inventory.render(nodes, {node.name: node.name for node in nodes}))["all"]["children"]["rdma"]["hosts"]
    addresses = [host["ipoib_interfaces"][0]["addresses"][0] for host in hosts.values()]
    assert len(set(addresses)) == 300
    assert addresses[299] == "10.20.1.46/16"


def test_free_subnet() -> None:
    assert _network.free_subnet(["172.17.0.0/16", "default", "192.0.2.0/24", "0.0.0.0/0"]) == "172.30.0.0/22"
    assert _network.free_subnet(["172.30.2.0/24"]) == "172.29.0.0/22"
    with pytest.raises(LabError, match="RDMALAB_SUBNET"):
        _network.free_subnet(["172.16.0.0/12"])


def test_addresses() -> None:
    assert [_network.address("172.30.0.0/22", index) for index in (0, 1, 300)] == ["172.30.0.2", "172.30.0.16", "172.30.1.59"]
    with pytest.raises(LabError, match="no address for node 300"):
        _network.address("10.0.0.0/24", 300)


def test_settings_of_a_second_lab(tmp_path: pathlib.Path) -> None:
    assert _settings.settings("", {}).container("node1") == "rdmalab-node1"
    assert _settings.settings("other", {}).inventory == _settings.REPOSITORY / ".lab" / "other" / "inventory.yml"
    assert _settings.settings("", {"RDMALAB_PREFIX": "x", "RDMALAB_STATE": str(tmp_path)}).inventory == tmp_path / "inventory.yml"
    with pytest.raises(LabError, match="not usable"):
        _settings.settings("Ümlaut", {})


def test_settings_of_another_suite() -> None:
    assert [_settings.settings("", given).suite for given in ({}, {"RDMALAB_SUITE": ""}, {"RDMALAB_SUITE": "trixie"})] == ["bookworm", "bookworm", "trixie"]
    with pytest.raises(LabError, match="RDMALAB_SUITE is 'sid': the lab makes nodes of bookworm, trixie, bullseye"):
        _settings.settings("", {"RDMALAB_SUITE": "sid"})


def test_tags_follow_the_sources(tmp_path: pathlib.Path) -> None:
    for part in _image.CONTEXT:
        (tmp_path / part).mkdir()
    (tmp_path / "node" / "a").write_text("1")
    lab = _settings.settings("", {})
    before = _image.tags(lab, root=tmp_path)
    assert before == _image.tags(lab, root=tmp_path)
    (tmp_path / "node" / "a").write_text("2")
    assert _image.tags(lab, root=tmp_path) != before
    assert _image.digest([b"a", b"bc"]) != _image.digest([b"ab", b"c"])


def test_one_node_image_a_suite() -> None:
    lab = _settings.settings("", {})
    images = _image.tags(lab, ["trixie", "bookworm", "trixie"])
    assert list(images.nodes) == ["trixie", "bookworm"]
    assert images.nodes["trixie"].startswith("rdmalab/node:trixie-")
    assert images.nodes["bookworm"] == _image.tags(lab).nodes["bookworm"]
    trixie = _settings.settings("", {"RDMALAB_SUITE": "trixie"})
    assert _image.tags(trixie).nodes["trixie"] == images.nodes["trixie"]
    assert _image.tags(trixie).simulator != images.simulator


def test_a_node_that_reboots_comes_back() -> None:
    assert _cluster.recipe(_settings.settings("", {}), "image")["restart_policy"] == "on-failure"


def test_files_for_a_container() -> None:
    with tarfile.open(fileobj=io.BytesIO(_docker.files({"/etc/lab/node.json": "{}"}, {"/etc/x": "/lib/y"}))) as archive:
        assert [(member.name, member.linkname) for member in archive] == [("etc/lab/node.json", ""), ("etc/x", "/lib/y")]


def test_console_targets() -> None:
    assert _fabric.console_targets(NODES[1]) == ('"H-0002c90300001010"[1]',)
    with pytest.raises(LabError, match="It has: mlx5_0/1"):
        _fabric.console_targets(NODES[1], "mlx5_0/2")


def test_fabric_without_empty_ports() -> None:
    full = '           2    3[  ] ==( 4X Active/  LinkUp)==>       4    1[  ] "node3" (Could be)\n'
    empty = '           2    4[  ] ==(                Down/ Polling)==>             [  ] "" ( )\n'
    assert _fabric.without_empty_ports(full + empty) == full


def test_status_rows() -> None:
    probe = "systemd|running\nport|mlx5_0/1|4: ACTIVE|5: LinkUp|0x1|0x1\nib0|ib0 UP 10.20.0.1/24 fe80::2/64\nopensm|runs\n"
    master = _status.parse_probe("node1", "running", probe)
    assert _status.rows([master]) == [("node1", "running", "running", "mlx5_0/1", "ACTIVE/LinkUp", "1", "1", "up 10.20.0.1/24", "master")]
    assert _status.rows([_status.parse_probe("node2", "exited", "")]) == [("node2", "exited", "-", "-", "-", "-", "-", "-", "")]


def test_kernel_subset() -> None:
    dependencies = "kernel/drivers/infiniband/a.ko: kernel/net/b.ko\nkernel/net/b.ko: kernel/lib/c.ko\nkernel/lib/c.ko:\nkernel/sound/d.ko:\n"
    assert lab_kernel_subset.closure(dependencies) == {"kernel/drivers/infiniband/a.ko", "kernel/net/b.ko", "kernel/lib/c.ko"}
