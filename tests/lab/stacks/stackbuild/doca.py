# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The repository of a DOCA release, and the package that installs the same repository on a node."""

from __future__ import annotations

import pathlib
import shutil
import typing as t

from . import apt, catalog, debs, packages
from .releases import Doca

KEY = "GPG-KEY-Mellanox.pub"
_EXTRAS = {"doca-networking": ("mlnx-dpdk",), "doca-all": ("mlnx-dpdk", "doca-runtime", "doca-devel")}
_BASIC = ("ofed-scripts", "mlnx-tools", "mlnx-ofed-kernel-utils", "mlnx-ofed-kernel-dkms", "rdma-core", "libibverbs1", "ibverbs-providers", "librdmacm1")
_ROCE = (*_BASIC, "ibverbs-utils", "rdmacm-utils", "perftest", "mft", "kernel-mft-dkms", "mlnx-ethtool", "mlnx-iproute2")


def members(profile: str) -> list[str]:
    """Return the packages that a profile depends on."""
    base: t.Sequence[str] = {"doca-host-basic": _BASIC, "doca-roce": _ROCE}.get(profile, catalog.GROUPS["hpc"])
    return [*base, *_EXTRAS.get(profile, ())]


def depends(profile: str, entries: t.Mapping[str, catalog.Entry]) -> list[str]:
    """Return a profile's dependencies. openmpi is pinned to an exact version, which only the vendor's package has; others may be newer."""
    parts = []
    for name in members(profile):
        entry = entries.get(name)
        if entry is None:
            parts.append(name)
        elif name.endswith("-dkms"):
            parts.append("%s (>= %s) | %s-modules" % (name, entry.version, name[: -len("-dkms")]))
        else:
            parts.append("%s (%s %s)" % (name, "=" if name == "openmpi" else ">=", entry.version))
    return parts


def _host_package(doca: Doca, repository: pathlib.Path, into: pathlib.Path) -> None:
    place = "/usr/share/doca-host-%s-%s-%s" % (doca.full, doca.release.line, doca.distro.replace(".", ""))
    files: dict[str, str | bytes] = {"%s/repo/%s" % (place, path.name): path.read_bytes() for path in sorted(repository.iterdir()) if path.is_file()}
    files["/etc/apt/sources.list.d/doca.list"] = "deb [signed-by=%s/repo/%s] file://%s/repo ./\n" % (place, KEY, place)
    version = "%s-%s-%s" % (doca.full, doca.release.line, doca.distro)
    debs.make(debs.Debian("doca-host", version, "amd64", conffiles=("/etc/apt/sources.list.d/doca.list",)), files, into)


def build(doca: Doca, sources: t.Mapping[str, pathlib.Path], signer: apt.Signer, into: pathlib.Path) -> pathlib.Path:
    """Build the repository and return its directory. doca-host and the key are in the directories above it."""
    shelf = into / "public/repo/doca"
    repository = shelf / doca.version / doca.distro / "x86_64"
    entries = packages.build(doca.release, sources, repository)
    for name in ("doca-runtime", "doca-devel"):
        debs.make(debs.Debian(name, doca.full, "amd64"), {}, repository)
    for profile in doca.profiles:
        packages.metapackage(catalog.Meta(profile, tuple(depends(profile, entries)), "Install %s" % profile), doca.full, repository)
    if doca.own_dkms:
        dkms_package(doca.own_dkms, repository)
    if doca.kernel_support:
        tools = "/opt/mellanox/doca/tools/"
        files: dict[str, str | bytes] = {tools + "doca-kernel-support": packages.vendor("doca-kernel-support.sh", OFED=doca.release.internal.replace("-", "."))}
        files.update({tools + ".standin/" + name: packages.vendor(name) for name in ("kmodfile.py", "kernel_debs.py")})
        debs.make(debs.Debian("doca-extra", doca.full, "all"), files, repository, (tools + "doca-kernel-support",))
    (repository / KEY).write_text(signer.public(), encoding="utf-8")
    apt.flat(repository, "DOCA", signer)
    for folder in (shelf, shelf / doca.version / doca.distro):
        shutil.copy(repository / KEY, folder / KEY)
    _host_package(doca, repository, shelf / doca.version)
    return repository


def dkms_package(version: str, into: pathlib.Path) -> None:
    """Build the stand-in of dkms, which needs no compiler."""
    files: dict[str, str | bytes] = {
        "/usr/sbin/dkms": packages.vendor("dkms.py"),
        "/usr/lib/dkms/kmodfile.py": packages.vendor("kmodfile.py"),
        "/usr/lib/dkms/common.postinst": packages.vendor("common.postinst.sh"),
        "/etc/kernel/postinst.d/dkms": '#!/bin/sh\n[ -n "$1" ] && exec dkms autoinstall -k "$1"\n',
        "/etc/kernel/prerm.d/dkms": '#!/bin/sh\nrm -rf "/lib/modules/$1/updates/dkms"\n',
    }
    fields = {"Depends": "python3, kmod", "Description": "stand-in for dkms: modules without a compiler"}
    debs.make(debs.Debian("dkms", version, "all", fields), files, into, tuple(files))
