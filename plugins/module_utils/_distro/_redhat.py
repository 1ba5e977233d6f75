# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Red Hat Enterprise Linux, its rebuilds, Fedora and openEuler."""

from __future__ import annotations

from ansible_collections.rdma.ofed.plugins.module_utils._distro import _family as family
from ansible_collections.rdma.ofed.plugins.module_utils._distro._family import Distribution, Family
from ansible_collections.rdma.ofed.plugins.module_utils._tools._dnf import Dnf

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
        family.CORE: ("rdma-core", "libibverbs", "librdmacm", "iproute", "kmod"),
        family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        # rdma-core stays: libibverbs needs it, and with it much of the distribution.
        family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        family.OPENSM: ("opensm",),
        family.DIAGNOSTICS: ("infiniband-diags",),
        family.FIRMWARE: ("mstflint", "pciutils"),
        family.EXTRA_MODULES: ("kernel-modules-extra",),
        family.RDMA_TOOL: ("iproute",),
        family.PEER_MEMORY: ("nvidia_peer_memory",),
        "ibacm": ("ibacm",),
        "srp": ("srp_daemon",),
        "iser": ("iscsi-initiator-utils",),
        "nfsrdma": ("nfs-utils",),
        "nvmf": ("nvme-cli",),
        "rds": (),
    },
    rdma_modules=("ib_iser", "ib_isert", "ib_srpt", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    kernels=r"kernel(-core|-modules(-core|-extra)?|-devel|-headers)?",
    headers="kernel-devel-%s",
    vendor_modules="kmod-%s",
    peer_memory_tools={"rpmbuild": "rpm-build", "gcc": "gcc", "make": "make"},
    interpreters=("python3.11", "python3.12", "python3"),
)
