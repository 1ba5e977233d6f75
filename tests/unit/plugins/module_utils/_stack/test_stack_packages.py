# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The words of dpkg, apt and rpm, in and out."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _package_names as names
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _removals as removals
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _repository as repository
from hypothesis import given
from hypothesis import strategies as st

STATUS = """Package: rdma-core
Status: install ok installed
Architecture: amd64
Version: 2310mlnx47-1.2310055
Pre-Depends: init-system-helpers (>= 1.54~)
Depends: libc6 (>= 2.34), libnl-3-200 (>= 3.2.7) | libnl3:any, udev
Description: core
 Status: none

Package: libibverbs1
Status: install ok half-configured
Architecture: amd64
Version: 44.0-2

Package: libibverbs1
Status: install ok installed
Architecture: i386
Version: 44.0-2

Package: ibverbs-providers
Status: install reinstreq half-installed
Version: 44.0-2

Package: gone
Status: deinstall ok config-files
Version: 1

Package: ofed-scripts
Status: install ok unpacked
Version: 23.10.OFED.23.10.0.5.5
"""
SIMULATION = """NOTE: This is only a simulation!
Reading package lists...
Remv libpcap0.8 [1.10.3-1]
Purg tcpdump [4.99.3-1]
Remv librdmacm1:amd64 [2310mlnx47-1]
Inst librdmacm1 [2310mlnx47-1] (44.0-2 Debian:12.5/stable [amd64])
Inst doca-ofed (2.9.1-0.1.4 localhost [amd64]) []
Conf doca-ofed (2.9.1-0.1.4 localhost [amd64])
"""
MADISON = """ libibverbs1 | 2410mlnx54-1.2410114 | file:/srv ./ Packages
 libibverbs1 |     44.0-2 | http://mirror bookworm/main amd64 Packages
 libibverbs1 |     44.0-2 | http://mirror bookworm/main Sources
mlnx-tools | 24.10-0 | file:/srv ./ Packages
"""


def test_the_database_of_dpkg() -> None:
    found = packages.parse_dpkg_database(STATUS)
    assert found == {
        "rdma-core": packages.Package("2310mlnx47-1.2310055", depends=("init-system-helpers", "libc6", "libnl-3-200", "libnl3", "udev")),
        "libibverbs1": packages.Package("44.0-2", "half-configured"),
        "libibverbs1:i386": packages.Package("44.0-2"),
        "ibverbs-providers": packages.Package("44.0-2", "half-installed", lost=True),
        "ofed-scripts": packages.Package("23.10.OFED.23.10.0.5.5", "unpacked"),
    }
    assert packages.broken(found) == ["ibverbs-providers", "libibverbs1", "ofed-scripts"]
    assert packages.lost(found) == ["ibverbs-providers"]
    assert packages.vendors(found) == ["ofed-scripts", "rdma-core"]


@given(st.permutations(STATUS.strip().split("\n\n")[:2] + STATUS.strip().split("\n\n")[3:]))
def test_the_order_of_the_database_does_not_matter(paragraphs: list[str]) -> None:
    found = packages.parse_dpkg_database("\n\n".join(paragraphs))
    assert sorted(found) == ["ibverbs-providers", "libibverbs1", "ofed-scripts", "rdma-core"]


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    packages.parse_dpkg_database(text)
    packages.parse_simulation(text)
    packages.parse_madison(text)
    packages.parse_rpm_all(text)
    packages.parse_rpm_test(text)


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


def test_what_a_simulation_removes() -> None:
    found = packages.parse_simulation(SIMULATION)
    assert found.removed == {"libpcap0.8": "1.10.3-1", "tcpdump": "4.99.3-1"}
    assert found.installed["doca-ofed"] == "2.9.1-0.1.4"


def test_what_the_distribution_offers() -> None:
    assert packages.distribution_versions(packages.parse_madison(MADISON)) == {"libibverbs1": "44.0-2"}


def test_what_rpm_says() -> None:
    lines = ("libibverbs.so.1()(64bit) is needed by (installed) libpcap-14:1.9.1-5.el8.x86_64", "libibverbs is needed by (installed) ucx-1.5.2-1.el8.x86_64")
    text = "error: Failed dependencies:\n\t%s\n\t%s\n" % lines
    assert packages.parse_rpm_test(text) == ["libpcap", "ucx"]
    assert packages.parse_rpm_all("kernel\t5.14\nmlnx-ofa_kernel\t23.10-OFED.23.10.0.5.5.1\n")["mlnx-ofa_kernel"].version == "23.10-OFED.23.10.0.5.5.1"


@pytest.mark.parametrize(
    ("wanted", "found", "fits"),
    [
        ("2.9.1", "2.9.1-0.1.4", True),
        ("2.9.1", "1:2.9.1", True),
        ("2.9.1", "2.9.10-1", False),
        ("2.9.1-0.1.4", "2.9.1", False),
        ("2.9", "2.9.1", True),
        ("2", "", False),
    ],
)
def test_a_version_is_compared_by_whole_numbers(wanted: str, found: str, fits: bool) -> None:
    assert packages.version_fits(wanted, found) is fits


def test_command_lines_for_debian() -> None:
    head = ("apt-get", "--yes", "--quiet", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=300")
    assert packages.update_argv("apt") == (*head, "update")
    assert packages.install_argv("apt", ["doca-ofed"], "2.9.1")[len(head) :] == (
        "--no-install-recommends",
        "--allow-downgrades",
        "--fix-broken",
        "install",
        "doca-ofed",
    )
    replaced = packages.replace_argv("apt", {"b": "2", "a": "1"}, ["d", "c"])
    assert replaced[len(head) :] == ("--no-install-recommends", "--allow-downgrades", "--purge", "--fix-broken", "install", "a=1", "b=2", "c-", "d-")
    assert packages.simulate(packages.purge_argv(["x"]))[:2] == ("apt-get", "--simulate")
    assert packages.recover_argv("apt")[:3] == ("dpkg", "--configure", "-a")


def test_command_lines_for_rpm() -> None:
    assert packages.install_argv("dnf", ["doca-ofed"], "2.9.1") == ("dnf", "--assumeyes", "--allowerasing", "install", "doca-ofed-2.9.1[!0-9]*")
    assert packages.install_argv("zypper", ["doca-ofed"], "2.9.1", ["mlnx-fw-updater"])[-2:] == ("doca-ofed=2.9.1", "mlnx-fw-updater")
    assert packages.replace_argv("dnf", {}, ["b", "a"]) == ("dnf", "--assumeyes", "remove", "--noautoremove", "a", "b")
    assert packages.replace_argv("zypper", {}, ["b", "a"]) == ("zypper", "--non-interactive", "remove", "a", "b")
    assert packages.recover_argv("dnf") == ("rpm", "--rebuilddb")


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


KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n"


def test_repository_files_of_apt() -> None:
    files = repository.files_of("apt", repository.Repository("https://mirror.example.org/doca/", KEY, ("doca-ofed",), "2.9.1"))
    assert files["/etc/apt/keyrings/rdma-ofed.asc"] == KEY
    assert files["/etc/apt/keyrings/rdma-ofed.gpg"] == ""
    sources = files["/etc/apt/sources.list.d/rdma-ofed.sources"].splitlines()[1:]
    assert sources == ["Types: deb", "URIs: https://mirror.example.org/doca/", "Suites: ./", "Signed-By: /etc/apt/keyrings/rdma-ofed.asc"]
    assert files["/etc/apt/preferences.d/rdma-ofed.pref"].splitlines()[1:] == [
        "Package: doca-ofed",
        "Pin: version /^([0-9]+:)?2\\.9\\.1([^0-9].*)?$/",
        "Pin-Priority: 1001",
    ]
    trusted = repository.files_of("apt", repository.Repository("/srv/mirror", ""))
    assert "URIs: file:/srv/mirror/\nSuites: ./\nTrusted: yes\n" in trusted["/etc/apt/sources.list.d/rdma-ofed.sources"]
    assert set(repository.files_of("apt", None).values()) == {""}
    assert repository.files_of("apt", repository.Repository("/srv", "\x99k"))["/etc/apt/keyrings/rdma-ofed.gpg"] == "\x99k"


@pytest.mark.parametrize(("manager", "path"), [("dnf", "/etc/yum.repos.d/rdma-ofed.repo"), ("zypper", "/etc/zypp/repos.d/rdma-ofed.repo")])
def test_repository_files_of_rpm(manager: str, path: str) -> None:
    files = repository.files_of(manager, repository.Repository("/srv/mirror", KEY))
    assert "baseurl=file:///srv/mirror\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed\n" in files[path]
    assert "gpgcheck=0" in repository.files_of(manager, repository.Repository("https://m.example.org/x", ""))[path]


@pytest.mark.parametrize(("text", "key"), [(KEY, True), ("\udc99binary", True), ("<html>", False), ("", False)])
def test_what_a_key_looks_like(text: str, key: bool) -> None:
    assert repository.is_key(text) is key


def test_what_others_need_of_a_stack() -> None:
    found = {
        "libfabric1": packages.Package("1", depends=("libc6", "librdmacm1")),
        "librdmacm1": packages.Package("1", depends=("libibverbs1",)),
        "libibverbs1": packages.Package("1", depends=("rdma-core",)),
        "rdma-core": packages.Package("1", depends=("libibverbs1",)),
        "opensm": packages.Package("1", depends=("libopensm",)),
        "libopensm": packages.Package("1"),
        "perftest": packages.Package("1", depends=("libibverbs1",)),
    }
    mine = [name for name in found if name != "libfabric1"]
    assert packages.needed(found, mine) == {"librdmacm1", "libibverbs1", "rdma-core"}
    assert packages.needed(found, mine, ["perftest", "bash"]) == {"librdmacm1", "libibverbs1", "rdma-core", "perftest"}
    assert packages.needed({}, []) == set()
    assert packages.dependent(found, ["rdma-core"]) == {"rdma-core", "libibverbs1", "librdmacm1", "libfabric1", "perftest"}
    assert packages.dependent(found, ["libopensm"]) == {"libopensm", "opensm"}
