# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Loaded modules that can't be loaded again with the installed driver, and a driver that is not the node's own. Pure.

A vendor's stack has a core of its own. Kernel modules that it does not replace (drivers of other adapters, such as irdma or bnxt_re, and upper
layers, such as rpcrdma or cifs) are built for the kernel's core, and can't be loaded with another core ("disagrees about version of symbol").
"""

from __future__ import annotations

import typing as t

from .._facts._modules import PEERS, Module

_CORE = "ib_core"
_COMPAT = "mlx_compat"
_OF_KERNEL = "kernel/"
# The directory through which driver containers, such as those of NVIDIA's network operator, share their files with the node.
CONTAINER = "/run/mellanox/drivers"
READY = CONTAINER + "/.driver-ready"


def unfit(modules: t.Sequence[Module], paths: t.Mapping[str, str], needs: t.Mapping[str, t.Sequence[str]]) -> tuple[str, ...]:
    """The loaded modules that belong to the kernel and depend on a vendor's core on disk. `paths` and `needs`: from modules.dep."""
    core = paths.get(_CORE, "")
    if not core or core.startswith(_OF_KERNEL) or not any(module.differs for module in modules):
        return ()
    of_kernel = (module.name for module in modules if paths.get(module.name, "").startswith(_OF_KERNEL) and module.name not in PEERS)
    return tuple(name for name in of_kernel if any(not paths.get(need, _OF_KERNEL).startswith(_OF_KERNEL) for need in needs.get(name, ())))


def of_container(modules: t.Sequence[Module], available: t.Collection[str], mounts: t.Iterable[str], *, ready: bool) -> bool:
    """Whether a container loaded the driver: it shares its files, and the loaded vendor driver is not the one on the node's disk.

    `mounts`: the mount points of the node. `ready`: whether the container has announced its driver.
    """
    loaded = {module.name: module for module in modules}
    if not ready and not {CONTAINER, "/var" + CONTAINER} & set(mounts):
        return False
    return _COMPAT in loaded and (_COMPAT not in available or any(module.differs for module in modules))
