# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The distribution families, and which of their packages are installed or have to be installed or removed."""

from __future__ import annotations

import typing as t

from .._errors import Problem, require_none
from .._tools._apt import Apt
from .._tools._dnf import Dnf
from .._tools._zypper import Zypper
from . import _family
from ._family import Distribution, Family

if t.TYPE_CHECKING:
    from .._host._run import Runner

# Packages that have the same name in all families.
_ALIKE: t.Mapping[str, tuple[str, ...]] = {
    _family.OPENSM: ("opensm",),
    _family.DIAGNOSTICS: ("infiniband-diags",),
    _family.FIRMWARE: ("mstflint", "pciutils"),
    "ibacm": ("ibacm",),
    "nvmf": ("nvme-cli",),
    "rds": (),
}

# Libraries are installed as dependencies: their package names contain soname versions that differ between releases.
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
        _family.CORE: ("rdma-core", "ibverbs-providers", "iproute2", "kmod"),
        _family.TOOLS: ("ibverbs-utils", "infiniband-diags", "perftest", "rdmacm-utils"),
        _family.REMOVABLE: ("ibverbs-utils", "infiniband-diags", "perftest", "rdma-core", "rdmacm-utils"),
        _family.EXTRA_MODULES: ("linux-modules-extra-*",),
        _family.RDMA_TOOL: ("iproute2",),
        _family.PEER_MEMORY: ("nvidia-peer-memory-dkms", "nvidia-peer-memory"),
        "srp": ("srptools",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-common",),
    },
    rdma_modules=("ib_iser", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    kernels=r"linux-(image|headers|modules|objects)(-.*)?|(proxmox|pve)-(default-)?(kernel|headers)(-.*)?",
    # linux-generic, linux-oem-24.04, linux-nvidia-64k-hwe-24.04. linux-tools-generic depends on no kernel.
    kernel_meta=r"linux-.*",
    headers="linux-headers-{release}",
    vendor_modules="%s-dkms",
    # dh_dkms was part of dkms and is now a separate package. dpkg-buildpackage requires build-essential by name, whichever compiler is
    # installed; it is recognised by its file in dpkg's database.
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
        _family.CORE: ("rdma-core", "libibverbs", "librdmacm", "iproute", "kmod"),
        _family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        # rdma-core stays: libibverbs depends on it, and much of the distribution on libibverbs.
        _family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        _family.EXTRA_MODULES: ("kernel-modules-extra",),
        _family.RDMA_TOOL: ("iproute",),
        _family.PEER_MEMORY: ("nvidia_peer_memory",),
        "srp": ("srp_daemon",),
        "iser": ("iscsi-initiator-utils",),
        "nfsrdma": ("nfs-utils",),
    },
    rdma_modules=("ib_iser", "ib_isert", "ib_srpt", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    # kernel-uek-core, kernel-64k-modules, kernel-rt-devel, kernel6.12. The excluded packages have versions of their own and contain no kernel.
    kernels=r"kernel[0-9.]*(-(?!(tools|srpm|rpm|abi|abis|doc|cross|livepatch|selftests|firmware|bootwrapper|libbpf)\b)[a-z0-9]+)*",
    headers="{flavour}-devel-{release}",
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
        _family.CORE: ("rdma-core", "rdma-ndd", "libibverbs", "librdmacm1", "iproute2", "kmod"),
        _family.TOOLS: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest"),
        _family.REMOVABLE: ("infiniband-diags", "libibverbs-utils", "librdmacm-utils", "perftest", "rdma-ndd"),
        _family.EXTRA_MODULES: ("kernel-default-extra",),
        _family.RDMA_TOOL: ("iproute2",),
        _family.PEER_MEMORY: ("nvidia_peer_memory",),
        "srp": ("srp_daemon",),
        "iser": ("open-iscsi",),
        "nfsrdma": ("nfs-client",),
    },
    rdma_modules=("ib_iser", "ib_uverbs", "rdma_ucm", "xprtrdma", "svcrdma"),
    # kernel-default, kernel-64kb-devel, kernel-rt. kernel-firmware-mellanox contains no kernel.
    kernels=r"kernel(-(?!(firmware|doc|docs|source|obs|install|tools|livepatch)\b)[a-z0-9]+)+",
    headers="",
    headers_hint="install {flavour}-devel for it",
    vendor_modules="%s-kmp-default",
    peer_memory_tools={"rpmbuild": "rpm-build", "gcc": "gcc", "make": "make"},
    interpreters=("python311", "python312", "python313", "python3"),
    # The kernel packages do not provide what the spec file requires.
    peer_memory_options=("--nodeps",),
)

# In the order of messages.
FAMILIES: tuple[Family, ...] = (DEBIAN, RED_HAT, SUSE)
UNKNOWN = "Unknown"
# Families that are recognised, but whose packages the collection does not know.
_OTHERS: t.Mapping[str, str] = {"arch": "Arch"}

DISTRIBUTIONS: t.Mapping[str, Distribution] = {item.id: item for family in FAMILIES for item in family.distributions}
SUPPORTED = "; ".join(family.supported for family in FAMILIES if family.supported)
WITH_BUNDLES = "; ".join(family.with_bundles for family in FAMILIES if family.with_bundles)
NAMES = "%s and %s" % (", ".join(family.name for family in FAMILIES[:-1]), FAMILIES[-1].name)


def by_name(name: t.Any) -> Family | None:
    """The family with that name in `ansible_facts.rdma.os.family`; None where it is not registered."""
    return next((family for family in FAMILIES if family.name == name), None)


def family_name(os_id: str, id_like: str = "") -> str:
    """The name of the family by `ID` of os-release, then by `ID_LIKE` from left to right; includes families that are only recognised."""
    known = {**_OTHERS, **{item.id: family.name for family in FAMILIES for item in family.distributions}}
    return next((known[word.lower()] for word in [os_id, *id_like.split()] if word.lower() in known), UNKNOWN)


def known_packages() -> frozenset[str]:
    """The names of all packages of any family, for any purpose."""
    return frozenset(name for family in FAMILIES for names in family.packages.values() for name in names)


def packages_by_family(purpose: str) -> str:
    """The packages for a purpose by family, in words: `iproute2 on Debian and Ubuntu, iproute on Red Hat`."""
    return ", ".join("%s on %s" % (" ".join(family.packages[purpose]), family.title) for family in FAMILIES if family.packages[purpose])


def names_of(family: Family, purposes: t.Sequence[str], names: t.Iterable[str] = ()) -> list[str]:
    """The packages for the purposes, and `names`, each once. Raises InvalidInput for an unknown purpose."""
    known = family.packages
    require_none([Problem("purposes[%d]" % index, each, ", ".join(sorted(known))) for index, each in enumerate(purposes) if each not in known])
    return list(dict.fromkeys([*family.names(purposes), *names]))


def installed_packages(run: Runner, family: Family | None, names: t.Iterable[str] = (), *, root: str = "/") -> dict[str, str]:
    """Versions of the installed packages among `names` and those of any family. Takes no process where dpkg keeps the database, else one.

    A name in `names` that ends with `*` is a prefix.

    The family of the node selects the database: dpkg on an RPM system and rpm on Debian exist as tools for
    containers. On a node of an unknown family, the first database that has one of the packages is used.
    """
    wanted = {name for name in {*known_packages(), *names} if name and "*" not in name} | {name for name in names if name[:-1] and "*" not in name[:-1]}
    for each in FAMILIES if family is None else (family,):
        found = each.manager.database(run, root, names=wanted)
        if found:
            return {name: package.version for name, package in found.items() if package.state == "installed"}
    return {}


def due(names: t.Sequence[str], state: str, installed: t.Mapping[str, str] | None) -> list[str]:
    """The packages to pass to the package manager; none where all are as wanted.

    `installed`: versions of the installed packages, as far as a family knows them; None where nothing is known. Names that are in
    neither, and names that contain a version, are left to the package manager.
    """
    if installed is None:
        return list(names)
    if state == "present":
        return [] if all(name in installed for name in names) else list(names)
    known = known_packages()
    return [name for name in names if name in installed or name not in known]
