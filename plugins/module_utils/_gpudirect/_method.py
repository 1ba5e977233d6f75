# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the adapters of a node access the memory of its GPUs, and why other methods are ruled out. Pure.

The limits are those of NVIDIA's documentation: nvidia_peermem is part of the driver since release 470, open kernel
modules exist since 515, which is CUDA 11.7, and the kernel exports memory to RDMA with DMA-BUF since 5.12. Each kernel
driver of an adapter has to support such memory (`reg_user_mr_dmabuf`), which mlx4 never did.
"""

from __future__ import annotations

import typing as t

from .._errors import Problem
from .._facts._gpu import SERVICE, STAMP_PATH, UNIT
from .._foreign import decimal, release
from ._found import LEGACY, PEERMEM, Found

DMABUF = "dmabuf"
AUTO = "auto"
METHODS = (AUTO, PEERMEM, LEGACY, DMABUF)
VARIABLE = "gpudirect_method"
MASKED = "masked"
UNIT_OF: t.Mapping[str, str] = {PEERMEM: UNIT, LEGACY: SERVICE}
"""The units that load the modules of each method at boot."""

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
    cause: str
    """What was found, in words."""
    allowed: str
    next_step: str
    instead: str = ""
    """Another method, as an alternative to this one."""
    lasting: bool = False
    """Whether it follows from the GPU, its driver and the kernel alone, which this collection does not change."""

    def problem(self, wanted: str) -> Problem:
        steps = ", or ".join(step for step in (self.next_step, self.instead if wanted != AUTO else "") if step)
        return Problem(VARIABLE, wanted, self.allowed, "; ".join(part for part in ("%s: %s" % (self.method, self.cause), steps) if part))


class Method(t.NamedTuple):
    """The method for a node, and why."""

    name: str
    """One of METHODS except auto; "" where nothing is to be done, or nothing can be."""
    why: str
    obstacles: tuple[Obstacle, ...] = ()
    """Why the wanted method can't be used."""
    rebuild: bool = False
    """Whether the GPU driver has to be rebuilt first."""


def branch_of(version: str) -> int:
    """`535.104.05` -> 535; 0 where unknown."""
    return decimal(version.partition(".")[0], 0)


def _no_driver(method: str, found: Found) -> list[Obstacle]:
    if found.gpu.driver.version:
        return []
    names = sorted({device.driver for device in found.gpu.devices if device.driver})
    cause = "NVIDIA's driver is not installed for kernel %s%s" % (found.kernel, ", and %s drives the GPU" % " and ".join(names) if names else "")
    return [Obstacle("no_driver", method, cause, "a node with NVIDIA's driver", "install the GPU driver for this kernel, after the RDMA stack")]


def _unbuilt(method: str, found: Found) -> list[Obstacle]:
    """Obstacles where the next boot has no driver module, which the loaded one conceals."""
    driver = found.gpu.driver
    if not driver.unbuilt:
        return []
    cause = "GPU driver %s is loaded, but not installed for kernel %s: it will be missing after the next boot. Its build failed or was interrupted"
    step = "install it: dkms install %s -k %s" % (driver.dkms, found.kernel)
    if method == PEERMEM and found.gpu.peer_memory.installed and branch_of(driver.version) >= _PEERMEM_SINCE:
        step = "have it built, with gpudirect_allow_rebuild: true, or %s" % step
    return [Obstacle("driver_unbuilt", method, cause % (driver.version, found.kernel), "a GPU driver that is installed for this kernel", step)]


def _masked(method: str, found: Found) -> list[Obstacle]:
    """Obstacles from a masked unit: without it, the modules of a method would not be loaded at the next boot."""
    unit = UNIT_OF[method]
    if unit not in found.gpu.masked:
        return []
    step = "systemctl unmask %s, or %s: none" % (unit, VARIABLE)
    return [Obstacle(MASKED, method, "the unit %s is masked, so nothing would load %s at boot" % (unit, method), "a unit that systemd starts", step)]


def _no_provider(method: str, found: Found) -> list[Obstacle]:
    """Obstacles where the RDMA stack lacks peer memory, which the kernel's own stack does not provide."""
    if found.gpu.peer_memory.installed:
        return []
    if found.stack in ("mlnx_ofed", "doca"):
        cause = "the installed stack (%s) has no modules on disk for kernel %s, whose own ib_core has no peer memory" % (found.stack, found.kernel)
        step = "build them for it: dkms autoinstall, or ofed_kernel_policy: build"
        return [Obstacle("stack_not_built", method, cause, "a kernel that has the stack's modules", step)]
    cause = "the inbox stack has no peer memory (no module of kernel %s exports ib_register_peer_memory_client)" % found.kernel
    return [Obstacle("no_peer_memory", method, cause, "a stack with peer memory: " + _PROVIDERS, "install it before the GPU driver", "use dmabuf")]


def _peermem(found: Found) -> list[Obstacle]:
    driver, peer = found.gpu.driver, found.gpu.peer(PEERMEM)
    causes = _no_driver(PEERMEM, found)
    if not causes and branch_of(driver.version) < _PEERMEM_SINCE:
        cause = "GPU driver %s does not have it" % driver.version
        causes.append(Obstacle("driver_without_peermem", PEERMEM, cause, "a GPU driver from %d on" % _PEERMEM_SINCE, "upgrade it", "use nv_peer_mem", True))
    elif not causes and not peer.file and not driver.unbuilt:
        cause = "GPU driver %s is installed without it for kernel %s" % (driver.version, found.kernel)
        causes.append(Obstacle("peermem_missing", PEERMEM, cause, "a GPU driver with nvidia-peermem.ko", "install the package of the GPU driver that has it"))
    causes += _unbuilt(PEERMEM, found)
    provider = _no_provider(PEERMEM, found)
    if not causes and not provider and (not peer.linked or peer.other_build):
        step = "rebuild it, which gpudirect_allow_rebuild: true does with DKMS"
        if not driver.dkms:
            step = "reinstall the GPU driver: DKMS has no source to build it from"
        code, cause = "built_before_stack", "the GPU driver was built before the stack, or without finding it: its nvidia_peermem is empty"
        if peer.linked:
            code, cause = "built_on_other_stack", "the GPU driver was built on another build of the stack, and the kernel compares symbol versions"
        causes.append(Obstacle(code, PEERMEM, cause, "a GPU driver built on the installed stack", step))
    if found.gpu.peer(LEGACY).loaded and STAMP_PATH not in found.gpu.managed:
        cause = "nv_peer_mem is loaded and does not belong to this collection, and the two exclude each other"
        causes.append(Obstacle("legacy_loaded", PEERMEM, cause, "a node without nv_peer_mem", "remove its package and unload it"))
    return [*causes, *_masked(PEERMEM, found), *provider]


def _legacy(found: Found) -> list[Obstacle]:
    version = found.gpu.driver.version
    causes = _no_driver(LEGACY, found)
    if not causes and branch_of(version) >= _PEERMEM_SINCE:
        cause = "GPU driver %s has nvidia_peermem instead" % version
        causes.append(Obstacle("superseded", LEGACY, cause, "a GPU driver before %d" % _PEERMEM_SINCE, "", "use nvidia_peermem, or auto", True))
    return [*causes, *_unbuilt(LEGACY, found), *_masked(LEGACY, found), *_no_provider(LEGACY, found)]


def _dmabuf(found: Found) -> list[Obstacle]:
    driver = found.gpu.driver
    causes = _no_driver(DMABUF, found)

    def lasting(code: str, cause: str, allowed: str, *, step: str, instead: str = "use nvidia_peermem") -> None:
        causes.append(Obstacle(code, DMABUF, cause, allowed, step, instead, lasting=True))

    if not causes and branch_of(driver.version) < _OPEN_SINCE:
        allowed = "a GPU driver from %d on, with open kernel modules" % _OPEN_SINCE
        lasting("driver_without_dmabuf", "GPU driver %s can't export memory (CUDA before 11.7)" % driver.version, allowed, step="upgrade it", instead="")
    elif not causes and driver.flavour == "proprietary":
        cause = "GPU driver %s has the proprietary kernel modules" % driver.version
        lasting("proprietary", cause, "the open kernel modules", step="install the open flavour of the GPU driver")
    if release(found.kernel) < _DMABUF_SINCE:
        cause = "kernel %s does not share memory with RDMA this way" % found.kernel
        lasting("kernel_without_dmabuf", cause, "a kernel from %d.%d on" % _DMABUF_SINCE, step="boot a newer one")
    if found.adapters and set(found.adapters) <= set(_WITHOUT_DMABUF):
        cause = "%s, which drives the adapters of this node, can't use it" % " and ".join(sorted(set(found.adapters)))
        lasting("adapter_without_dmabuf", cause, "an adapter from ConnectX-4 on", step="install one in the node")
    return [*causes, *_unbuilt(DMABUF, found)]


_CHECKS: t.Mapping[str, t.Callable[[Found], list[Obstacle]]] = {PEERMEM: _peermem, LEGACY: _legacy, DMABUF: _dmabuf}


def obstacles(method: str, found: Found) -> tuple[Obstacle, ...]:
    """Everything that prevents a node from using a method."""
    return tuple(_CHECKS[method](found))


def _choose(wanted: str, found: Found, allow_rebuild: bool) -> Method:
    causes = obstacles(wanted, found)
    driver = found.gpu.driver
    # Only nvidia_peermem justifies a rebuild: for other methods, the driver is not our concern.
    rebuild = allow_rebuild and bool(driver.dkms) and [(cause.method, cause.code in _REBUILDS) for cause in causes] == [(PEERMEM, True)]
    if causes and not rebuild:
        return Method("", "%s can't be used here" % wanted, causes)
    words = "GPU driver %s (%s), kernel %s" % (driver.version, driver.flavour or "of unknown flavour", found.kernel)
    if wanted == DMABUF:
        return Method(DMABUF, "dmabuf: %s share memory without it; no module is needed" % words)
    why = "%s: %s, and %s of the installed stack offers peer memory" % (wanted, words, found.gpu.peer_memory.installed)
    return Method(wanted, why, (), rebuild)


def decide(wanted: str, found: Found, allow_rebuild: bool = False) -> Method:
    """The method for a node, with the reason; `obstacles` where there is none.

    auto prefers nvidia_peermem if it can be loaded, because it lets programs use both ways; then dmabuf; then
    nv_peer_mem.
    """
    if not found.gpu.devices:
        return Method("", "there is no NVIDIA GPU in this node, so nothing is done about GPUDirect RDMA")
    if wanted != AUTO:
        return _choose(wanted, found, allow_rebuild)
    tried: list[Obstacle] = []
    for name in (PEERMEM, DMABUF, LEGACY):
        method = _choose(name, found, allow_rebuild)
        if method.name:
            others = "; ".join("not %s, as %s" % (obstacle.method, obstacle.cause) for obstacle in tried)
            return method._replace(why="%s%s" % (method.why, " (%s)" % others if others else ""))
        tried += method.obstacles
    return Method("", "no method can be used here", tuple(tried))


def problems_of(method: Method, wanted: str) -> list[Problem]:
    """Each cause once: what rules out all methods, such as a missing driver, is reported for the first one only."""
    told: dict[str, Obstacle] = {}
    for obstacle in method.obstacles:
        told.setdefault(obstacle.cause, obstacle)
    return [obstacle.problem(wanted) for obstacle in told.values()]


def lasting_problems(wanted: str, found: Found) -> list[Problem]:
    """Obstacles that no role of this collection removes before the method is needed, so they are reported before the first change."""
    if wanted not in _CHECKS or not found.gpu.devices or not found.gpu.driver.version:
        return []
    return [obstacle.problem(wanted) for obstacle in obstacles(wanted, found) if obstacle.lasting]


def masks(wanted: str, found: Found) -> list[Obstacle]:
    """The masked units that leave no method, whatever other roles change before it is needed."""
    names = tuple(_CHECKS) if wanted == AUTO else (wanted,)
    if not set(names) <= set(_CHECKS) or not found.gpu.devices:
        return []
    final = [[obstacle for obstacle in obstacles(name, found) if obstacle.lasting or obstacle.code == MASKED] for name in names]
    return [obstacle for of_method in final for obstacle in of_method if obstacle.code == MASKED] if all(final) else []
