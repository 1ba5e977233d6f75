# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What of a node matters for the kernel that boots next, and whether that one has the vendor's driver. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms import Source, is_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import Kernel
from ansible_collections.rdma.ofed.plugins.module_utils._facts._stack import Stack
from ansible_collections.rdma.ofed.plugins.module_utils._kernel._packages import DRIVERS
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _packages as packages

# The packages by which new kernels come, and the kernels themselves.
_APT = re.compile(r"^linux-(image|headers|modules|generic|lowlatency|virtual|aws|azure|gcp|kvm|nvidia|oracle)(-|\Z)")
_RPM: t.Mapping[str, tuple[str, ...]] = {
    "dnf": ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra", "kernel-devel", "kernel-headers"),
    "zypper": ("kernel-default", "kernel-default-devel", "kernel-devel", "kernel-macros"),
}
# NAME-EPOCH:VERSION-RELEASE.*, where the epoch may be missing.
_LOCKED: t.Mapping[str, str] = {"dnf": r"^%s-(\d+:)?\d[^-]*-[^-]*$", "zypper": r"^solvable_name:\s*%s\s*$"}
# What building modules takes, besides the headers. Packages of all distributions have these names.
TOOLS = ("gcc", "make", "perl")
_FOR_ONE_KERNEL = re.compile(r"[.+-]kver\.")
_MODULES = re.compile(r"^kmod-|-kmp-|-modules\Z")


class Found(t.NamedTuple):
    """The node."""

    kernels: tuple[Kernel, ...] = ()
    running: str = ""
    next_boot: str = ""
    evidence: str = ""
    sources: tuple[Source, ...] = ()
    manager: str = "apt"
    kernel_packages: tuple[str, ...] = ()
    """The installed packages of kernels, and those that bring new ones."""
    held: frozenset[str] = frozenset()
    """Those of them that the package manager keeps as they are."""
    headers: frozenset[str] = frozenset()
    """The kernels whose headers are there."""
    can_lock: bool = True
    """Is the plugin of dnf there that keeps packages as they are?"""
    stack: Stack = Stack("none")
    record: t.Mapping[str, t.Any] = {}
    """What the stack was installed with, where it was by this collection."""
    prebuilt: t.Mapping[str, str] = {}
    """The installed packages of ready-made modules, with their versions."""
    tools: frozenset[str] = frozenset()
    """Those of TOOLS that are there."""
    doca_tool: bool = False
    """Is DOCA's own builder of modules there?"""
    secure_boot: bool = False
    signer: str = ""
    """Who signed the driver for the kernel that boots next; "" for nobody."""

    @property
    def target(self) -> str:
        """The kernel to care for. Where it can't be told which one boots next, the running one."""
        return self.next_boot or (self.running if self.running in {kernel.release for kernel in self.kernels} else "")


def kernel_packages(manager: str, names: t.Iterable[str]) -> tuple[str, ...]:
    """The packages to hold, of all that are installed."""
    if manager == "apt":
        return tuple(sorted(name for name in names if _APT.match(name)))
    return tuple(name for name in _RPM.get(manager, ()) if name in set(names))


def parse_holds(status: str) -> frozenset[str]:
    """The database of dpkg -> packages on hold."""
    return frozenset(re.findall(r"^Package: (\S+)\n(?:(?!\n)[^\n]*\n)*?Status: hold ", status, re.MULTILINE))


def parse_locks(manager: str, text: str, names: t.Collection[str]) -> frozenset[str]:
    """/etc/dnf/plugins/versionlock.list or /etc/zypp/locks -> which of the names are locked."""
    found = set()
    for name in names:
        if re.search(_LOCKED[manager] % re.escape(name), text, re.MULTILINE):
            found.add(name)
    return frozenset(found)


def is_prebuilt(found: Found) -> bool:
    """Was the driver installed as ready-made modules?"""
    return any(name in DRIVERS for name in found.prebuilt)


def has_driver(found: Found) -> bool:
    """Is the vendor's driver on this node at all? A choice of user space alone brings none."""
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
    """Why the firmware would keep the driver from being loaded, with the steps that end that; "" where it would not."""
    if not found.secure_boot or not has_driver(found) or lacking(found) or found.signer or not found.target:
        return ""
    text = (
        "UEFI secure boot is on, and the driver for kernel %s is not signed, so the kernel would refuse it. Make a key and enrol it "
        "(mokutil --import KEY.der, then reboot and confirm on the console), let DKMS sign with it (mok_signing_key and mok_certificate in "
        "/etc/dkms/framework.conf) and build again, use the vendor's signed packages and enrol the vendor's key, or turn secure boot off"
    )
    return text % found.target


def prebuilt(installed: t.Mapping[str, packages.Package], release: str) -> dict[str, str]:
    """The vendor's packages of ready-made modules, of all that are installed: C(mlnx-ofed-kernel-modules), C(kmod-mlnx-ofa_kernel)."""
    names = packages.vendors(installed, release)
    return {name: installed[name].version for name in names if _FOR_ONE_KERNEL.search(installed[name].version) or _MODULES.search(name)}
