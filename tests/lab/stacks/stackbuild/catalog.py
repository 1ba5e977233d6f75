# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The packages of a release, their groups and dependencies: pure data, which the installer uses as well."""

from __future__ import annotations

import typing as t

from .releases import Release

# Built from the distribution's packages. The vendor ships opensm's three libraries as one package.
CORE = (
    "rdma-core",
    "libibverbs1",
    "ibverbs-providers",
    "ibverbs-utils",
    "libibverbs-dev",
    "librdmacm1",
    "rdmacm-utils",
    "librdmacm-dev",
    "libibumad3",
    "libibumad-dev",
    "libibmad5",
    "libibmad-dev",
    "libibnetdisc5",
    "infiniband-diags",
    "ibacm",
    "srptools",
)
MERGED = {"libopensm9": "libopensm", "libosmcomp5": "libopensm", "libosmvendor5": "libopensm"}
REPACKED = (*CORE, "perftest", "mstflint", "libopensm", "opensm")

KERNEL_CORE = ("mlnx-ofed-kernel-utils", "mlnx-ofed-kernel-dkms")
KERNEL_ULPS = ("iser-dkms", "isert-dkms", "srp-dkms", "kernel-mft-dkms")
KERNEL_STORAGE = ("mlnx-nvme-dkms", "mlnx-nfsrdma-dkms")
KERNEL_HPC = ("knem-dkms", "knem")
SCRIPTS = ("ofed-scripts", "mlnx-tools")
DPDK = (
    "rdma-core",
    "libibverbs1",
    "ibverbs-providers",
    "ibverbs-utils",
    "libibverbs-dev",
    "libibumad3",
    "librdmacm1",
    "rdmacm-utils",
    "librdmacm-dev",
    "libibmad5",
    "libibnetdisc5",
    "infiniband-diags",
    "mstflint",
    "mft",
    "mlnx-ethtool",
    "mlnx-iproute2",
    "dpcp",
)
BASIC = (*CORE, "mstflint", "libopensm", "opensm", "opensm-doc", "mft", "mlnx-ethtool", "mlnx-iproute2")
HPC = (*BASIC, "perftest", "ibsim", "ibsim-doc", "ibutils2", "ibdump", "dump-pr", "ucx", "openmpi", "mpitests", "hcoll", "sharp")

GROUPS: t.Mapping[str, tuple[str, ...]] = {
    "all": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *KERNEL_HPC, *HPC, "dpcp"),
    "hpc": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *KERNEL_HPC, *HPC),
    "basic": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *BASIC),
    "guest": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *(name for name in HPC if name not in ("opensm", "opensm-doc", "dump-pr"))),
    "hypervisor": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *BASIC),
    "dpdk": (*SCRIPTS, *KERNEL_CORE, *DPDK),
    "bluefield": (*SCRIPTS, *KERNEL_CORE, *BASIC),
    "vma": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *BASIC, "perftest", "libvma", "sockperf"),
    "xlio": (*SCRIPTS, *KERNEL_CORE, *BASIC, "perftest", "dpcp", "libxlio", "sockperf"),
    "ovs-dpdk": (*SCRIPTS, *KERNEL_CORE, *DPDK, "mlnx-dpdk"),
    "eth-only": (*SCRIPTS, *KERNEL_CORE, "mstflint", "mft", "mlnx-ethtool", "mlnx-iproute2"),
    "kernel-only": (*SCRIPTS, *KERNEL_CORE, *KERNEL_ULPS, *KERNEL_HPC),
}
# Installed only on request with --with-NAME, --with-nvmf or --with-nfsrdma.
EXTRA = KERNEL_STORAGE
ARCH_ALL = ("opensm-doc", "ibsim-doc", "openmpi")
_STUB_NEEDS = {
    "openmpi": ("ucx",),
    "mpitests": ("openmpi",),
    "hcoll": ("ucx",),
    "ibsim": ("libibumad3", "libibmad5"),
    "ibutils2": ("libibumad3",),
    "ibdump": ("libibverbs1",),
    "dump-pr": ("opensm",),
    "libvma": ("libibverbs1", "librdmacm1"),
    "libxlio": ("libibverbs1", "librdmacm1", "dpcp"),
    "sharp": ("libibumad3", "libibmad5"),
    "mlnx-ofed-kernel-utils": ("mlnx-tools",),
    "mlnx-ofed-kernel-dkms": ("mlnx-ofed-kernel-utils",),
    "knem": ("knem-dkms",),
    **dict.fromkeys((*KERNEL_ULPS[:3], *KERNEL_STORAGE), ("mlnx-ofed-kernel-dkms",)),
}
# Packages that the installer adds from the distribution. The vendor's list also has compilers and autotools.
REQUIRED = ("m4", "autotools-dev", "chrpath", "lsof", "pciutils")
DISTRO_NEEDS = {
    "mlnx-ofed-kernel-utils": ("coreutils", "pciutils", "grep", "procps", "kmod", "lsof"),
    **dict.fromkeys(("mlnx-ofed-kernel-dkms",), ("dkms", "make")),
}


class Entry(t.NamedTuple):
    """One package of a release."""

    name: str
    version: str
    arch: str
    mode: str
    """"user" or "kernel" (the package's mode)."""
    needs: tuple[str, ...] = ()
    """Required packages of the release."""
    distro: tuple[str, ...] = ()
    """Packages of the distribution that the installer installs first."""


def is_kernel(name: str) -> bool:
    return name.endswith(("-dkms", "-modules")) or name in ("knem", "mlnx-ofed-kernel-utils")


def _source(name: str) -> str:
    """Return the name of the package that determines the version."""
    if name in ("libopensm", "opensm-doc"):
        return "opensm"
    if name == "kernel-mft-dkms":
        return "mft"
    if name.startswith("mlnx-ofed-kernel") or name in (*KERNEL_ULPS, *KERNEL_STORAGE):
        return "mlnx-ofed-kernel"
    return name


def version(release: Release, name: str) -> str:
    return release.rdma_core if name in CORE else release.package(_source(name))


def package_names() -> list[str]:
    """Return all package names of a release, in the order of the groups, without metapackages and the updater."""
    return list(dict.fromkeys([name for group in GROUPS.values() for name in group] + list(EXTRA)))


def entries(release: Release, repacked: t.Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]) -> dict[str, Entry]:
    """Return the catalogue. `repacked` has the dependencies, on the release and on the distribution, of packages built from Debian's."""
    found: dict[str, Entry] = {}
    for name in package_names():
        needs, distro = repacked.get(name, (_STUB_NEEDS.get(name, ()), DISTRO_NEEDS.get(name, ())))
        arch = "all" if name in ARCH_ALL or name.endswith("-dkms") else "amd64"
        found[name] = Entry(name, version(release, name), arch, "kernel" if is_kernel(name) else "user", needs, distro)
    return found


def closure(wanted: t.Iterable[str], catalogue: t.Mapping[str, Entry]) -> list[str]:
    """Return the wanted packages and their dependencies, each after its dependencies."""
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in order or name in above or name not in catalogue:
            return
        for need in catalogue[name].needs:
            visit(need, (*above, name))
        order.append(name)

    for name in wanted:
        visit(name, ())
    return order


class Meta(t.NamedTuple):
    """A metapackage of the repository."""

    name: str
    depends: tuple[str, ...]
    description: str


def metapackages(release: Release, catalogue: t.Mapping[str, Entry]) -> list[Meta]:
    """Return the metapackages of the 5.0 tree: each with a -user-only variant except kernel-only, and -exact variants of all and basic.

    A -user-only package there also depends on mlnx-ofed-kernel-utils and kernel-mft-dkms.
    """

    def meta(name: str, members: t.Iterable[str], relation: str, text: str) -> Meta:
        return Meta(name, tuple("%s (%s %s)" % (member, relation, catalogue[member].version) for member in members), text)

    found: list[Meta] = []
    for group, members in GROUPS.items():
        name = "mlnx-ofed-" + group
        if group != "eth-only":
            found.append(meta(name, members, ">=", "MLNX_OFED %s installer package (with DKMS support)" % group))
        if group != "kernel-only":
            users = [member for member in members if catalogue[member].mode == "user" or member in ("mlnx-ofed-kernel-utils", "kernel-mft-dkms")]
            found.append(meta(name + "-user-only", users, ">=", "MLNX_OFED %s-user-only installer package (User Space packages only)" % group))
        if group in ("all", "basic"):
            found.append(meta(name + "-exact", members, "=", "MLNX_OFED %s installer package (with DKMS support) (exact)" % group))
    return found
