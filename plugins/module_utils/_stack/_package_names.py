# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of the packages that MLNX_OFED and DOCA-OFED contain or replace. Data, with a few predicates.

From the package lists of MLNX_OFED 4.1, 5.0 and later releases.
"""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .._tools._packages import Package

PACKAGE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9+._-]*\Z")

# Packages that the DEB installer and its uninstaller remove before anything is installed, whatever their origin.
_REPLACED_TEXT = """
ar-mgr ar_mgr cc-mgr cc_mgr compat-dapl-dev compat-dapl1 dapl-dev dapl1 dapl1-utils dapl2-utils dump-pr dump_pr fca ibacm ibacm-dev ibdump ibsim
ibsim-utils ibutils ibutils2 ibverbs-providers ibverbs-utils infiniband-diags iser-dkms iser-modules isert-dkms isert-modules kernel-mft-dkms
kernel-mft-modules knem knem-dkms knem-modules libdapl-dev libdapl2 libdisni-java-jni libibcm libibcm-dev libibcm1 libibdm-dev libibdm1 libibmad
libibmad-dev libibmad-devel libibmad-static libibmad1 libibmad5 libibnetdisc-dev libibnetdisc5 libibnetdisc5-dbg libibumad libibumad-dev
libibumad-devel libibumad-static libibumad1 libibumad3 libibumad3-dbg libibverbs libibverbs-dev libibverbs1 libibverbs1-dbg libipathverbs-dev
libipathverbs1 libipathverbs1-dbg libmlx4 libmlx4-1 libmlx4-1-dbg libmlx4-dev libmlx5 libmlx5-1 libmlx5-1-dbg libmlx5-dev libmthca-dev libmthca1
libmthca1-dbg libopensm libopensm-dev libopensm-devel libopensm2 libopensm2-dev libosmcomp libosmcomp3 libosmvendor libosmvendor4 librdmacm
librdmacm-dev librdmacm1 librdmacm1-dbg librxe-1 librxe-1-dbg librxe-dev libsdp-dev libsdp1 libumad2sim0 libvma libvma-dbg libvma-dev libvma-utils mft
mft-compat mft-devel mft-devmon mft-devmondb mft-int mft-oem mft-tests mlnx-en mlnx-en-dkms mlnx-en-modules mlnx-en-utils mlnx-ethtool mlnx-fw-updater
mlnx-iproute2 mlnx-nfsrdma-dkms mlnx-nfsrdma-modules mlnx-nvme-dkms mlnx-nvme-modules mlnx-ofed-kernel-dkms mlnx-ofed-kernel-modules
mlnx-ofed-kernel-utils mlnx-rdma-rxe-dkms mlnx-rdma-rxe-modules mlnx-rds-dkms mlnx-rds-modules mlnx-sdp-dkms mlnx-sdp-modules mlnx-tools mpitests
mstflint mxm neohost-backend neohost-sdk nvme-snap ofed-docs ofed-scripts openmpi openshmem opensm opensm-doc opensm-libs perftest python3-pyverbs
rdma-core rdmacm-utils rds-tools rshim-dkms rshim-modules sdpnetstat sockperf srp-dkms srp-modules srptools ucx ummunotify ummunotify-dkms
ummunotify-modules
"""
REPLACED = frozenset(_REPLACED_TEXT.split())
# Newer packages, and names of RPM packages.
_OTHERS_TEXT = """
clusterkit collectx dpcp fwctl-dkms fwctl-modules glusterfs hcoll ibarr iser isert kernel-mft kernel-mft-mlnx libibverbs-utils librdmacm-utils libxlio
libxlio-dev libxlio-utils libxpmem libxpmem-dev mlnx-dpdk mlnx-nfsrdma mlnx-nvme mlnx-ofa_kernel mlnx-ofa_kernel-devel mlnx-ofa_kernel-dkms
mlnx-ofa_kernel-modules mlnx-ofa_kernel-source mlnx-ofed-kernel mlnxofed-docs multiperf openvswitch rshim sharp srp srp_daemon ucx-cuda ucx-knem
ucx-xpmem virtiofs-dkms virtiofs-modules vma xlio xpmem xpmem-dkms xpmem-modules
"""
KNOWN = REPLACED | frozenset(_OTHERS_TEXT.split())

# The installer removes every package whose name contains one of REPLACED, except these.
_SPARED = re.compile(r"^xen|ovsvf-config|opensmtpd")

# Names that only the vendor's packages have.
_VENDOR_NAMES = re.compile(
    r"^(mlnx-|mlnx_|kmod-mlnx|kmod-(iser|isert|srp|knem|xpmem|kernel-mft)|doca-|ofed-|mlnxofed|kernel-mft|mft(-|\Z)|knem|xpmem|libxpmem"
    r"|hcoll\Z|sharp\Z|ar-mgr|cc-mgr|dump-pr|dpcp\Z|ibutils2|ibdump|clusterkit|collectx|iser-|isert-|srp-|fwctl-|virtiofs-(dkms|modules)"
    r"|libxlio|mpitests|openshmem|neohost|mlxbf|flexio|dpa-|rdma-core-devel-mlnx)"
)
# 2310mlnx47-1.2310055, 2.1.10.1.mlnx-OFED.51258, 1.0-0.49.MLNX20200216.g4ea049f.50100: no distribution uses these marks.
_VENDOR_VERSION = re.compile(r"mlnx|OFED", re.IGNORECASE)
_FOR_ONE_KERNEL = re.compile(r"[.+-]kver\.")
_MODULES = re.compile(r"^kmod-|-kmp-|-modules\Z")
# Distributions append the ABI version to library names; t64 marks the ABI of 2024 with 64-bit time.
_WIDE_TIME = "t64"


def is_vendors(name: str, version: str, release: str = "") -> bool:
    """Whether this package is the vendor's. `release`: that of the installed stack, as ofed_info prints it."""
    if _VENDOR_NAMES.match(name) or _VENDOR_VERSION.search(version):
        return True
    # The number at the end of a release's package versions: 51258 for 5.1-2.5.8.0, 2310055 for 23.10-0.5.5.0.
    number = re.match(r"(\d+)\.(\d+)-(\d+)\.(\d+)\.(\d+)", release)
    return number is not None and re.search(r"[.-]%s\Z" % "".join(number.groups()), version) is not None


def vendors(packages: t.Mapping[str, Package], release: str = "") -> list[str]:
    """The vendor's packages among the installed ones."""
    return sorted(name for name, package in packages.items() if is_vendors(name.split(":")[0], package.version, release))


def prebuilt(installed: t.Mapping[str, Package], release: str) -> dict[str, str]:
    """The vendor's installed packages of prebuilt modules: `mlnx-ofed-kernel-modules`, `kmod-mlnx-ofa_kernel`."""
    names = vendors(installed, release)
    return {name: installed[name].version for name in names if _FOR_ONE_KERNEL.search(installed[name].version) or _MODULES.search(name)}


def distribution_versions(offers: t.Mapping[str, t.Sequence[str]], release: str = "") -> dict[str, str]:
    """The best version of each package that is not the vendor's. Packages that only the vendor offers are left out."""
    mine = {name: [version for version in versions if not is_vendors(name, version, release)] for name, versions in offers.items()}
    return {name: versions[0] for name, versions in mine.items() if versions}


def taken_by_installer(installed: t.Iterable[str]) -> frozenset[str]:
    """The installed packages that the installer removes by name."""
    return frozenset(name for name in installed if not _SPARED.search(name) and any(part in name for part in REPLACED))


def is_library(name: str) -> bool:
    """Whether this is the distribution's own build of a library of the stack, such as `libopensm9`. Alone, such a package serves no purpose."""
    versioned = name[: -len(_WIDE_TIME)] if name.endswith(_WIDE_TIME) else name
    plain = versioned.rstrip("0123456789")
    return name.startswith("lib") and plain != versioned and (plain in REPLACED or plain.rstrip("0123456789.") in REPLACED)
