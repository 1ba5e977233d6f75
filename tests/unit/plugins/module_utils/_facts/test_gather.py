# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import json
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _gather
from support import node_trees as nodes
from support.node_files import DEBIAN, DPKG, HOST, MODINFO, PROC

LINKS = nodes.ip_addr(nodes.link("ib0", addr_info=[nodes.address("10.1.0.1/24")]))


def node() -> nodes.Tree:
    return {
        **nodes.connectx5(),
        **HOST,
        "etc/os-release": DEBIAN,
        "var/lib/dpkg/status": DPKG,
        "proc/modules": PROC,
        "sys/module/ib_core/srcversion": "D0AA3CFDF5D7B8F1A64A2C5\n",
        "sys/module/mlx5_core/srcversion": "0123456789ABCDEF0123456\n",
        "lib/modules/6.1.0-50-amd64/modules.dep": "kernel/ib_core.ko:\n",
    }


def runner() -> nodes.FakeRunner:
    return nodes.FakeRunner({"ip -j -d addr": LINKS, "ip -j route get 10.1.0.254": '[{"dev":"ib0"}]', "modinfo": MODINFO})


def test_everything(tmp_path: pathlib.Path) -> None:
    run = runner()
    environ = {"SSH_CONNECTION": "10.1.0.254 1 10.1.0.1 22"}
    rdma, warnings = _gather.gather(run, _gather.PARTS, environ, root=nodes.write(tmp_path, node()), running="6.1.0-50-amd64")
    assert warnings == ()
    assert set(rdma) == {"os", "adapters", "rails", *_gather.PARTS}
    # JSON transfers the facts to Ansible unchanged.
    assert json.loads(json.dumps(rdma)) == rdma
    assert rdma["os"]["family"] == "Debian"
    assert rdma["machine"]["kind"] == "host"
    assert rdma["stack"]["kind"] == "inbox"
    assert rdma["kernels"]["running"] == "6.1.0-50-amd64"
    assert rdma["kernels"]["installed"][0]["running"] is True
    assert [module["name"] for module in rdma["modules"] if module["differs"]] == ["mlx5_core"]
    assert [hca["name"] for hca in rdma["hcas"]] == ["mlx5_0", "mlx5_1"]
    assert [(port["name"], port["netdevs"]) for port in rdma["ports"]] == [("mlx5_0/1", ["ib0"]), ("mlx5_1/1", ["ib1"])]
    assert [port["connected_capable"] for port in rdma["ports"]] == [False, False]
    assert rdma["netdevs"][0]["addresses"] == ["10.1.0.1/24"]
    assert rdma["usage"]["in_use"] is True
    assert [user["name"] for user in rdma["usage"]["users"]] == ["ko2iblnd", "nvidia_peermem"]
    assert rdma["ssh"] == {"client": "10.1.0.254", "device": "ib0", "port": "mlx5_0/1", "ports": ["mlx5_0/1"], "over_rdma": True}
    assert run.ran == ["ip -j -d addr", "modinfo ib_core mlx5_core", "ip -j route get 10.1.0.254"]


def test_bare_node_is_empty_and_no_failure(tmp_path: pathlib.Path) -> None:
    rdma, warnings = _gather.gather(nodes.FakeRunner(), _gather.PARTS, {}, root=str(tmp_path), running="6.1.0")
    assert warnings == ()
    assert [rdma[part] for part in ("modules", "hcas", "adapters", "ports", "netdevs")] == [[], [], [], [], []]
    assert rdma["kernels"] == {"running": "6.1.0", "next_boot": "", "next_boot_evidence": "", "secure_boot": False, "installed": [], "dkms_order_due": []}
    assert rdma["usage"] == {"in_use": False, "users": []}
    assert rdma["stack"]["kind"] == "none"


@pytest.mark.parametrize("part", _gather.PARTS)
def test_one_part(tmp_path: pathlib.Path, part: str) -> None:
    root = nodes.write(tmp_path, node())
    whole, _warnings = _gather.gather(runner(), _gather.PARTS, {}, root=root, running="6.1.0-50-amd64")
    facts, _warnings = _gather.gather(runner(), [part], {}, root=root, running="6.1.0-50-amd64")
    assert set(facts) == ({"os", "adapters", "rails", part} if part == "hcas" else {"os", part})
    assert facts[part] == whole[part]


@pytest.mark.parametrize("part", ["stack", "kernels", "hcas", "machine"])
def test_parts_that_start_no_process(tmp_path: pathlib.Path, part: str) -> None:
    run = runner()
    _gather.gather(run, [part], {}, root=nodes.write(tmp_path, node()))
    assert run.ran == []


def test_a_tool_that_fails_is_a_warning(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner({"ip": 'Option "-j" is unknown', "modinfo": MODINFO})
    rdma, (warning,) = _gather.gather(run, _gather.PARTS, {}, root=nodes.write(tmp_path, node()))
    assert [netdev["name"] for netdev in rdma["netdevs"]] == ["ib0", "ib1"]
    assert "ip -j -d addr" in warning
