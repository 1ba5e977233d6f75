# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Debian and Ubuntu. Libraries come as dependencies: their package names carry soname versions that differ between releases."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._distro import _family as family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Distribution, Family
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import Apt

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
        family.CORE: ("rdma-core", "ibverbs-providers", "iproute2", "kmod"),
        family.TOOLS: ("ibverbs-utils", "infiniband-diags", "perftest", "rdmacm-utils"),
        family.REMOVABLE: ("ibverbs-utils", "infiniband-diags", "perftest", "rdma-core", "rdmacm-utils"),
        family.OPENSM: ("opensm",),
        family.DIAGNOSTICS: ("infiniband-diags",),
        family.FIRMWARE: ("mstflint", "pciutils"),
        family.EXTRA_MODULES: ("linux-modules-extra-*",),
        family.RDMA_TOOL: ("iproute2",),
        family.PEER_MEMORY: ("nvidia-peer-memory-dkms", "nvidia-peer-memory"),
        "ibacm": ("ibacm",),
        "srp": ("srptools",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-common",),
        "nvmf": ("nvme-cli",),
        "rds": (),
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
