# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A real kernel that requires signatures, and a driver that DKMS has signed with its own key, which is not enrolled."""

from __future__ import annotations

import pytest
from driver_node import IN_USE, Node
from proofs import LOOK_ALIKE

# Signature enforcement can only be enabled; it stays on until the next boot.
_DEMAND = "echo Y >/sys/module/module/parameters/sig_enforce && cat /sys/module/module/parameters/sig_enforce"
_SIGNER = "modinfo -F signer ib_core"


@pytest.fixture(scope="module")
def node(driver: Node) -> Node:
    """Return the node with the vendor's driver on its disk, the distribution's in use, and a kernel that requires signatures from now on."""
    done = driver.play("site", "--skip-tags", "opensm", ofed_reload="never")
    assert done.status == 0, done.output
    assert driver.run(_DEMAND) == "Y"
    return driver


@pytest.mark.parametrize("policy", ["if_idle", "force", "reboot"])
@pytest.mark.proves("reload", debian12=LOOK_ALIKE)
def test_a_driver_that_the_kernel_would_refuse_replaces_none(node: Node, policy: str) -> None:
    before, signer = node.loaded(), node.run(_SIGNER)
    assert signer
    assert before == dict.fromkeys(IN_USE, "")
    for check in ((), ("--check",)):
        result = node.module("driver_reload", *check, allow_reload=True, policy=policy)
        assert result["failed"] and "mokutil --import" in result["msg"], result
        assert 'signed by "%s", which this kernel does not trust' % signer in result["msg"], result
    assert node.loaded() == before
    assert node.reachable(0)


def test_the_kernel_would_have_refused_it(node: Node) -> None:
    """Refusing to unload was right: the vendor's module is not loaded yet, and the kernel rejects it."""
    assert node.run("modprobe mlx_compat && echo loaded || echo refused") == "refused"
