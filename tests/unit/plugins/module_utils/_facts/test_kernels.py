# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

from ansible_collections.rdma.ofed.plugins.module_utils._facts import _kernels
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes

DEP = """kernel/drivers/infiniband/core/ib_core.ko: kernel/lib/crc32c.ko
kernel/drivers/infiniband/core/ib_uverbs.ko.xz: kernel/drivers/infiniband/core/ib_core.ko.xz
kernel/drivers/infiniband/core/ib_umad.ko.zst:
updates/dkms/ib_ipoib.ko.gz:
kernel/drivers/net/ethernet/mellanox/mlx5/core/mlx5_core.ko: kernel/net/psample/psample.ko
kernel/drivers/infiniband/hw/mlx5/mlx5-ib.ko:
"""


def test_names() -> None:
    assert set(_kernels.module_files(DEP)) == {"ib_core", "ib_uverbs", "ib_umad", "ib_ipoib", "mlx5_core", "mlx5_ib"}
    assert _kernels.module_files("kernel/fs/ext4/ext4.ko\nnonsense\n\n") == {"ext4": "kernel/fs/ext4/ext4.ko"}


@given(st.text())
def test_names_take_any_text(text: str) -> None:
    assert all("/" not in name for name in _kernels.module_files(text))


def test_kernels(tmp_path: pathlib.Path) -> None:
    tree: nodes.Tree = {
        "lib/modules/6.1.0-50-amd64/modules.dep": DEP,
        "lib/modules/6.1.0-50-cloud-amd64/modules.dep": "kernel/fs/ext4/ext4.ko:\n",
        "lib/modules/6.1.0-51-amd64/modules.dep": DEP.replace("updates/dkms/ib_ipoib.ko.gz:\n", ""),
        "lib/modules/6.1.0-51-amd64/modules.builtin": "kernel/drivers/infiniband/ulp/ipoib/ib_ipoib.ko\n",
        "lib/modules/5.10.0-8-amd64/updates/dkms/left-behind.ko": "",
    }
    found = {kernel.release: kernel for kernel in _kernels.read_kernels(nodes.write(tmp_path, tree), "6.1.0-50-amd64")}
    assert {release: (kernel.running, kernel.rdma) for release, kernel in found.items()} == {
        "6.1.0-50-amd64": (True, True),
        "6.1.0-50-cloud-amd64": (False, False),
        "6.1.0-51-amd64": (False, True),
    }
    modules = found["6.1.0-50-amd64"].modules
    assert set(modules) == set(_kernels.MODULES)
    assert (modules["mlx5_ib"], modules["mlx4_ib"]) == (True, False)


def test_container_without_kernels(tmp_path: pathlib.Path) -> None:
    assert _kernels.read_kernels(str(tmp_path), "6.1.0") == ()
