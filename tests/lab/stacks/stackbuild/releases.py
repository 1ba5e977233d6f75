# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The releases that have stand-ins, with the versions of their packages."""

from __future__ import annotations

import typing as t


class Release(t.NamedTuple):
    """One release of the drivers, as shipped in MLNX_OFED and in DOCA-OFED."""

    version: str
    """Version as in .mlnx: 23.10-0.5.5.0."""
    rdma_core: str
    """Version of the packages built from rdma-core."""
    others: t.Mapping[str, str]
    """Versions of packages with a numbering of their own."""

    @property
    def internal(self) -> str:
        """Return the version that the packaged ofed_info prints: the release without its last number."""
        return self.version.rpartition(".")[0]

    @property
    def line(self) -> str:
        """Return the release line, such as 23.10."""
        return self.version.partition("-")[0]

    @property
    def build(self) -> str:
        """Return the suffix of package versions, such as 2310055."""
        return "".join(self.internal.replace("-", ".").split("."))

    @property
    def kernel(self) -> str:
        """Return the version of mlnx-ofed-kernel-*. DKMS uses the part before the hyphen."""
        return "%s.OFED.%s.1-1" % (self.line, self.internal.replace("-", "."))

    @property
    def scripts(self) -> str:
        return "%s.OFED.%s" % (self.line, self.internal.replace("-", "."))

    def package(self, name: str) -> str:
        """Return the version of a package that is not built from rdma-core."""
        fixed = {"mlnx-ofed-kernel": self.kernel, "ofed-scripts": self.scripts, "mlnx-fw-updater": self.version}
        return fixed.get(name) or self.others.get(name) or "1.0-1.%s" % self.build


OCTOBER_2023 = Release(
    "23.10-0.5.5.0",
    "2307mlnx47-1.2310055",
    {
        "opensm": "5.17.0.MLNX20231105.d437ae0a-0.1.2310055",
        "mft": "4.26.1-3",
        "perftest": "23.10.0-0.29.g0705c22.2310055",
        "mstflint": "4.16.1-2.2310055",
        "mlnx-tools": "23.10.0-1.2310055",
        "mlnx-iproute2": "6.4.0-1.2310055",
        "mlnx-ethtool": "6.4-1.2310055",
        "openmpi": "4.1.7a1-1.2310055",
        "ucx": "1.16.0-1.2310055",
        "ibdump": "6.0.0-1.2310055",
        "dpcp": "1.1.43-1.2310055",
        "hcoll": "4.8.3223-1.2310055",
    },
)
OCTOBER_2024 = Release(
    "24.10-0.7.0.0",
    "2410mlnx54-1.2410070",
    {
        "opensm": "5.21.0.MLNX20241106.1df5dd4a-0.1.2410070",
        "mft": "4.30.0-139",
        "perftest": "24.10.0-0.65.g9093bae.2410070",
        "mstflint": "4.16.1-2.2410070",
        "mlnx-tools": "24.10.0-1.2410070",
        "mlnx-iproute2": "6.10.0-1.2410070",
        "mlnx-ethtool": "6.9-1.2410070",
        "openmpi": "4.1.7rc1-1.2410070",
        "ucx": "1.18.0-1.2410070",
        "ibdump": "6.0.0-1.2410070",
        "dpcp": "1.1.50-1.2410070",
        "hcoll": "4.8.3230-1.2410070",
    },
)
_DECEMBER_2024 = Release(
    "24.10-1.1.4.0",
    "2410mlnx54-1.2410114",
    {**{name: text.replace("2410070", "2410114") for name, text in OCTOBER_2024.others.items()}, "mft": "4.30.1-113"},
)
_OCTOBER_2025 = Release(
    "25.10-1.2.8.0",
    "2510.0.11-1.2510128",
    {
        "opensm": "5.25.0.MLNX20251103.4b1d1f3b-0.1.2510128",
        "mft": "4.34.0-145",
        "perftest": "25.10.0-0.128.g5c1f4a2.2510128",
        "mstflint": "4.34.0-1.2510128",
        "mlnx-tools": "25.10.0-1.2510128",
        "mlnx-iproute2": "6.17.0-1.2510128",
        "mlnx-ethtool": "6.15-1.2510128",
        "openmpi": "4.1.9a1-1.2510128",
        "ucx": "1.20.0-1.2510128",
    },
)
BUNDLES = (OCTOBER_2023, OCTOBER_2024)


class Doca(t.NamedTuple):
    """One release of DOCA."""

    version: str
    build: str
    """Version suffix of DOCA's own packages."""
    release: Release
    distro: str
    """Directory name; before 3.2 it includes the minor release of the distribution."""
    kernel_support: bool
    """Whether doca-extra has doca-kernel-support: true before 3.2, which has modules as DKMS sources only."""
    profiles: tuple[str, ...]
    own_dkms: str
    """Version of the dkms package in the repository, "" for none."""

    @property
    def full(self) -> str:
        return "%s-%s" % (self.version, self.build)


_PROFILES = ("doca-all", "doca-networking", "doca-ofed")
DOCAS = (
    Doca("2.9.1", "018000", _DECEMBER_2024, "debian12.5", True, (*_PROFILES, "doca-roce"), "3.0.11-99"),
    Doca("3.2.1", "044000", _OCTOBER_2025, "debian12", False, (*_PROFILES, "doca-roce", "doca-host-basic"), ""),
)
