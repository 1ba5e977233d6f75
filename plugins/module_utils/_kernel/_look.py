# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What of a node matters for the kernel that boots next: kernels, packages, what builds modules."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._boot import read_next_boot, read_secure_boot
from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms import read_sources
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import read_kernels
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import read_stack
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._kernel import _found as kernels
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._build import DOCA_TOOL
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._found import TOOLS, Found
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import SUPPORTED_WORDS
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import read_record
from ansible_collections.rdma.ofed.plugins.module_utils._stack._packages import Package

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

_LISTS: t.Mapping[str, str] = {"dnf": "etc/dnf/plugins/versionlock.list", "zypper": "etc/zypp/locks"}
_PLUGIN = "etc/dnf/plugins/versionlock.conf"


def _packages(run: Runner, manager: str, root: str) -> tuple[dict[str, Package], tuple[str, ...], frozenset[str]]:
    """All packages, those of kernels, and those of them that are held."""
    if manager == "apt":
        status = read_text(os.path.join(root, "var/lib/dpkg/status"))
        found = packages.parse_dpkg_database(status)
        return found, kernels.kernel_packages(manager, found), kernels.parse_holds(status)
    found = packages.parse_rpm_all(run(packages.RPM_QUERY, timeout=120).stdout)
    names = kernels.kernel_packages(manager, found)
    return found, names, kernels.parse_locks(manager, read_text(os.path.join(root, _LISTS[manager])), names)


def look(run: Runner, running: str, root: str = "/") -> Found:
    """Kernels, what boots next, what DKMS has, and the packages that new kernels come by."""
    system = read_os(root)
    if system.family not in packages.MANAGERS:
        raise Unsupported("%s is not supported; supported: %s" % (system.name or "this distribution", SUPPORTED_WORDS))
    manager = packages.MANAGERS[system.family]
    following = read_next_boot(root)
    installed, names, held = _packages(run, manager, root)
    there = read_kernels(root, running)
    stack = read_stack(run, root)
    found = Found(
        kernels=there,
        running=running,
        next_boot=following.release,
        evidence=following.evidence,
        sources=read_sources(root),
        manager=manager,
        kernel_packages=names,
        held=held,
        headers=frozenset(kernel.release for kernel in there if os.path.isdir(os.path.join(root, "lib/modules", kernel.release, "build/"))),
        can_lock=manager != "dnf" or os.path.exists(os.path.join(root, _PLUGIN)),
        stack=stack,
        record=read_record(root),
        prebuilt=kernels.prebuilt(installed, stack.ofed_version),
        tools=frozenset(tool for tool in TOOLS if run.has(tool)),
        doca_tool=os.path.exists(os.path.join(root, DOCA_TOOL.lstrip("/"))),
        secure_boot=read_secure_boot(root),
    )
    if found.secure_boot and found.target and kernels.has_driver(found) and run.has("modinfo"):
        found = found._replace(signer=run(["modinfo", "-k", found.target, "-F", "signer", "ib_core"], ok=None, timeout=20).stdout.strip())
    return found
