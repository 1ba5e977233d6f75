# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which way the adapters of a node reach the memory of its GPUs, and why not another one. Pure.

The limits are those of NVIDIA's documentation: nvidia_peermem is a part of the driver from release 470 on, open kernel
modules exist from 515 on, which is CUDA 11.7, and the kernel exports memory with DMA-BUF to RDMA from 5.12 on. In the kernel, each
driver of an adapter has to take such memory (C(reg_user_mr_dmabuf)); mlx4 never came to.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import STAMP_PATH, from_facts

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import Gpu

PEERMEM = "nvidia_peermem"
LEGACY = "nv_peer_mem"
DMABUF = "dmabuf"
AUTO = "auto"
METHODS = (AUTO, PEERMEM, LEGACY, DMABUF)
VARIABLE = "gpudirect_method"

_PEERMEM_SINCE = 470
_OPEN_SINCE = 515
_DMABUF_SINCE = (5, 12)
_WITHOUT_DMABUF = ("mlx4_core",)
_REBUILDS = ("built_before_stack", "built_on_other_stack", "driver_unbuilt")
_PROVIDERS = "MLNX_OFED or DOCA-OFED (ofed_source)"


class Obstacle(t.NamedTuple):
    """Why a method does not work on a node."""

    code: str
    method: str
    found: str
    """The value found, in words."""
    allowed: str
    next_step: str
    instead: str = ""
    """Another method, for those who have asked for this one."""
    lasting: bool = False
    """Does it follow from the GPU, its driver and the kernel alone, which this collection does not change?"""

    def problem(self, wanted: str) -> Problem:
        steps = ", or ".join(step for step in (self.next_step, self.instead if wanted != AUTO else "") if step)
        return Problem(VARIABLE, wanted, self.allowed, "; ".join(part for part in ("%s: %s" % (self.method, self.found), steps) if part))


class Node(t.NamedTuple):
    """What the decision depends on."""

    gpu: Gpu
    kernel: str
    """The release of the running one."""
    stack: str = "inbox"
    """Whose RDMA packages are installed: C(inbox), C(mlnx_ofed), C(doca) or C(none)."""
    ofed_version: str = ""
    adapters: tuple[str, ...] = ()
    """Kernel drivers of the adapters that can do RDMA; empty where that is not known, or nothing drives them yet."""


def node_of(facts: t.Mapping[str, t.Any]) -> Node:
    """The node of C(rdma) facts that have the parts gpu and kernels. What they do not tell, its stack, is left out."""
    drivers = tuple(adapter["driver"] for adapter in facts.get("adapters") or () if adapter["driver"])
    return Node(from_facts(facts.get("gpu") or {}), str((facts.get("kernels") or {}).get("running", "")), adapters=drivers)


class Verdict(t.NamedTuple):
    """The decision."""

    method: str
    """One of METHODS but for auto; "" where nothing is to be done, or nothing can."""
    why: str
    obstacles: tuple[Obstacle, ...] = ()
    """What stands against what was asked for."""
    rebuild: bool = False
    """Has the GPU driver to be built anew first?"""


def branch_of(version: str) -> int:
    """C(535.104.05) -> 535; 0 where it is unknown."""
    head = version.partition(".")[0]
    return int(head) if head.isdigit() else 0


def kernel_of(release: str) -> tuple[int, int]:
    """C(6.1.0-50-amd64) -> (6, 1)."""
    match = re.match(r"^(\d+)\.(\d+)", release)
    return (int(match.group(1)), int(match.group(2))) if match else (0, 0)


def _no_driver(method: str, node: Node) -> list[Obstacle]:
    if node.gpu.driver.version:
        return []
    names = sorted({device.driver for device in node.gpu.devices if device.driver})
    found = "NVIDIA's driver is not installed for kernel %s%s" % (node.kernel, ", and %s drives the GPU" % " and ".join(names) if names else "")
    return [Obstacle("no_driver", method, found, "a node with NVIDIA's driver", "install the GPU driver for this kernel, after the RDMA stack")]


def _unbuilt(method: str, node: Node) -> list[Obstacle]:
    """The loaded driver hides that the next boot has none."""
    driver = node.gpu.driver
    if not driver.unbuilt:
        return []
    found = "GPU driver %s is loaded, but not installed for kernel %s: the next boot has none. A build of it failed or was broken off" % (
        driver.version,
        node.kernel,
    )
    step = "install it: dkms install %s -k %s" % (driver.dkms, node.kernel)
    if method == PEERMEM and node.gpu.peer_memory.installed and branch_of(driver.version) >= _PEERMEM_SINCE:
        step = "have it built, with gpudirect_allow_rebuild: true, or %s" % step
    return [Obstacle("driver_unbuilt", method, found, "a GPU driver that is installed for this kernel", step)]


def _no_provider(method: str, node: Node) -> list[Obstacle]:
    """Peer memory has to come with the RDMA stack: the kernel's own has none."""
    if node.gpu.peer_memory.installed:
        return []
    if node.stack in ("mlnx_ofed", "doca"):
        found = "the installed stack (%s) is not on disk for kernel %s, whose own ib_core has no peer memory" % (node.stack, node.kernel)
        return [
            Obstacle(
                "stack_not_built", method, found, "a kernel that has the stack's modules", "build them for it: dkms autoinstall, or ofed_kernel_policy: build"
            )
        ]
    found = "the inbox stack has no peer memory (no module of kernel %s exports ib_register_peer_memory_client)" % node.kernel
    return [Obstacle("no_peer_memory", method, found, "a stack with peer memory: " + _PROVIDERS, "install it before the GPU driver", "use dmabuf")]


def _peermem(node: Node) -> list[Obstacle]:
    driver, peer = node.gpu.driver, node.gpu.peer(PEERMEM)
    found = _no_driver(PEERMEM, node)
    if not found and branch_of(driver.version) < _PEERMEM_SINCE:
        words = "GPU driver %s is without it" % driver.version
        found.append(Obstacle("driver_without_peermem", PEERMEM, words, "a GPU driver from %d on" % _PEERMEM_SINCE, "upgrade it", "use nv_peer_mem", True))
    elif not found and not peer.file and not driver.unbuilt:
        words = "GPU driver %s is installed without it for kernel %s" % (driver.version, node.kernel)
        found.append(Obstacle("peermem_missing", PEERMEM, words, "a GPU driver with nvidia-peermem.ko", "install the package of the GPU driver that has it"))
    found += _unbuilt(PEERMEM, node)
    provider = _no_provider(PEERMEM, node)
    if not found and not provider and (not peer.linked or peer.other_build):
        step = "build it anew, which gpudirect_allow_rebuild: true does with DKMS"
        if not driver.dkms:
            step = "install the GPU driver again, for DKMS has no source of it to build anew"
        code, words = "built_before_stack", "the GPU driver was built before the stack, or without seeing it: its nvidia_peermem is empty"
        if peer.linked:
            code, words = "built_on_other_stack", "the GPU driver was built on another build of the stack, and the kernel compares symbol versions"
        found.append(Obstacle(code, PEERMEM, words, "a GPU driver built on the installed stack", step))
    if node.gpu.peer(LEGACY).loaded and STAMP_PATH not in node.gpu.managed:
        words = "nv_peer_mem is loaded, which somebody else installed, and one excludes the other"
        found.append(Obstacle("legacy_loaded", PEERMEM, words, "a node without nv_peer_mem", "remove its package and unload it"))
    return [*found, *provider]


def _legacy(node: Node) -> list[Obstacle]:
    version = node.gpu.driver.version
    found = _no_driver(LEGACY, node)
    if not found and branch_of(version) >= _PEERMEM_SINCE:
        words = "GPU driver %s has nvidia_peermem in its place" % version
        found.append(Obstacle("superseded", LEGACY, words, "a GPU driver before %d" % _PEERMEM_SINCE, "", "use nvidia_peermem, or auto", True))
    return [*found, *_unbuilt(LEGACY, node), *_no_provider(LEGACY, node)]


def _dmabuf(node: Node) -> list[Obstacle]:
    driver = node.gpu.driver
    found = _no_driver(DMABUF, node)
    if not found and branch_of(driver.version) < _OPEN_SINCE:
        words = "GPU driver %s can't export memory (CUDA before 11.7)" % driver.version
        found.append(
            Obstacle("driver_without_dmabuf", DMABUF, words, "a GPU driver from %d on, with open kernel modules" % _OPEN_SINCE, "upgrade it", lasting=True)
        )
    elif not found and driver.flavour == "proprietary":
        words = "GPU driver %s has the proprietary kernel modules" % driver.version
        found.append(
            Obstacle("proprietary", DMABUF, words, "the open kernel modules", "install the open flavour of the GPU driver", "use nvidia_peermem", True)
        )
    if kernel_of(node.kernel) < _DMABUF_SINCE:
        words = "kernel %s does not share memory with RDMA this way" % node.kernel
        found.append(Obstacle("kernel_without_dmabuf", DMABUF, words, "a kernel from %d.%d on" % _DMABUF_SINCE, "boot a newer one", "use nvidia_peermem", True))
    if node.adapters and set(node.adapters) <= set(_WITHOUT_DMABUF):
        words = "%s, which drives the adapters of this node, can't use it" % " and ".join(sorted(set(node.adapters)))
        found.append(Obstacle("adapter_without_dmabuf", DMABUF, words, "an adapter from ConnectX-4 on", "put one into the node", "use nvidia_peermem", True))
    return [*found, *_unbuilt(DMABUF, node)]


_JUDGES: t.Mapping[str, t.Callable[[Node], list[Obstacle]]] = {PEERMEM: _peermem, LEGACY: _legacy, DMABUF: _dmabuf}


def obstacles(method: str, node: Node) -> tuple[Obstacle, ...]:
    """What stands against a method, whoever asks for it."""
    return tuple(_JUDGES[method](node))


def _can_rebuild(found: t.Sequence[Obstacle], node: Node, allow_rebuild: bool) -> bool:
    # Only nvidia_peermem is worth a build: with another method, the driver is somebody else's matter.
    wanted = len(found) == 1 and found[0].method == PEERMEM and found[0].code in _REBUILDS
    return wanted and allow_rebuild and bool(node.gpu.driver.dkms)


def _choose(wanted: str, node: Node, allow_rebuild: bool) -> Verdict:
    found = obstacles(wanted, node)
    rebuild = _can_rebuild(found, node, allow_rebuild)
    if found and not rebuild:
        return Verdict("", "%s can't be used here" % wanted, found)
    driver = node.gpu.driver
    words = "GPU driver %s (%s), kernel %s" % (driver.version, driver.flavour or "of unknown flavour", node.kernel)
    if wanted == DMABUF:
        return Verdict(DMABUF, "dmabuf: %s share memory by themselves; no module is needed" % words)
    provider = node.gpu.peer_memory.installed
    because = "%s: %s, and %s of the installed stack offers peer memory" % (wanted, words, provider)
    return Verdict(wanted, because, (), rebuild)


def decide(wanted: str, node: Node, allow_rebuild: bool = False) -> Verdict:
    """The method for a node, with the reason; C(obstacles) where there is none.

    auto takes nvidia_peermem where it can be loaded, for with it both ways are open to programs; then dmabuf; then
    nv_peer_mem.
    """
    if not node.gpu.devices:
        return Verdict("", "there is no NVIDIA GPU in this node, so nothing is done about GPUDirect RDMA")
    if wanted != AUTO:
        return _choose(wanted, node, allow_rebuild)
    tried: list[Obstacle] = []
    for method in (PEERMEM, DMABUF, LEGACY):
        verdict = _choose(method, node, allow_rebuild)
        if verdict.method:
            others = "; ".join("not %s, as %s" % (obstacle.method, obstacle.found) for obstacle in tried)
            return verdict._replace(why="%s%s" % (verdict.why, " (%s)" % others if others else ""))
        tried += verdict.obstacles
    return Verdict("", "no method can be used here", tuple(tried))


def problems_of(verdict: Verdict, wanted: str) -> list[Problem]:
    """Each cause once: what stands against all methods, as a driver that is not there, says nothing more of the others."""
    told: dict[str, Obstacle] = {}
    for obstacle in verdict.obstacles:
        told.setdefault(obstacle.found, obstacle)
    return [obstacle.problem(wanted) for obstacle in told.values()]


def lasting_problems(wanted: str, node: Node) -> list[Problem]:
    """What no role of this collection would change before the method is needed: worth to know before anything is changed."""
    if wanted not in _JUDGES or not node.gpu.devices or not node.gpu.driver.version:
        return []
    return [obstacle.problem(wanted) for obstacle in obstacles(wanted, node) if obstacle.lasting]
