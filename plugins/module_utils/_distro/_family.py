# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a family of distributions is to the collection: everything in which one differs from another. Data."""

from __future__ import annotations

import re
import typing as t

if t.TYPE_CHECKING:
    from .._tools._packages import Manager, Package

# Purposes of packages. Those of an upper-layer protocol have its name.
CORE = "core"
TOOLS = "tools"
REMOVABLE = "removable"
"""Of CORE and TOOLS, what can be removed without tearing the distribution apart."""
OPENSM = "opensm"
DIAGNOSTICS = "diagnostics"
FIRMWARE = "firmware"
"""The tools, and pciutils: they reset an adapter through lspci and setpci, and no package pulls that in."""
EXTRA_MODULES = "extra_modules"
"""Kernel modules that the distribution keeps in a package of their own: words for people."""
RDMA_TOOL = "rdma_tool"
"""The package with the command rdma."""
PEER_MEMORY = "nv_peer_mem"

# Packages of RPM systems with the parts of one kernel: kernel-core, kernel-uek-modules-core, kernel-64k-modules.
_PART = re.compile(r"(-modules)?(-core)?$")


def _flavour(owners: t.Iterable[str]) -> str:
    """`kernel-64k` of `kernel-64k-core` and `kernel-64k-modules-core`."""
    return min((_PART.sub("", owner) for owner in owners), key=len, default="kernel")


class Distribution(t.NamedTuple):
    """A distribution of a family. The role ofed supports the versions from `first` up to, but not including, `after`.

    It serves later ones, and all from `first` on where there is no `after`, with the stack of the distribution, and says that this was not
    tested.
    """

    id: str
    """ID of os-release."""
    first: str = ""
    after: str = ""
    bundle: str = ""
    """The name that the bundles of MLNX_OFED have for it; "" where there is none, and no vendor's stack for it."""
    rebuild: bool = False
    """Whether the vendor's installer takes it for `bundle` only if it is told so."""


class Family(t.NamedTuple):
    name: str
    """As in `ansible_facts.rdma.os.family`."""
    title: str
    """As in messages."""
    distributions: tuple[Distribution, ...]
    supported: str
    """The supported distributions with their versions, in words; "" where there are none."""
    with_bundles: str
    """Of those, the ones that vendors make stacks for."""
    manager: Manager
    packages: t.Mapping[str, tuple[str, ...]]
    """The names of packages by purpose: each constant above, and each name of _protocols/_catalogue.py."""
    rdma_modules: tuple[str, ...]
    """What a fresh rdma-core lists in /etc/rdma/modules/rdma.conf."""
    kernels: str
    """A pattern that the packages of kernels match whole, of all flavours."""
    headers: str
    """The package with the headers of one kernel, `{flavour}` being the beginning of the names of its packages, `{release}` its release.
    "" where `headers_hint` says what to do."""
    vendor_modules: str
    """The vendor's package of ready-made modules, `%s` being what they are of."""
    peer_memory_tools: t.Mapping[str, str]
    """Programs, and files with their paths, that building nv_peer_mem takes -> the packages that have them."""
    interpreters: tuple[str, ...]
    """Packages that bring a Python for the modules, the preferred one first."""
    kernel_meta: str = ""
    """A pattern of the packages that bring new kernels by what they depend on; "" where `kernels` matches them, too."""
    infiniband_modules: tuple[str, ...] = ("ib_ipoib", "ib_umad")
    """What a fresh rdma-core lists in /etc/rdma/modules/infiniband.conf."""
    headers_hint: str = ""
    """The next step where `headers` is "", with the same `{flavour}`."""
    peer_memory_options: tuple[str, ...] = ()
    """Options for the installation of nv_peer_mem's packages."""

    @property
    def by_dkms(self) -> bool:
        """Whether the vendor's packages of modules are built with DKMS."""
        return self.vendor_modules.endswith("-dkms")

    def kernel_packages(self, installed: t.Mapping[str, Package], owners: t.Iterable[str] = ()) -> tuple[str, ...]:
        """Of the installed packages, those of kernels, and those that bring new ones. `owners` are packages that a kernel is known to have come with."""
        found = {name for name in installed if re.fullmatch(self.kernels, name)} | {name for name in owners if name in installed}
        bringing = [name for name in installed if name not in found and re.fullmatch(self.kernel_meta, name)] if self.kernel_meta else []
        more = set(found)
        while more:
            more = {name for name in bringing if name not in found and not more.isdisjoint(installed[name].depends)}
            found |= more
        return tuple(sorted(found))

    def headers_of(self, release: str, owners: t.Iterable[str] = ()) -> str:
        """The package with the headers of a kernel, which came with the packages `owners`; "" where `how_to_get_headers` says what to do."""
        # The release of kernel-64k ends in +64k, which its packages do not have.
        plain = release.partition("+")[0] if "{flavour}" in self.headers else release
        return self.headers.format(flavour=_flavour(owners), release=plain)

    def how_to_get_headers(self, owners: t.Iterable[str] = ()) -> str:
        """The next step, where this collection does not install them."""
        return self.headers_hint.format(flavour=_flavour(owners))

    def names(self, purposes: t.Iterable[str]) -> tuple[str, ...]:
        """The packages for the purposes, each once. Raises KeyError for an unknown purpose."""
        return tuple(dict.fromkeys(name for purpose in purposes for name in self.packages[purpose]))
