# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The RDMA software of a node: the distribution's own, MLNX_OFED or DOCA-OFED, and how that is known."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._packages import installed_packages
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import by_name
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_os
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import entries
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ulps import read_record

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

DOCA = ("doca-ofed", "doca-all", "doca-networking", "doca-roce", "doca-host-basic")
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
PACKAGES = (*DOCA, *OFED_KERNEL, *INBOX)

# The installer from a tarball writes the first spelling, packages from a repository and DOCA keep the second.
_OFED_INFO = re.compile(r"^\s*(MLNX_OFED_LINUX|OFED-internal|MLNX_EN|mlnx-en)-(\d+(?:\.\d+)+(?:-\d+(?:\.\d+)*)*)")
_UPSTREAM = re.compile(r"^(?:\d+:)?([^-]+)")
_RELEASE = re.compile(r"^(?:\d+:)?(\d+)\.(\d+)")

# The first release that rejects connected mode on every device.
_DATAGRAM_ONLY = (23, 7)


class Stack(t.NamedTuple):
    """The RDMA software."""

    kind: str
    """`inbox`, `mlnx_ofed`, `doca` or `none`."""
    version: str = ""
    """Of MLNX_OFED, of DOCA, or of the distribution's rdma-core without its package revision."""
    evidence: str = ""
    ofed_version: str = ""
    """The release of the OFED drivers in MLNX_OFED and DOCA."""
    loaded: str = ""
    """Whose drivers the running kernel holds: `inbox`, `ofed`, or "" for none."""
    ulps: tuple[str, ...] = ()
    """The upper-layer protocols that the collection has turned on."""


def parse_ofed_info(text: str) -> tuple[str, str]:
    """`ofed_info -s` -> spelling and version: `("OFED-internal", "23.07-0.5.0")`; two empty texts for anything else."""
    match = _OFED_INFO.match(text)
    return (match.group(1), match.group(2)) if match else ("", "")


def parse_pacman_names(names: t.Iterable[str], wanted: t.Collection[str]) -> dict[str, str]:
    """Directory names of pacman's database, `rdma-core-55.0-1`, -> versions of the wanted packages."""
    rows = [name.rsplit("-", 2) for name in names]
    return {row[0]: "%s-%s" % (row[1], row[2]) for row in rows if len(row) == 3 and row[0] in wanted}


def _first(names: t.Sequence[str], packages: t.Mapping[str, str]) -> tuple[str, str]:
    return next(((name, packages[name]) for name in names if name in packages), ("", ""))


def _upstream(version: str) -> str:
    match = _UPSTREAM.match(version)
    return match.group(1) if match else version


def _release(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version)
    return (int(match.group(1)), int(match.group(2))) if match else ()


def decide_stack(packages: t.Mapping[str, str], ofed_info: str, loaded: str = "") -> Stack:
    """The stack, from installed packages and the output of `ofed_info -s` ("" where there is no such tool)."""
    spelling, ofed_version = parse_ofed_info(ofed_info)
    doca, doca_version = _first(DOCA, packages)
    kernel, kernel_version = _first(OFED_KERNEL, packages)
    inbox, inbox_version = _first(INBOX, packages)
    if kernel and not ofed_version:
        match = _RELEASE.match(kernel_version)
        ofed_version = "%s.%s" % match.groups() if match else ""
    if doca:
        return Stack("doca", _upstream(doca_version), "package %s %s" % (doca, doca_version), ofed_version, loaded)
    if spelling:
        return Stack("mlnx_ofed", ofed_version, "ofed_info says %s-%s" % (spelling, ofed_version), ofed_version, loaded)
    if kernel:
        return Stack("mlnx_ofed", ofed_version, "package %s %s" % (kernel, kernel_version), ofed_version, loaded)
    if inbox:
        return Stack("inbox", _upstream(inbox_version), "package %s %s" % (inbox, inbox_version), "", loaded)
    return Stack("none", "", "none of the packages %s is installed" % "rdma-core, libibverbs, mlnx-ofa_kernel, doca-ofed", "", loaded)


def connected_refused(stack: Stack) -> str:
    """Why this stack supports connected mode on no device, in words; "" where it depends on the device."""
    if stack.kind not in ("mlnx_ofed", "doca"):
        return ""
    # DOCA came with OFED 23.10 at the earliest, so an unknown release of it refuses as well.
    release = _release(stack.ofed_version) or (_DATAGRAM_ONLY if stack.kind == "doca" else ())
    if release < _DATAGRAM_ONLY:
        return ""
    return "the OFED drivers %s are datagram only: releases from 23.07 on reject connected mode on every device" % (stack.ofed_version or "of DOCA")


def read_stack(run: Runner, root: str = "/") -> Stack:
    """The stack; at most two short processes."""
    modules = os.path.join(root, "sys/module")
    loaded = "ofed" if os.path.exists(modules + "/mlx_compat") else "inbox" if os.path.exists(modules + "/ib_core") else ""
    ofed_info = run(["ofed_info", "-s"], ok=None, timeout=10).stdout if run.has("ofed_info") else ""
    packages = installed_packages(run, by_name(read_os(root).family), PACKAGES, root=root) or parse_pacman_names(
        entries(root, "var/lib/pacman/local"), PACKAGES
    )
    return decide_stack(packages, ofed_info, loaded)._replace(ulps=tuple(sorted(read_record(root).protocols)))
