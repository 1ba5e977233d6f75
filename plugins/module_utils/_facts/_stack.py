# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The RDMA software of a node: the distribution's own, MLNX_OFED or DOCA-OFED, with the evidence."""

from __future__ import annotations

import os
import re
import typing as t

from .._distro._registry import by_name, installed_packages
from .._foreign import decimal, read_table
from .._host._files import read_text, under
from .._tools import _modinfo
from ._appliance import Appliance, read_appliance
from ._machine import read_os
from ._sysfs import entries
from ._ulps import read_record

if t.TYPE_CHECKING:
    from .._distro._family import Family
    from .._host._run import Runner

DOCA = ("doca-ofed", "doca-all", "doca-networking", "doca-roce", "doca-host-basic")
# The profile doca-ofed in two parts, for kernels without modules from DOCA.
DOCA_PARTS = ("doca-ofed-userspace", "doca-kernel")
# Ubuntu builds DOCA-OFED itself since 26.04: one metapackage per kernel flavour, such as doca-ofed-generic-64k, and doca-ofed-userspace-3.4.
_UBUNTU = re.compile(r"^doca-ofed-(userspace-([0-9][0-9.]*)|(?!userspace).+)\Z")
# It only declares the repository of DOCA.
DOCA_HOST = "doca-host"
# The metapackages of MLNX_OFED; its installer installs none of them.
_SETS = ("all", "basic", "bluefield", "dpdk", "eth-only", "guest", "hpc", "hypervisor", "kernel-only", "vma", "vma-eth", "vma-vpi")
MLNX_OFED = tuple("mlnx-ofed-%s%s" % (name, kind) for name in _SETS for kind in ("", "-user-only", "-exact"))
OFED_KERNEL = (
    "kmod-mlnx-ofa_kernel",
    "mlnx-ofa_kernel",
    "mlnx-ofa_kernel-dkms",
    "mlnx-ofa_kernel-kmp-default",
    "mlnx-ofa_kernel-modules",
    "mlnx-ofed-kernel-dkms",
    "mlnx-ofed-kernel-modules",
    "mlnx-ofed-kernel-utils",
)
INBOX = ("rdma-core", "libibverbs1", "libibverbs")
PACKAGES = (*DOCA, *DOCA_PARTS, DOCA_HOST, "doca-*", *MLNX_OFED, *OFED_KERNEL, *INBOX)
# The record of the collection's last installation.
RECORD = "var/lib/rdma.ofed/stack.json"
# The folder of the last job that changed a stack.
JOB = "var/lib/rdma.ofed/jobs/driver-stack"
# The record of third-party modules that were built on a former stack, while they do not fit the present one.
THIRD_PARTY = "var/lib/rdma.ofed/third_party.json"

_UPSTREAM = re.compile(r"^(?:\d+:)?([^-]+)")
_RELEASE = re.compile(r"^(?:\d+:)?(\d+)\.(\d+)")

# The last release of MLNX_OFED is 24.10.
_LAST_MLNX_OFED = (24, 10)

# The first release that rejects connected mode on every device.
_DATAGRAM_ONLY = (23, 7)


class Stack(t.NamedTuple):
    kind: str
    """`inbox`, `mlnx_ofed`, `doca` or `none`."""
    version: str = ""
    """The version of MLNX_OFED, of DOCA, or of the distribution's rdma-core without its package revision."""
    evidence: str = ""
    ofed_version: str = ""
    """The release of the OFED drivers in MLNX_OFED and DOCA."""
    loaded: str = ""
    """The origin of the loaded drivers: `inbox`, `ofed`, or "" for none."""
    ulps: tuple[str, ...] = ()
    """The upper-layer protocols that the collection has enabled."""
    complete: bool = True
    """Whether the installation of a vendor's stack was completed."""
    protected: bool = False
    """Whether the collection protects packages from system updates, or did so for a stack that was removed since."""
    appliance: Appliance | None = None
    """The image that owns the stack. None where it came otherwise, and where the collection has changed it since."""
    third_party: tuple[str, ...] = ()
    """The third-party modules on record that were built on a former stack and wait to be rebuilt."""

    @property
    def words(self) -> str:
        """`mlnx_ofed 23.10-0.5.5.0`; "" for none."""
        half = "" if self.complete else ", half installed"
        return "" if self.kind == "none" else ("%s %s" % (self.kind, self.version)).strip() + half


def parse_pacman_names(names: t.Iterable[str], wanted: t.Collection[str]) -> dict[str, str]:
    """The versions of the wanted packages, from directory names of pacman's database such as `rdma-core-55.0-1`."""
    rows = [name.rsplit("-", 2) for name in names]
    return {row[0]: "%s-%s" % (row[1], row[2]) for row in rows if len(row) == 3 and row[0] in wanted}


def _first(names: t.Sequence[str], packages: t.Mapping[str, str]) -> tuple[str, str]:
    return next(((name, packages[name]) for name in names if name in packages), ("", ""))


def _upstream(version: str) -> str:
    match = _UPSTREAM.match(version)
    return match.group(1) if match else version


def _release(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version)
    return (decimal(match.group(1), 0), decimal(match.group(2), 0)) if match else ()


def read_selection(root: str = "/") -> dict[str, t.Any]:
    """The selection of the last successful run, from the record on the node; empty where there was none."""
    return read_table(read_text(os.path.join(root, RECORD)))


def ubuntus_doca(names: t.Iterable[str]) -> tuple[str, str]:
    """The package of Ubuntu's own DOCA-OFED that tells its release, and the release; "" for what is missing."""
    found = [match for match in map(_UBUNTU.match, sorted(names)) if match]
    # The user-space package has the release in its name. The others have the versions of their kernels.
    telling = next((match for match in found if match[2]), found[0] if found else None)
    return ("", "") if telling is None else (telling[0], telling[2] or "")


def _without_profile(packages: t.Mapping[str, str], ofed_info: tuple[str, str], record: t.Mapping[str, t.Any]) -> tuple[str, str] | None:
    """Evidence and version of DOCA-OFED without an installed profile; None for anything else.

    A profile is removed with any of its dependencies, such as opensm. Its other packages stay, and are the same as in MLNX_OFED.
    """
    spelling, ofed_version = ofed_info
    part, version = _first(DOCA_PARTS, packages)
    if part:
        return "package %s %s" % (part, version), _upstream(version)
    ubuntus, release = ubuntus_doca(packages)
    if ubuntus:
        return "package %s %s" % (ubuntus, packages[ubuntus]), release
    if not spelling.startswith(_modinfo.INTERNAL) or any(name in packages for name in MLNX_OFED):
        return None
    others = [name for name in packages if name.startswith("doca-") and name != DOCA_HOST]
    if others:
        return "package %s %s" % (others[0], packages[others[0]]), ""
    if _release(ofed_version) > _LAST_MLNX_OFED:
        return "ofed_info reports %s-%s, and the last release of MLNX_OFED is %d.%d" % (spelling, ofed_version, *_LAST_MLNX_OFED), ""
    if record.get("source") == "doca":
        return "the record of its installation", str(record.get("version") or "")
    # The present content of the repository need not be what is installed.
    return ("package %s, which declares its repository" % DOCA_HOST, "") if DOCA_HOST in packages else None


def decide_stack(packages: t.Mapping[str, str], ofed_info: tuple[str, str], loaded: str = "", *, record: t.Mapping[str, t.Any] | None = None) -> Stack:
    """The stack, from installed packages, from spelling and version of the release that `ofed_info` prints, and from the collection's record."""
    spelling, ofed_version = ofed_info
    doca, doca_version = _first(DOCA, packages)
    kernel, kernel_version = _first(OFED_KERNEL, packages)
    inbox, inbox_version = _first(INBOX, packages)
    if kernel and not ofed_version:
        match = _RELEASE.match(kernel_version)
        ofed_version = "%s.%s" % match.groups() if match else ""
    if doca:
        return Stack("doca", _upstream(doca_version), "package %s %s" % (doca, doca_version), ofed_version, loaded)
    without = _without_profile(packages, ofed_info, record or {})
    if without is not None:
        return Stack("doca", without[1], without[0], ofed_version, loaded)
    if spelling or kernel:
        evidence = "ofed_info reports %s-%s" % (spelling, ofed_version) if spelling else "package %s %s" % (kernel, kernel_version)
        # The installer changes the spelling at its end. A stack from a repository keeps it, and has a metapackage.
        complete = (bool(spelling) and not spelling.startswith(_modinfo.INTERNAL)) or any(name in packages for name in MLNX_OFED)
        return Stack("mlnx_ofed", ofed_version, evidence, ofed_version, loaded, complete=complete)
    if inbox:
        return Stack("inbox", _upstream(inbox_version), "package %s %s" % (inbox, inbox_version), "", loaded)
    return Stack("none", "", "none of the packages %s is installed" % "rdma-core, libibverbs, mlnx-ofa_kernel, doca-ofed", "", loaded)


def connected_refused(stack: Stack) -> str:
    """Why this stack supports connected mode on no device, in words; "" where it depends on the device."""
    if stack.kind not in ("mlnx_ofed", "doca"):
        return ""
    # DOCA includes OFED 23.10 or later, so an unknown release of it rejects connected mode as well.
    release = _release(stack.ofed_version) or (_DATAGRAM_ONLY if stack.kind == "doca" else ())
    if release < _DATAGRAM_ONLY:
        return ""
    return "the OFED drivers %s are datagram only: releases from 23.07 on reject connected mode on every device" % (stack.ofed_version or "of DOCA")


def _waiting(root: str) -> tuple[str, ...]:
    rows = read_table(read_text(os.path.join(root, THIRD_PARTY))).get("modules")
    return tuple(sorted({str(row.get("name", "")) for row in rows if isinstance(row, dict)})) if isinstance(rows, list) else ()


def _is_protected(family: Family | None, root: str) -> bool:
    if family is None or not family.manager.protection_path:
        return False
    return family.manager.is_protected(read_text(under(root, family.manager.protection_path)))


def read_stack(run: Runner, root: str = "/") -> Stack:
    """The stack; takes at most two short processes."""
    modules = os.path.join(root, "sys/module")
    loaded = "ofed" if os.path.exists(modules + "/mlx_compat") else "inbox" if os.path.exists(modules + "/ib_core") else ""
    family = by_name(read_os(root).family)
    packages = installed_packages(run, family, PACKAGES, root=root) or parse_pacman_names(entries(root, "var/lib/pacman/local"), PACKAGES)
    found = decide_stack(packages, _modinfo.read_ofed_info(run), loaded, record=read_selection(root))
    # A job that was begun had consent, and has to be completed.
    is_ours = found.kind == "none" or os.path.isdir(os.path.join(root, JOB))
    return found._replace(
        ulps=tuple(sorted(read_record(root).protocols)),
        protected=_is_protected(family, root),
        appliance=None if is_ours else read_appliance(root),
        third_party=_waiting(root),
    )
