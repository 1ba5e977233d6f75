# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts import _modules
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from hypothesis import given
from hypothesis import strategies as st
from support import node_trees as nodes
from support.node_files import PROC


def test_proc_modules() -> None:
    found = {module.name: module for module in _modules.parse_proc_modules(PROC)}
    assert found["ib_core"] == Module("ib_core", 5, ("ib_ipoib", "ib_umad", "ib_uverbs", "mlx5_ib", "rdma_cm"))
    assert found["ib_umad"] == Module("ib_umad", 2, ())
    assert (found["ib_umad"].own_users, found["ib_core"].own_users) == (2, 0)
    assert list(found) == sorted(found)


def test_kernel_without_unloading() -> None:
    assert _modules.parse_proc_modules("ib_core 1 - - Live 0x0\n") == (Module("ib_core", 0, ()),)


def test_related_are_the_stack_and_all_that_use_it() -> None:
    names = [module.name for module in _modules.related(_modules.parse_proc_modules(PROC))]
    assert names == ["ib_core", "ib_ipoib", "ib_umad", "ib_uverbs", "ko2iblnd", "mlx5_core", "mlx5_ib", "nvidia_peermem", "rdma_cm"]


@pytest.mark.parametrize("name", ["ib_core", "mlx5_core", "mlx_compat", "rpcrdma", "nvme_rdma", "nvmet_rdma", "smc", "rdma_rxe", "irdma"])
def test_stack(name: str) -> None:
    assert _modules.in_stack(name)


@pytest.mark.parametrize("name", ["ko2iblnd", "nvidia_peermem", "beegfs", "nvme", "smc91x", "mlxsw_core", "cifs"])
def test_not_stack(name: str) -> None:
    assert not _modules.in_stack(name)


@given(st.text())
def test_parsers_take_any_text(text: str) -> None:
    _modules.related(_modules.parse_proc_modules(text))


@pytest.mark.parametrize(
    ("loaded", "disk", "differs"),
    [
        ("srcversion: A", "srcversion: A", False),
        ("srcversion: A", "srcversion: B", True),
        ("", "", False),
        ("", "srcversion: B", True),
        ("srcversion: A", "", True),
        ("srcversion: A", None, False),
    ],
)
def test_loaded_against_disk(tmp_path: pathlib.Path, loaded: str, disk: str | None, differs: bool) -> None:
    tree: nodes.Tree = {"proc/modules": PROC, "sys/module/ib_core/refcnt": "5"}
    if loaded:
        tree["sys/module/ib_core/srcversion"] = loaded.partition(": ")[2] + "\n"
    block = "" if disk is None else "filename: /lib/modules/6.1.0/ib_core.ko\n%s\nname: ib_core\n" % disk
    run = nodes.FakeRunner({"modinfo": Output(1, block, "modinfo: ERROR: Module ib_core not found.")})
    root = nodes.write(tmp_path, tree)
    found = {module.name: module for module in _modules.with_disk(_modules.read_loaded(root), run, root)}
    assert found["ib_core"].differs is differs
    assert not any(module.differs for module in found.values() if module.name != "ib_core")
    assert run.ran == ["modinfo ib_core"]


def test_nothing_loaded_starts_nothing(tmp_path: pathlib.Path) -> None:
    run = nodes.FakeRunner({"modinfo": ""})
    assert _modules.with_disk(_modules.read_loaded(str(tmp_path)), run) == ()
    assert run.ran == []
