# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Look at a node's GPUs, RDMA stack and what earlier runs left."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import PEER_MEMORY
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import OURS, SERVICE, STAMP_PATH, UNIT, read_gpu
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine, read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import read_adapters
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack, read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _legacy as legacy
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import LEGACY, Found
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit, show_units

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

# The directories of the run levels are in /etc or in /etc/rc.d.
_STARTS = ("etc/rc[2-5].d/S[0-9][0-9]" + LEGACY, "etc/rc.d/rc[2-5].d/S[0-9][0-9]" + LEGACY)


def look(run: Runner, release: str, source: legacy.Source | None = None, *, root: str = "/") -> Found:
    """The node. With `source`, also whether nv_peer_mem could be built from it.

    Without a GPU and without anything of ours, no process is started.
    """
    gpu = read_gpu(run, release, root)
    if not gpu.devices and not gpu.managed:
        return Found(gpu=gpu, kernel=release)
    stack = read_stack(run, root) if gpu.devices else Stack("none")
    family = read_os(root).family
    machine = read_machine(root)
    systemd = run.has("systemctl") and os.path.isdir(os.path.join(root, "run/systemd/system"))
    units = show_units(run, [UNIT, SERVICE]) if systemd else {}
    known = by_name(family)
    needed = legacy.tools(known, source) if source is not None and known else {}
    names = known.packages[PEER_MEMORY] if known and STAMP_PATH in gpu.managed else ()
    there = known.manager.database(run, root, names=names, remnants=True) if known else {}
    return Found(
        gpu=gpu,
        kernel=release,
        stack=stack.kind,
        ofed_version=stack.ofed_version,
        adapters=tuple(adapter.driver for adapter in read_adapters(root) if adapter.driver),
        family=family,
        files={path: read_text(os.path.join(root, path.lstrip("/"))) for path in OURS},
        packages=tuple(name for name in names if name in there),
        unit=units.get(UNIT, Unit(UNIT)),
        service=units.get(SERVICE, Unit(SERVICE)),
        service_enabled=any(glob.glob(os.path.join(root, pattern)) for pattern in _STARTS),
        systemd=systemd,
        shows_clients=os.path.isdir(os.path.join(root, "sys/kernel/mm/memory_peers")),
        enclosed=machine.kind if machine.kind in ("container", "chroot") else "",
        missing_tools=tuple(sorted({package for tool, package in needed.items() if not _is_there(run, tool, root)})),
    )


def _is_there(run: Runner, tool: str, root: str) -> bool:
    """A program, or a file that is named with its path."""
    return os.path.exists(os.path.join(root, tool[1:])) if tool.startswith("/") else run.has(tool)
