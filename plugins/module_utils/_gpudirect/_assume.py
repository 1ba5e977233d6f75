# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""In check mode: the node as it will be when the run has replaced the RDMA stack, which a task before this one would do."""

from __future__ import annotations

import glob
import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu import SYMBOL
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gpu_driver import parse_versions
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import module_files
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect._found import Found
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

FOUND = "found"
INSTALLED = "installed"
LOADED = "loaded"
REMOVED = "removed"
UNLOADED = "unloaded"


def wants_peer_memory(run: Runner, name: str, release: str, *, root: str) -> bool:
    """Whether the module was built on peer memory, of whatever stack. One that was not is empty with any stack."""
    base = os.path.join(root, "lib/modules", release)
    path = module_files(read_text(base + "/modules.dep")).get(name, "")
    return bool(path) and _has_symbol(run, "--dump-modversions", os.path.join(base, path))


def kernel_has_peer_memory(run: Runner, root: str, release: str) -> bool:
    """Whether the kernel's own ib_core offers it, as some of Ubuntu's do. Those of other stacks are in other folders."""
    base = os.path.join(glob.escape(root), "lib/modules", glob.escape(release))
    found = glob.glob(base + "/kernel/drivers/infiniband/core/ib_core.ko*")
    return any(_has_symbol(run, "--show-exports", file) for file in found)


def _has_symbol(run: Runner, option: str, file: str) -> bool:
    if run.has("modprobe") and SYMBOL in parse_versions(run(["modprobe", option, file], ok=None, timeout=20).stdout):
        return True
    # A kernel without symbol versions. What is compressed then counts as empty.
    try:
        with open(file, "rb") as stream:
            return SYMBOL.encode() in stream.read()
    except OSError:
        return False


def assumed(found: Found, what: str, wanting: t.Collection[str], *, ofed_version: str = "", kernels_own: bool = False) -> Found:
    """The node as it will be. `wanting` are the files of modules that were built on peer memory. Pure.

    `installed`: a stack with peer memory is on disk, and waits to be loaded; `loaded`: it is. `removed`: such a stack is gone
    from disk; `unloaded`: from the kernel, too, and what stands on it with it. With `kernels_own`, the kernel's own ib_core has
    peer memory. `ofed_version` is that of the new stack, "" where it is not known.
    """
    memory = found.gpu.peer_memory
    peers = found.gpu.peers
    if what in (INSTALLED, LOADED):
        found = found._replace(ofed_version=ofed_version)
        if memory.installed:
            return found
        peers = tuple(peer._replace(linked=peer.linked or peer.file in wanting) for peer in peers)
        memory = memory._replace(installed="ib_core", loaded="ib_core" if what == LOADED else memory.loaded)
        return found._replace(stack="mlnx_ofed", gpu=found.gpu._replace(peer_memory=memory, peers=peers))
    if what in (REMOVED, UNLOADED):
        own = "ib_core" if kernels_own else ""
        # What the stack has left to compare with goes along.
        peers = tuple(peer._replace(linked=peer.linked and kernels_own, other_build=False) for peer in peers)
        memory = memory._replace(installed=own)
        if what == UNLOADED:
            peers = tuple(peer._replace(loaded=False, users=0) for peer in peers)
            memory = memory._replace(loaded=own)
        return found._replace(stack="inbox", ofed_version="", gpu=found.gpu._replace(peer_memory=memory, peers=peers))
    return found


def assume(run: Runner, found: Found, what: str, *, ofed_version: str, root: str) -> Found:
    """The same, with a look at the modules."""
    files = [peer.file for peer in found.gpu.peers if peer.file] if what in (INSTALLED, LOADED) else []
    wanting = {file for file in files if wants_peer_memory(run, file, found.kernel, root=root)}
    kernels_own = what in (REMOVED, UNLOADED) and kernel_has_peer_memory(run, root, found.kernel)
    return assumed(found, what, wanting, ofed_version=ofed_version, kernels_own=kernels_own)
