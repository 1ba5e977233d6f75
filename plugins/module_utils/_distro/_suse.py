# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""SUSE Linux Enterprise and openSUSE."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._distro import _family as family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Distribution, Family
from ansible_collections.rdma.ofed.plugins.module_utils._tools._zypper import Zypper

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
        family.CORE: ("rdma-core", "rdma-ndd", "libibverbs", "librdmacm1", "iproute2", "kmod"),
        family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest", "rdma-ndd"),
        family.OPENSM: ("opensm",),
        family.DIAGNOSTICS: ("infiniband-diags",),
        family.FIRMWARE: ("mstflint", "pciutils"),
        family.EXTRA_MODULES: ("kernel-default-extra",),
        family.RDMA_TOOL: ("iproute2",),
        family.PEER_MEMORY: ("nvidia_peer_memory",),
        "ibacm": ("ibacm",),
        "srp": ("srp_daemon",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-client",),
        "nvmf": ("nvme-cli",),
        "rds": (),
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
