# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The participants of a measurement between GPUs, and its result."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _bench as bench

CLOSED = {"loaded": True, "version": "525.60.13", "flavour": "proprietary"}
HELP = "--use_cuda=<cuda device id> ...\n --use_cuda_dmabuf ...\n"


def facts(**changes: t.Any) -> dict[str, t.Any]:
    gpu = {
        "devices": [{"pci": "0000:81:00.0"}, {"pci": "0000:18:00.0"}],
        "driver": {"loaded": True, "version": "535.104.05", "flavour": "open"},
        "peers": [{"name": "nvidia_peermem", "loaded": True}, {"name": "nv_peer_mem", "loaded": False}],
        "topology": [
            {"gpu": "0000:18:00.0", "hca": "mlx5_0", "path": "SYS"},
            {"gpu": "0000:18:00.0", "hca": "mlx5_1", "path": "PIX"},
            {"gpu": "0000:81:00.0", "hca": "mlx5_0", "path": "PHB"},
            {"gpu": "0000:81:00.0", "hca": "mlx5_1", "path": "SYS"},
        ],
    }
    ports = [
        {"name": "mlx5_%d/1" % number, "device": "mlx5_%d" % number, "port": 1, "state": "ACTIVE", "pci": "0000:0%d:00.0" % (3 + number)} for number in (0, 1)
    ]
    return {"gpu": {**gpu, **changes}, "kernels": {"running": "6.1.0-50-amd64"}, "ports": ports}


def test_the_adapter_is_the_nearest_to_the_gpu() -> None:
    one = bench.endpoint(facts(), HELP)
    assert one == bench.Endpoint((), "mlx5_1", 1, "0000:18:00.0", "PIX", "nvidia_peermem", ("--use_cuda=0",))
    assert bench.endpoint(facts(), HELP, number=1)[1:5] == ("mlx5_0", 1, "0000:81:00.0", "PHB")
    assert bench.endpoint(facts(), HELP, device="mlx5_0").path == "SYS"
    assert [bench.endpoint(facts(), HELP, device=place).device for place in ("0000:03:00.0", "04:00.0")] == ["mlx5_0", "mlx5_1"]
    assert bench.endpoint(facts(), HELP, way="dmabuf").options == ("--use_cuda=0", "--use_cuda_dmabuf")
    assert bench.endpoint(facts(peers=[]), HELP).way == "dmabuf"


@pytest.mark.parametrize(
    ("changes", "text", "number", "words"),
    [
        ({"devices": []}, HELP, 0, "there is no NVIDIA GPU"),
        ({}, HELP, 2, "gpudirect_test_gpu is 2; allowed: 0 to 1, for the GPUs 0000:18:00.0, 0000:81:00.0"),
        ({"driver": {}}, HELP, 0, "NVIDIA's driver is not loaded"),
        (
            {"peers": [], "driver": {"loaded": True, "version": "525.60.13", "flavour": "proprietary"}},
            HELP,
            0,
            "dmabuf: GPU driver 525.60.13 has the proprietary",
        ),
        ({}, "", 0, "ib_write_bw is not installed"),
        ({}, "--report_gbits", 0, "ib_write_bw was built without CUDA"),
        ({"peers": []}, "--use_cuda=<cuda device id>", 0, "ib_write_bw does not support DMA-BUF"),
    ],
)
def test_what_cant_take_part_is_told_why(changes: dict[str, t.Any], text: str, number: int, words: str) -> None:
    one = bench.endpoint(facts(**changes), text, number=number)
    assert [words in problem for problem in one.problems] == [True], one.problems


def test_without_an_active_port() -> None:
    idle = {**facts(), "ports": []}
    assert "no port is ACTIVE" in bench.endpoint(idle, HELP).problems[0]
    assert "no port of gpudirect_test_device mlx5_7 is ACTIVE" in bench.endpoint(facts(), HELP, device="mlx5_7").problems[0]
    assert len(bench.endpoint({}, "").problems) == 3


def test_the_table_is_for_people() -> None:
    one = bench.endpoint(facts(), HELP)
    assert bench.table([("node2", one), ("node1", one)], 97.31, 65536) == [
        "end            host   GPU           adapter   path  by way of",
        "-------------  -----  ------------  --------  ----  --------------",
        "writes         node2  0000:18:00.0  mlx5_1/1  PIX   nvidia_peermem",
        "is written to  node1  0000:18:00.0  mlx5_1/1  PIX   nvidia_peermem",
        "97.31 Gb/s on average, in writes of 65536 bytes",
    ]
