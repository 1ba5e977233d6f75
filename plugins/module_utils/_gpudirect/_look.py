# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A node's GPUs, RDMA stack and leftovers of earlier runs, as they are, or as they will be after other tasks of the run."""

from __future__ import annotations

import glob
import os
import typing as t

from .._distro._family import PEER_MEMORY
from .._distro._registry import by_name
from .._facts._gpu import OURS, SERVICE, STAMP_PATH, SYMBOL, UNIT, read_gpu
from .._facts._gpu_driver import parse_versions
from .._facts._kernels import module_files
from .._facts._machine import read_machine, read_os
from .._facts._ports import read_adapters
from .._facts._stack import Stack, read_stack
from .._facts._sysfs import content
from .._host._files import read_text, under
from .._host._units import Unit, show_units, systemd_runs
from ._found import LEGACY, Found
from ._source import Source, tools

if t.TYPE_CHECKING:
    from .._host._node import Node
    from .._host._run import Runner

# The directories of the runlevels are in /etc or in /etc/rc.d.
_STARTS = ("etc/rc[2-5].d/S[0-9][0-9]" + LEGACY, "etc/rc.d/rc[2-5].d/S[0-9][0-9]" + LEGACY)


def look(run: Runner, release: str, source: Source | None = None, *, root: str = "/") -> Found:
    """The node. With `source`, also whether nv_peer_mem could be built from it.

    Without a GPU and without anything of ours, no process is started.
    """
    gpu = read_gpu(run, release, root)
    if not gpu.devices and not gpu.managed:
        return Found(gpu=gpu, kernel=release)
    stack = read_stack(run, root) if gpu.devices else Stack("none")
    family = read_os(root).family
    machine = read_machine(root)
    systemd = run.has("systemctl") and systemd_runs(root)
    units = show_units(run, [UNIT, SERVICE]) if systemd else {}
    known = by_name(family)
    needed = tools(known, source) if source is not None and known else {}
    names = known.packages[PEER_MEMORY] if known and STAMP_PATH in gpu.managed else ()
    there = known.manager.database(run, root, names=names, remnants=True) if known else {}
    return Found(
        gpu=gpu,
        kernel=release,
        stack=stack.kind,
        ofed_version=stack.ofed_version,
        adapters=tuple(adapter.driver for adapter in read_adapters(root) if adapter.driver),
        family=family,
        files={path: read_text(under(root, path)) for path in OURS},
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
    """Whether a program, or a file given by its path, exists."""
    return os.path.exists(under(root, tool)) if tool.startswith("/") else run.has(tool)


def wants_peer_memory(run: Runner, name: str, release: str, *, root: str) -> bool:
    """Whether the module was built with peer memory, of any stack. A module built without it is empty with any stack."""
    base = os.path.join(root, "lib/modules", release)
    path = module_files(read_text(base + "/modules.dep")).get(name, "")
    return bool(path) and _has_symbol(run, "--dump-modversions", os.path.join(base, path))


def kernel_has_peer_memory(run: Runner, root: str, release: str) -> bool:
    """Whether the kernel's own ib_core offers peer memory, as some Ubuntu kernels do. Modules of other stacks are in other folders."""
    base = os.path.join(glob.escape(root), "lib/modules", glob.escape(release))
    found = glob.glob(base + "/kernel/drivers/infiniband/core/ib_core.ko*")
    return any(_has_symbol(run, "--show-exports", file) for file in found)


def _has_symbol(run: Runner, option: str, file: str) -> bool:
    if run.has("modprobe") and SYMBOL in parse_versions(run(["modprobe", option, file], ok=None, timeout=20).stdout):
        return True
    # A kernel without symbol versions. A compressed module then counts as empty.
    return SYMBOL.encode() in content(file)


def assume(run: Runner, found: Found, what: str, *, ofed_version: str, root: str) -> Found:
    """For check mode: the node as it will be after an earlier task of the run has replaced the RDMA stack.

    `installed`: a stack with peer memory is on disk and not loaded yet; `loaded`: it is loaded. `removed`: such a stack is gone
    from disk; `unloaded`: also from the kernel, with everything that depends on it. `ofed_version`: that of the new stack; ""
    where unknown.
    """
    memory, peers = found.gpu.peer_memory, found.gpu.peers
    if what in ("installed", "loaded"):
        found = found._replace(ofed_version=ofed_version)
        if memory.installed:
            return found
        peers = tuple(peer._replace(linked=peer.linked or wants_peer_memory(run, peer.file, found.kernel, root=root)) for peer in peers)
        memory = memory._replace(installed="ib_core", loaded="ib_core" if what == "loaded" else memory.loaded)
        return found._replace(stack="mlnx_ofed", gpu=found.gpu._replace(peer_memory=memory, peers=peers))
    if what in ("removed", "unloaded"):
        own = "ib_core" if kernel_has_peer_memory(run, root, found.kernel) else ""
        # What the stack provided for comparison is removed with it.
        peers = tuple(peer._replace(linked=peer.linked and bool(own), other_build=False) for peer in peers)
        memory = memory._replace(installed=own)
        if what == "unloaded":
            peers = tuple(peer._replace(loaded=False, users=0) for peer in peers)
            memory = memory._replace(loaded=own)
        return found._replace(stack="inbox", ofed_version="", gpu=found.gpu._replace(peer_memory=memory, peers=peers))
    return found


def seen(node: Node, _hints: t.Mapping[str, t.Any]) -> Found:
    """The look of the concern."""
    return look(node.run, node.release, root=node.root)
