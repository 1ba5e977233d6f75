# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The kernel that boots next must have the modules of the vendor's driver: how that is seen to. Pure."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms import Source, is_driver
from ansible_collections.rdma.ofed.plugins.module_utils._facts._kernels import Kernel
from ansible_collections.rdma.ofed.plugins.module_utils._host._job import Step
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan

POLICIES = ("build", "pin", "refuse")
# The packages by which new kernels come, and the kernels themselves.
_APT = re.compile(r"^linux-(image|headers|modules|generic|lowlatency|virtual|aws|azure|gcp|kvm|nvidia|oracle)(-|\Z)")
_RPM: t.Mapping[str, tuple[str, ...]] = {
    "dnf": ("kernel", "kernel-core", "kernel-modules", "kernel-modules-core", "kernel-modules-extra", "kernel-devel", "kernel-headers"),
    "zypper": ("kernel-default", "kernel-default-devel", "kernel-devel", "kernel-macros"),
}
_LOCKS: t.Mapping[str, tuple[str, ...]] = {"dnf": ("dnf", "-y", "versionlock", "add"), "zypper": ("zypper", "--non-interactive", "addlock")}
# NAME-EPOCH:VERSION-RELEASE.*, where the epoch may be missing.
_LOCKED: t.Mapping[str, str] = {"dnf": r"^%s-(\d+:)?\d[^-]*-[^-]*$", "zypper": r"^solvable_name:\s*%s\s*$"}
_DEBIAN = {"DEBIAN_FRONTEND": "noninteractive"}
BUILDING = "building the driver for kernel "


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
    secure_boot: bool = False
    signer: str = ""
    """Who signed the driver for the kernel that boots next; "" for nobody."""

    @property
    def target(self) -> str:
        """The kernel to care for. Where it can't be told which one boots next, the running one."""
        return self.next_boot or (self.running if self.running in {kernel.release for kernel in self.kernels} else "")


class Draft(t.NamedTuple):
    """What is to be done."""

    plan: Plan = Plan()
    steps: tuple[Step, ...] = ()


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


def has_driver(found: Found) -> bool:
    """Is the vendor's driver on this node at all? A choice of user space alone brings none."""
    return any(kernel.stack == "ofed" for kernel in found.kernels) or any(is_driver(source) for source in found.sources)


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


def _ways_out(found: Found) -> str:
    others = [kernel.release for kernel in found.kernels if kernel.stack == "ofed"]
    ways = ["install the driver with --add-kernel-support and --kernel %s" % found.target, "or with its DKMS packages and ofed_kernel_policy: build"]
    if others:
        ways.append("or let %s boot next, and keep new kernels away with ofed_kernel_policy: pin" % ", ".join(others))
    return ", ".join(ways)


def _header_steps(found: Found) -> tuple[Step, ...]:
    if found.target in found.headers:
        return ()
    if found.manager == "apt":
        argv: tuple[str, ...] = ("apt-get", "-y", "--no-install-recommends", "install", "linux-headers-" + found.target)
        return (Step("installing the headers of kernel " + found.target, argv, environment=tuple(_DEBIAN.items())),)
    if found.manager == "dnf":
        return (Step("installing the headers of kernel " + found.target, ("dnf", "-y", "install", "kernel-devel-" + found.target)),)
    raise Refused("the headers of kernel %s are not installed, without which the driver can't be built: install kernel-default-devel for it" % found.target)


def _build(found: Found) -> Draft:
    wrong = lacking(found)
    if not wrong:
        return Draft()
    if not any(is_driver(source) for source in found.sources):
        raise Refused("%s. DKMS has no source of the driver to build it from: %s" % (wrong, _ways_out(found)))
    if not any(kernel.release == found.target for kernel in found.kernels):
        raise Refused("%s: reinstall its package, or remove it" % wrong)
    change = Change("kernel %s" % found.target, "without the driver", "driver built by DKMS")
    # 11 says that one of several sources was not built: what counts is looked at afterwards.
    build = Step(BUILDING + found.target, ("dkms", "autoinstall", "-k", found.target), ok=(0, 11))
    return Draft(Plan((change,)), (*_header_steps(found), build))


def _pin(found: Found) -> Draft:
    wrong = lacking(found)
    if wrong:
        raise Refused("%s, and holding kernels back does not help any more: %s" % (wrong, _ways_out(found)))
    loose = [name for name in found.kernel_packages if name not in found.held]
    if not loose or not has_driver(found):
        return Draft()
    if not found.can_lock:
        raise Unsupported("kernels can't be kept as they are without the plugin versionlock of dnf: install python3-dnf-plugin-versionlock")
    changes = tuple(Change("package %s" % name, "free", "held") for name in loose)
    argv = ("apt-mark", "hold", *loose) if found.manager == "apt" else (*_LOCKS[found.manager], *loose)
    return Draft(Plan(changes), (Step("holding the kernels", argv),))


def draft_of(policy: str, found: Found) -> Draft:
    """What the policy asks for; raises Refused where it can't be had."""
    if policy == "build":
        return _build(found)
    if policy == "pin":
        return _pin(found)
    wrong = lacking(found)
    if wrong:
        raise Refused("%s: %s" % (wrong, _ways_out(found)))
    return Draft()


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


__all__ = ("BUILDING", "POLICIES", "Draft", "Found", "draft_of", "has_driver", "kernel_packages", "lacking", "parse_holds", "parse_locks", "unsigned")
