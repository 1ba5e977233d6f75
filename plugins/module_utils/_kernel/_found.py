# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What of a node matters for the kernel that boots next, and whether that one has the vendor's driver. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import Kernel, Source, is_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._facts._trust import Untrusted, words
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._packages import DRIVERS

# What building modules takes, besides the headers. Packages of all distributions have these names.
TOOLS = ("gcc", "make", "perl")


class Found(t.NamedTuple):
    """The node."""

    kernels: tuple[Kernel, ...] = ()
    running: str = ""
    next_boot: str = ""
    evidence: str = ""
    sources: tuple[Source, ...] = ()
    family: str = FAMILIES[0].name
    kernel_packages: tuple[str, ...] = ()
    """The installed packages of kernels, and those that bring new ones."""
    held: frozenset[str] = frozenset()
    """Those of them that the package manager keeps as they are."""
    headers: frozenset[str] = frozenset()
    """The kernels whose headers are there."""
    can_lock: bool = True
    """Whether the package manager can keep packages as they are, which takes a plugin of dnf."""
    stack: Stack = Stack("none")
    record: t.Mapping[str, t.Any] = {}
    """What the stack was installed with, where it was by this collection."""
    prebuilt: t.Mapping[str, str] = {}
    """The installed packages of ready-made modules, with their versions."""
    tools: frozenset[str] = frozenset()
    """Those of TOOLS that are there."""
    doca_tool: bool = False
    """Whether DOCA's own builder of modules is installed."""
    untrusted: tuple[Untrusted, ...] = ()
    """What of the driver for the kernel that boots next that kernel would refuse, by the keys that the running one trusts."""

    @property
    def distribution(self) -> Family:
        """Everything in which the family of distributions differs from others."""
        return by_name(self.family) or FAMILIES[0]

    @property
    def target(self) -> str:
        """The kernel to care for. Where it can't be told which one boots next, the running one."""
        return self.next_boot or (self.running if self.running in {kernel.release for kernel in self.kernels} else "")


def is_prebuilt(found: Found) -> bool:
    """Whether the driver was installed as ready-made modules."""
    return any(name in DRIVERS for name in found.prebuilt)


def has_driver(found: Found) -> bool:
    """Whether the vendor's driver is on this node at all. User space alone has none."""
    return any(kernel.stack == "ofed" for kernel in found.kernels) or any(is_driver(source) for source in found.sources) or is_prebuilt(found)


def lacking(found: Found) -> str:
    """What is wrong with the kernel that boots next, "" where nothing is."""
    if not has_driver(found) or not found.target:
        return ""
    kernel = next((kernel for kernel in found.kernels if kernel.release == found.target), None)
    what = "kernel %s, which boots next (%s)" % (found.target, found.evidence) if found.next_boot else "kernel %s, which runs" % found.target
    if kernel is None:
        return "%s, has no modules in /lib/modules" % what
    if kernel.stack != "ofed":
        return "%s, would come up with %s" % (what, "the driver of the distribution" if kernel.stack == "inbox" else "no RDMA driver")
    return ""


def unsigned(found: Found) -> str:
    """Why the kernel that boots next would not load the driver, with the steps that end that; "" where it would."""
    if not has_driver(found) or lacking(found) or not found.target or not found.untrusted:
        return ""
    return "the driver for kernel %s would not load: %s" % (found.target, words(found.untrusted))
