# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which stack a package belongs to, and what is removed with the stack."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _foreseen as removals
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _package_names as names
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Package


@pytest.mark.parametrize(
    ("name", "version", "release", "vendors"),
    [
        ("rdma-core", "2310mlnx47-1.2310055", "", True),
        ("rdma-core", "44.0-2", "23.10-0.5.5.0", False),
        ("dapl2-utils", "2.1.10.1.mlnx-OFED.51258", "", True),
        ("dpcp", "1.1.0-1.51258", "", True),
        ("ibsim", "0.9-1.51258", "5.1-2.5.8.0", True),
        ("ibsim", "0.9-1.51258", "", False),
        ("ibsim", "0.9-151258", "5.1-2.5.8.0", False),
        ("doca-ofed", "2.9.1-0.1.4", "", True),
        ("mft", "4.26.1-3", "", True),
        ("mftrace", "1.2", "", False),
        ("openmpi-bin", "4.1.4-3", "23.10-0.5.5.0", False),
        ("mstflint", "4.16.0-2.2310055", "23.10-0.5.5", True),
    ],
)
def test_whose_package_it_is(name: str, version: str, release: str, vendors: bool) -> None:
    assert names.is_vendors(name, version, release) is vendors


def test_what_the_installer_takes_by_name() -> None:
    installed = ["libopenmpi3", "openmpi-bin", "opensmtpd", "xen-rdma-core", "libibverbs1", "bash"]
    assert names.taken_by_installer(installed) == {"libopenmpi3", "openmpi-bin", "libibverbs1"}


def test_what_the_distribution_offers() -> None:
    assert names.distribution_versions({"libibverbs1": ["2410mlnx54-1.2410114", "44.0-2"], "mlnx-tools": ["24.10-0"]}) == {"libibverbs1": "44.0-2"}


def test_which_installed_packages_are_the_vendors() -> None:
    found = {"rdma-core": Package("2310mlnx47-1.2310055"), "libibverbs1:i386": Package("44.0-2"), "ofed-scripts": Package("23.10.OFED.23.10.0.5.5", "unpacked")}
    assert names.vendors(found) == ["ofed-scripts", "rdma-core"]


def test_foreign_packages_are_listed_and_refused() -> None:
    removed = ["libpcap0.8", "libibverbs1", "doca-ofed", "mlnx-tools", "tcpdump"]
    versions = {"libpcap0.8": "1.10", "doca-ofed": "2.9.1", "mlnx-tools": "1", "libibverbs1": "44.0-2"}
    assert removals.foreign(removed, versions, expected=["libibverbs1"]) == ["libpcap0.8", "tcpdump"]
    assert removals.foreign(removed, versions, expected=[], by_name=True) == ["libpcap0.8", "tcpdump"]
    assert removals.foreign(["libopensm9", "libosmcomp5", "libosmvendor5t64", "libopenmpi3", "opensm"], {}, expected=[]) == ["libopenmpi3", "opensm"]
    removals.refuse(["libpcap0.8"], ["libpcap0.8", "other"], "x")
    with pytest.raises(Refused, match=r"1 package is not part of the RDMA stack .* when doca is installed: tcpdump") as refused:
        removals.refuse(["libpcap0.8", "tcpdump"], ["libpcap0.8"], "doca is installed")
    assert refused.value.details == {"dependants": ["tcpdump"]}
