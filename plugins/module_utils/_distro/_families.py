# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The families of distributions: what each of them is."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro import _family as family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Distribution, Family
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import Apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools._dnf import Dnf
from ansible_collections.rdma.ofed.plugins.module_utils._tools._zypper import Zypper

# Packages that have one name everywhere.
_ALIKE: t.Mapping[str, tuple[str, ...]] = {
    family.OPENSM: ("opensm",),
    family.DIAGNOSTICS: ("infiniband-diags",),
    family.FIRMWARE: ("mstflint", "pciutils"),
    "ibacm": ("ibacm",),
    "nvmf": ("nvme-cli",),
    "rds": (),
}

# Libraries come as dependencies: their package names carry soname versions that differ between releases.
DEBIAN = Family(
    name="Debian",
    title="Debian and Ubuntu",
    distributions=(
        Distribution("debian", "11", "14", "debian"),
        Distribution("ubuntu", "20.04", "26.10", "ubuntu"),
    ),
    supported="Debian 11 to 13; Ubuntu 20.04 to 26.04",
    with_bundles="Debian 11 to 13; Ubuntu 20.04 to 26.04",
    manager=Apt(),
    packages={
        **_ALIKE,
        family.CORE: ("rdma-core", "ibverbs-providers", "iproute2", "kmod"),
        family.TOOLS: ("ibverbs-utils", "infiniband-diags", "perftest", "rdmacm-utils"),
        family.REMOVABLE: ("ibverbs-utils", "infiniband-diags", "perftest", "rdma-core", "rdmacm-utils"),
        family.EXTRA_MODULES: ("linux-modules-extra-*",),
        family.RDMA_TOOL: ("iproute2",),
        family.PEER_MEMORY: ("nvidia-peer-memory-dkms", "nvidia-peer-memory"),
        "srp": ("srptools",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-common",),
    },
    rdma_modules=("ib_iser", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    kernels=r"linux-(image|headers|modules|generic|lowlatency|virtual|aws|azure|gcp|kvm|nvidia|oracle)(-.*)?",
    headers="linux-headers-%s",
    vendor_modules="%s-dkms",
    # dh_dkms was a part of dkms, and is a package of its own by now. dpkg-buildpackage asks for build-essential by its name,
    # whichever compiler is there: what dpkg knows of it is a file.
    peer_memory_tools={
        "dpkg-buildpackage": "dpkg-dev",
        "/var/lib/dpkg/info/build-essential.list": "build-essential",
        "dh": "debhelper",
        "dkms": "dkms",
        "dh_dkms": "dh-sequence-dkms",
        "bzip2": "bzip2",
    },
    interpreters=("python3",),
)

RED_HAT = Family(
    name="RedHat",
    title="Red Hat",
    distributions=(
        Distribution("rhel", "8", "11", "rhel"),
        Distribution("rocky", "8", "11", "rhel", rebuild=True),
        Distribution("almalinux", "8", "11", "rhel", rebuild=True),
        Distribution("ol", "8", "11", "ol"),
        Distribution("centos", "8", "11"),
        Distribution("fedora"),
        Distribution("amzn", "2023"),
        Distribution("openeuler"),
    ),
    supported="RHEL, Rocky Linux, AlmaLinux, Oracle Linux and CentOS Stream 8 to 10",
    with_bundles="RHEL, Rocky Linux, AlmaLinux and Oracle Linux 8 to 10",
    manager=Dnf(),
    packages={
        **_ALIKE,
        family.CORE: ("rdma-core", "libibverbs", "librdmacm", "iproute", "kmod"),
        family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        # rdma-core stays: libibverbs needs it, and with it much of the distribution.
        family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        family.EXTRA_MODULES: ("kernel-modules-extra",),
        family.RDMA_TOOL: ("iproute",),
        family.PEER_MEMORY: ("nvidia_peer_memory",),
        "srp": ("srp_daemon",),
        "iser": ("iscsi-initiator-utils",),
        "nfsrdma": ("nfs-utils",),
    },
    rdma_modules=("ib_iser", "ib_isert", "ib_srpt", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    kernels=r"kernel(-core|-modules(-core|-extra)?|-devel|-headers)?",
    headers="kernel-devel-%s",
    vendor_modules="kmod-%s",
    peer_memory_tools={"rpmbuild": "rpm-build", "gcc": "gcc", "make": "make"},
    interpreters=("python3.11", "python3.12", "python3"),
)

SUSE = Family(
    name="Suse",
    title="SUSE",
    distributions=(
        Distribution("sles", "15", "17", "sles"),
        Distribution("sle_hpc", "15", "16", "sles", rebuild=True),
        Distribution("opensuse-leap", "15", "16"),
        Distribution("opensuse-tumbleweed"),
        Distribution("opensuse"),
        Distribution("suse"),
        Distribution("sled", "15"),
    ),
    supported="SLES 15 and 16, SLE HPC and openSUSE Leap 15",
    with_bundles="SLES 15 and 16, SLE HPC 15",
    manager=Zypper(),
    packages={
        **_ALIKE,
        family.CORE: ("rdma-core", "rdma-ndd", "libibverbs", "librdmacm1", "iproute2", "kmod"),
        family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest", "rdma-ndd"),
        family.EXTRA_MODULES: ("kernel-default-extra",),
        family.RDMA_TOOL: ("iproute2",),
        family.PEER_MEMORY: ("nvidia_peer_memory",),
        "srp": ("srp_daemon",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-client",),
    },
    rdma_modules=("ib_iser", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    kernels=r"kernel-(default(-devel)?|devel|macros)",
    headers="",
    headers_hint="install kernel-default-devel for it",
    vendor_modules="%s-kmp-default",
    peer_memory_tools={"rpmbuild": "rpm-build", "gcc": "gcc", "make": "make"},
    interpreters=("python311", "python312", "python313", "python3"),
    # The packages of the kernel do not provide what the spec file asks for.
    peer_memory_options=("--nodeps",),
)
