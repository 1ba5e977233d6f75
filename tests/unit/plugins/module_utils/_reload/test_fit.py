# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose driver is loaded, and which modules the installed driver would not load."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
from ansible_collections.rdma.ofed.plugins.module_utils._reload._fit import CONTAINER, of_container, unfit

CORE, COMPAT = Module("ib_core", differs=True), Module("mlx_compat")
VENDOR, KERNEL = "updates/dkms/%s.ko", "kernel/drivers/%s.ko"


@pytest.mark.parametrize(
    ("core", "differs", "module", "need", "found"),
    [
        (VENDOR, True, KERNEL, VENDOR, ("rpcrdma",)),
        # The module uses nothing of the vendor, or comes from the vendor itself.
        (VENDOR, True, KERNEL, KERNEL, ()),
        (VENDOR, True, VENDOR, VENDOR, ()),
        # The core is the kernel's own, is not on disk, or is loaded as it is on disk.
        (KERNEL, True, KERNEL, VENDOR, ()),
        ("", True, KERNEL, VENDOR, ()),
        (VENDOR, False, KERNEL, VENDOR, ()),
    ],
)
def test_what_the_installed_core_would_not_take(core: str, differs: bool, module: str, need: str, found: tuple[str, ...]) -> None:
    paths = {"rpcrdma": module % "rpcrdma", "rdma_cm": need % "rdma_cm"}
    if core:
        paths["ib_core"] = core % "ib_core"
    assert unfit((CORE._replace(differs=differs), Module("rpcrdma")), paths, {"rpcrdma": ("rdma_cm",)}) == found


def test_modules_for_gpu_memory_fit_any_core_and_what_needs_nothing_does_too() -> None:
    paths = {"ib_core": VENDOR % "ib_core", "nvidia_peermem": KERNEL % "nvidia_peermem", "dummy": KERNEL % "dummy"}
    assert unfit((CORE, Module("nvidia_peermem"), Module("dummy")), paths, {"nvidia_peermem": ("ib_core",)}) == ()
    # Built-in modules have no file.
    assert unfit((CORE, Module("dummy")), paths, {"dummy": ("built_in",)}) == ()


@pytest.mark.parametrize("ready", [True, False])
@pytest.mark.parametrize(
    ("loaded", "available", "is_one"),
    [
        ((COMPAT, CORE._replace(differs=False)), (), True),
        ((COMPAT, CORE), ("mlx_compat",), True),
        # The vendor's driver on the node's own disk.
        ((COMPAT, CORE._replace(differs=False)), ("mlx_compat",), False),
        # The kernel's own driver.
        ((CORE,), (), False),
        ((CORE,), ("mlx_compat",), False),
    ],
)
def test_whether_a_container_loaded_the_driver(ready: bool, loaded: tuple[Module, ...], available: tuple[str, ...], is_one: bool) -> None:
    assert of_container(loaded, available, () if ready else ("/", CONTAINER), ready=ready) is is_one
    assert not of_container(loaded, available, ("/",), ready=False)
