# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The interface of a distribution family: everything that differs between families. Data."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .._tools._packages import Manager, Package

# Purposes of packages. The purpose of an upper-layer protocol has its name.
CORE = "core"
TOOLS = "tools"
REMOVABLE = "removable"
"""The packages of CORE and TOOLS that can be removed without breaking the distribution."""
OPENSM = "opensm"
DIAGNOSTICS = "diagnostics"
FIRMWARE = "firmware"
"""The tools, and pciutils: they reset an adapter with lspci and setpci, and do not depend on that package."""
EXTRA_MODULES = "extra_modules"
"""The package of kernel modules that the distribution ships separately; words for display."""
RDMA_TOOL = "rdma_tool"
"""The package with the command rdma."""
PEER_MEMORY = "nv_peer_mem"

# Suffixes of RPM packages that contain parts of one kernel: kernel-core, kernel-uek-modules-core, kernel-64k-modules.
_PART = re.compile(r"(-modules)?(-core)?$")


def _flavour(owners: t.Iterable[str]) -> str:
    """`kernel-64k` for `kernel-64k-core` and `kernel-64k-modules-core`."""
    return min((_PART.sub("", owner) for owner in owners), key=len, default="kernel")


class Distribution(t.NamedTuple):
    """A distribution of a family. The role ofed supports the versions from `first` up to, but not including, `after`.

    It serves later versions, and all versions from `first` on where there is no `after`, with the distribution's own stack, and reports that this is
    untested.
    """

    id: str
    """ID of os-release."""
    first: str = ""
    after: str = ""
    bundle: str = ""
    """Its name in MLNX_OFED bundles; "" where vendors provide no stack for it."""
    rebuild: bool = False
    """Whether the vendor's installer has to be told that it is `bundle`."""


class Family(t.NamedTuple):
    name: str
    """The name in `ansible_facts.rdma.os.family`."""
    title: str
    """The name for messages."""
    distributions: tuple[Distribution, ...]
    supported: str
    """The supported distributions with their versions, in words; "" where there are none."""
    with_bundles: str
    """Those of them for which vendors provide stacks."""
    manager: Manager
    packages: t.Mapping[str, tuple[str, ...]]
    """Package names by purpose: each constant above, and each name of _protocols/_catalogue.py."""
    rdma_modules: tuple[str, ...]
    """The modules that a fresh rdma-core lists in /etc/rdma/modules/rdma.conf."""
    kernels: str
    """A pattern for full names of kernel packages of all flavours."""
    headers: str
    """The package with the headers of one kernel. `{flavour}` is the prefix of its package names, `{release}` its release.
    "" where `headers_hint` says what to do."""
    vendor_modules: str
    """The vendor's package of prebuilt modules; `%s` stands for its subject."""
    peer_memory_tools: t.Mapping[str, str]
    """The packages of the programs and files (by path) that a build of nv_peer_mem requires."""
    interpreters: tuple[str, ...]
    """Packages with a Python that can run modules, the preferred one first."""
    kernel_meta: str = ""
    """A pattern for packages that pull in new kernels as dependencies; "" where `kernels` matches them as well."""
    infiniband_modules: tuple[str, ...] = ("ib_ipoib", "ib_umad")
    """The modules that a fresh rdma-core lists in /etc/rdma/modules/infiniband.conf."""
    headers_hint: str = ""
    """The next step where `headers` is "", with the same `{flavour}`."""
    peer_memory_options: tuple[str, ...] = ()
    """Options for the installation of nv_peer_mem's packages."""

    @property
    def by_dkms(self) -> bool:
        """Whether the vendor's module packages are built with DKMS."""
        return self.vendor_modules.endswith("-dkms")

    def kernel_packages(self, installed: t.Mapping[str, Package], owners: t.Iterable[str] = ()) -> tuple[str, ...]:
        """The installed kernel packages, and those that pull in new kernels. `owners`: packages to which a kernel is known to belong."""
        found = {name for name in installed if re.fullmatch(self.kernels, name)} | {name for name in owners if name in installed}
        bringing = [name for name in installed if name not in found and re.fullmatch(self.kernel_meta, name)] if self.kernel_meta else []
        more = set(found)
        while more:
            more = {name for name in bringing if name not in found and not more.isdisjoint(installed[name].depends)}
            found |= more
        return tuple(sorted(found))

    def headers_of(self, release: str, owners: t.Iterable[str] = ()) -> str:
        """The package with the headers of a kernel that belongs to the packages `owners`; "" where `how_to_get_headers` says what to do."""
        # The release of kernel-64k ends with +64k, which is missing in its package names.
        plain = release.partition("+")[0] if "{flavour}" in self.headers else release
        return self.headers.format(flavour=_flavour(owners), release=plain)

    def how_to_get_headers(self, owners: t.Iterable[str] = ()) -> str:
        """The next step, where this collection does not install the headers."""
        return self.headers_hint.format(flavour=_flavour(owners))

    def names(self, purposes: t.Iterable[str]) -> tuple[str, ...]:
        """The packages for the purposes, each once. Raises KeyError for an unknown purpose."""
        return tuple(dict.fromkeys(name for purpose in purposes for name in self.packages[purpose]))
