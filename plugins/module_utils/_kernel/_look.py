# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at what matters for the kernel that boots next: kernels, packages, and tools that build modules."""

from __future__ import annotations

import os
import typing as t

from .._distro._registry import SUPPORTED, by_name
from .._errors import Unsupported
from .._facts._boot import read_next_boot
from .._facts._kernels import module_files, read_kernels, read_sources
from .._facts._machine import read_os
from .._facts._stack import read_selection, read_stack
from .._facts._sysfs import attribute
from .._facts._trust import untrusted
from .._host._files import under
from .._stack._package_names import prebuilt
from ._found import Found
from ._plan import DOCA_TOOL, TOOLS, has_driver

if t.TYPE_CHECKING:
    from .._host._run import Runner


# Files of kernel packages. Distributions differ in the files that a package contains.
_PARTS = ("/boot/vmlinuz-%s", "/lib/modules/%s/vmlinuz", "/lib/modules/%s/modules.builtin", "/usr/lib/modules/%s/modules.builtin")


def look(run: Runner, running: str, root: str = "/") -> Found:
    """Kernels, the next boot, the modules of DKMS, and the packages that bring new kernels."""
    system = read_os(root)
    family = by_name(system.family)
    if family is None:
        raise Unsupported("%s is not supported; supported: %s" % (system.name or "this distribution", SUPPORTED))
    following = read_next_boot(root)
    installed = family.manager.database(run, root)
    there = read_kernels(root, running)
    releases = [kernel.release for kernel in there]
    owners = {release: family.manager.owners(run, [path % release for path in _PARTS]) for release in releases if release in (running, following.release)}
    names = family.kernel_packages(installed, frozenset().union(*owners.values()))
    stack = read_stack(run, root)
    found = Found(
        kernels=there,
        running=running,
        next_boot=following.release,
        evidence=following.evidence,
        sources=read_sources(root),
        family=family.name,
        kernel_packages=names,
        owners=owners,
        held=family.manager.held(installed, names, root),
        headers=frozenset(kernel.release for kernel in there if os.path.isdir(os.path.join(root, "lib/modules", kernel.release, "build/"))),
        can_lock=family.manager.can_lock(root),
        stack=stack,
        record=read_selection(root),
        prebuilt=prebuilt(installed, stack.ofed_version),
        tools=frozenset(tool for tool in TOOLS if run.has(tool)),
        doca_tool=os.path.exists(under(root, DOCA_TOOL)),
    )
    files = module_files(attribute(root, "lib/modules", found.target, "modules.dep")) if found.target and has_driver(found) else {}
    if "ib_core" in files and run.has("modinfo"):
        path = os.path.join(root, "lib/modules", found.target, files["ib_core"])
        found = found._replace(untrusted=untrusted({"ib_core": path}, run, root))
    return found
