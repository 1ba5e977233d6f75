# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output and arguments of dpkg, apt and rpm."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _packages as packages
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _rpm as rpm
from ansible_collections.rdma.ofed.plugins.module_utils._tools._apt import Apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools._dnf import Dnf, parse_available, parse_transaction
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Manager
from ansible_collections.rdma.ofed.plugins.module_utils._tools._zypper import Zypper
from hypothesis import given
from hypothesis import strategies as st

APT, DNF, ZYPPER = Apt(), Dnf(), Zypper()
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
    found = apt.parse_dpkg_database(STATUS)
    assert found == {
        "rdma-core": packages.Package("2310mlnx47-1.2310055", depends=("init-system-helpers", "libc6", "libnl-3-200", "libnl3", "udev")),
        "libibverbs1": packages.Package("44.0-2", "half-configured"),
        "libibverbs1:i386": packages.Package("44.0-2"),
        "ibverbs-providers": packages.Package("44.0-2", "half-installed", lost=True),
        "ofed-scripts": packages.Package("23.10.OFED.23.10.0.5.5", "unpacked"),
    }
    assert packages.broken(found) == ["ibverbs-providers", "libibverbs1", "ofed-scripts"]
    assert packages.lost(found) == ["ibverbs-providers"]


def test_some_packages_of_the_database_of_dpkg() -> None:
    names = ["rdma-core", "libibverbs1", "gone", "bash"]
    assert list(apt.parse_dpkg_database(STATUS, names)) == ["rdma-core", "libibverbs1", "libibverbs1:i386"]
    assert apt.parse_dpkg_database(STATUS, names, remnants=True)["gone"] == packages.Package("1", "config-files")
    assert not apt.parse_dpkg_database(STATUS, [])


def test_packages_on_hold(tmp_path: pathlib.Path) -> None:
    text = STATUS.replace("Status: install ok installed", "Status: hold ok installed", 1)
    assert [name for name, package in apt.parse_dpkg_database(text).items() if package.held] == ["rdma-core"]
    assert APT.held(apt.parse_dpkg_database(text), ["rdma-core", "ofed-scripts"], str(tmp_path)) == {"rdma-core"}


def test_what_can_be_removed_alone() -> None:
    names = ["opensm", "rdma-core", "perftest"]
    assert APT.removal_script(names) == "LC_ALL=C dpkg --simulate --remove opensm rdma-core perftest"
    said = "dpkg: dependency problems prevent removal of rdma-core:\n ibverbs-providers:amd64 depends on rdma-core\n"
    assert APT.removable(names, "", said) == ["opensm", "perftest"]
    for manager in (DNF, ZYPPER):
        assert "rpm --erase --test 'a b'; echo 'a b' $?" in manager.removal_script(["x", "a b"])
        assert manager.removable(names, "opensm 0\nrdma-core 1\nperftest 0\n", "") == ["opensm", "perftest"]


# Printed by dnf 4.14 for packages with the dependencies of RHEL 9, except the long name and the replaced package.
TRANSACTION = """\
Last metadata expiration check: 0:00:04 ago on Mon Nov 23 08:02:50 2026.
Dependencies resolved.
================================================================================
 Package            Arch     Version                  Repository           Size
================================================================================
Installing:
 doca-ofed          noarch   2.9.1-0.1.4              rdma-ofed-preview   5.5 k
     replacing  mlnx-ofed-all.noarch 23.10-0.5.5.0
Upgrading:
 libibverbs         noarch   2410mlnx54-1.2410114     rdma-ofed-preview   5.5 k
Removing:
 mlnx-ofa_kernel    noarch   23.10-OFED.23.10.0.5.5.1 @rdma-ofed             0
Removing dependent packages:
 firewalld          noarch   1.2.1-1.el9              @baseos                0
 python3-package-with-a-name-that-is-too-long-for-it
                    noarch   1.8.8-6.el9              @baseos                0

Transaction Summary
================================================================================
Install  1 Package
Upgrade  1 Package
Remove   3 Packages

Total size: 33 k
Error: Operation aborted.
"""
LISTED = """\
Available Packages
libibverbs.noarch        48.0-1.el9                           baseos
libibverbs.noarch        48.1-1.el9                           appstream
python3-package-with-a-long-name.noarch
                         14:1.8.8-6.el9                       baseos
"""


def test_what_dnf_says() -> None:
    removed = parse_transaction(TRANSACTION)
    assert removed == {
        "mlnx-ofed-all": "23.10-0.5.5.0",
        "mlnx-ofa_kernel": "23.10-OFED.23.10.0.5.5.1",
        "firewalld": "1.2.1-1.el9",
        "python3-package-with-a-name-that-is-too-long-for-it": "",
    }
    assert parse_available(LISTED) == {"libibverbs": ["48.1-1.el9", "48.0-1.el9"], "python3-package-with-a-long-name": ["14:1.8.8-6.el9"]}
    assert DNF.preview_failure(Output(1, TRANSACTION, "")) == ""
    assert DNF.preview_failure(Output(0, "Error: Unable to find a match: doca-ofed\n", "")) == "Error: Unable to find a match: doca-ofed"


# The form of zypper's schema, /usr/share/zypper/xml/xmlout.rnc.
SUMMARY = """<?xml version='1.0'?>
<stream>
<message type="info">Loading repository data...</message>
<install-summary download-size="0" space-usage-diff="0" packages-to-change="2">
<to-install>
<solvable type="package" name="libibverbs1" edition="48.0-1" arch="x86_64" summary="x"/>
</to-install>
<to-remove>
<solvable type="package" name="libpcap1" edition="1.10.1-150400.1.1" arch="x86_64" summary="x"/>
<solvable type="pattern" name="base" edition="1" arch="x86_64"/>
</to-remove>
</install-summary>
</stream>
"""


def test_what_zypper_says() -> None:
    assert ZYPPER.parse_preview(SUMMARY) == {"libpcap1": "1.10.1-150400.1.1"}
    assert ZYPPER.preview_failure(Output(0, SUMMARY, "")) == ""
    refused = '<message type="error">Package &apos;x&apos; not found.</message>'
    assert ZYPPER.preview_failure(Output(104, refused, "")) == "Package &apos;x&apos; not found."


def test_zypper_trusts_the_declared_key_and_no_other() -> None:
    site = packages.Repository("https://mirror.example.org/doca", KEY)
    assert ZYPPER.trust_argv(site) == ("rpm", "--import", rpm.RPM_KEY)
    assert ZYPPER.trust_argv(site._replace(key="")) == ()
    assert not any("gpg-auto-import" in word for argv in (ZYPPER.update, ZYPPER.install) for word in argv)


@given(st.permutations(STATUS.strip().split("\n\n")[:2] + STATUS.strip().split("\n\n")[3:]))
def test_the_order_of_the_database_does_not_matter(paragraphs: list[str]) -> None:
    found = apt.parse_dpkg_database("\n\n".join(paragraphs))
    assert sorted(found) == ["ibverbs-providers", "libibverbs1", "ofed-scripts", "rdma-core"]


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    apt.parse_dpkg_database(text)
    apt.parse_simulation(text)
    apt.parse_madison(text)
    rpm.parse_rpm_query(text)
    rpm.parse_rpm_test(text)
    parse_transaction(text)
    parse_available(text)
    ZYPPER.parse_preview(text)


def test_what_a_simulation_removes() -> None:
    found = apt.parse_simulation(SIMULATION)
    assert found.removed == {"libpcap0.8": "1.10.3-1", "tcpdump": "4.99.3-1"}
    assert found.installed["doca-ofed"] == "2.9.1-0.1.4"


def test_what_rpm_says() -> None:
    lines = ("libibverbs.so.1()(64bit) is needed by (installed) libpcap-14:1.9.1-5.el8.x86_64", "libibverbs is needed by (installed) ucx-1.5.2-1.el8.x86_64")
    text = "error: Failed dependencies:\n\t%s\n\t%s\n" % lines
    assert rpm.parse_rpm_test(text) == ["libpcap", "ucx"]
    assert rpm.parse_rpm_test(text, ["libibverbs"]) == ["ucx"], "the library comes back, and its package has another version then"
    assert rpm.parse_rpm_query("kernel\t5.14\nmlnx-ofa_kernel\t23.10-OFED.23.10.0.5.5.1\n")["mlnx-ofa_kernel"].version == "23.10-OFED.23.10.0.5.5.1"


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
    assert APT.update == (*head, "update")
    assert APT.install_argv(["doca-ofed"], "2.9.1")[len(head) :] == (
        "--no-install-recommends",
        "--allow-downgrades",
        "--fix-broken",
        "install",
        "doca-ofed",
    )
    replaced = APT.replace_argv({"b": "2", "a": "1"}, ["d", "c"])
    assert replaced[len(head) :] == ("--no-install-recommends", "--allow-downgrades", "--purge", "--fix-broken", "install", "a=1", "b=2", "c-", "d-")
    assert apt.simulate(apt.purge_argv(["x"]))[:2] == ("apt-get", "--simulate")
    assert APT.recover[:3] == ("dpkg", "--configure", "-a")


def test_command_lines_for_rpm() -> None:
    assert DNF.install_argv(["doca-ofed"], "2.9.1") == ("dnf", "--assumeyes", "install", "doca-ofed-2.9.1[!0-9]*")
    assert ZYPPER.install_argv(["doca-ofed"], "2.9.1", ["mlnx-fw-updater"])[-2:] == ("doca-ofed=2.9.1", "mlnx-fw-updater")
    assert DNF.replace_argv({"d": "1:2-3"}, ["b", "a"], also=["x"])[4:] == ("remove a b", "install x d-1:2-3", "run")
    assert ZYPPER.replace_argv({"d": "2"}, ["b", "a"], also=["x"])[-4:] == ("x", "d=2", "!a", "!b")
    # Only a transaction that was previewed may remove anything.
    assert "--allowerasing" not in DNF.install
    assert "--force-resolution" not in ZYPPER.install
    assert DNF.recover == ("rpm", "--rebuilddb")


KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\nx\n"


def test_repository_files_of_apt() -> None:
    files = APT.files_of(packages.Repository("https://mirror.example.org/doca/", KEY, ("doca-ofed",), "2.9.1"))
    assert files["/etc/apt/keyrings/rdma-ofed.asc"] == KEY
    assert files["/etc/apt/keyrings/rdma-ofed.gpg"] == ""
    sources = files["/etc/apt/sources.list.d/rdma-ofed.sources"].splitlines()[1:]
    assert sources == ["Types: deb", "URIs: https://mirror.example.org/doca/", "Suites: ./", "Signed-By: /etc/apt/keyrings/rdma-ofed.asc"]
    assert files["/etc/apt/preferences.d/rdma-ofed.pref"].splitlines()[1:] == [
        "Package: doca-ofed",
        "Pin: version /^([0-9]+:)?2\\.9\\.1([^0-9].*)?$/",
        "Pin-Priority: 1001",
    ]
    trusted = APT.files_of(packages.Repository("/srv/mirror", ""))
    assert "URIs: file:/srv/mirror/\nSuites: ./\nTrusted: yes\n" in trusted["/etc/apt/sources.list.d/rdma-ofed.sources"]
    assert set(APT.files_of(None).values()) == {""}
    assert APT.files_of(packages.Repository("/srv", "\x99k"))["/etc/apt/keyrings/rdma-ofed.gpg"] == "\x99k"


@pytest.mark.parametrize(("manager", "path"), [(DNF, "/etc/yum.repos.d/rdma-ofed.repo"), (ZYPPER, "/etc/zypp/repos.d/rdma-ofed.repo")])
def test_repository_files_of_rpm(manager: Manager, path: str) -> None:
    files = manager.files_of(packages.Repository("/srv/mirror", KEY))
    assert "baseurl=file:///srv/mirror\nenabled=1\ngpgcheck=1\ngpgkey=file:///etc/pki/rpm-gpg/RPM-GPG-KEY-rdma-ofed\n" in files[path]
    assert "gpgcheck=0" in manager.files_of(packages.Repository("https://m.example.org/x", ""))[path]


@pytest.mark.parametrize(("text", "key"), [(KEY, True), ("\udc99binary", True), ("<html>", False), ("", False)])
def test_what_a_key_looks_like(text: str, key: bool) -> None:
    assert packages.is_key(text) is key


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


LOGIN = "https://reader:p%40ss@mirror.example.org/doca/"
PASSWORD = "p@ss"


@pytest.mark.parametrize(
    ("declared", "address"),
    [
        (LOGIN, ("https://mirror.example.org/doca/", "reader", PASSWORD)),
        ("https://reader:p@ss@mirror.example.org/doca", ("https://mirror.example.org/doca", "reader", PASSWORD)),
        ("https://reader@mirror.example.org:8443/doca", ("https://mirror.example.org:8443/doca", "reader", "")),
        ("https://mirror.example.org/a@b", ("https://mirror.example.org/a@b", "", "")),
        ("/srv/a@b", ("/srv/a@b", "", "")),
    ],
)
def test_addresses_with_a_password(declared: str, address: tuple[str, str, str]) -> None:
    assert packages.address_of(declared) == address


@pytest.mark.parametrize(
    ("manager", "path", "lines"),
    [
        (APT, "/etc/apt/auth.conf.d/rdma-ofed.conf", ["machine mirror.example.org/doca/", "login reader", "password p@ss"]),
        (DNF, "/etc/yum.repos.d/rdma-ofed.repo", ["username=reader", "password=p@ss", "baseurl=https://mirror.example.org/doca"]),
        (ZYPPER, "/etc/zypp/credentials.d/rdma-ofed", ["username=reader", "password=p@ss"]),
    ],
)
def test_a_password_is_where_the_package_manager_keeps_them(manager: Manager, path: str, lines: t.Sequence[str]) -> None:
    files = manager.files_of(packages.Repository(LOGIN, KEY))
    assert set(lines) <= set(files[path].splitlines())
    private = {name for name, content in files.items() if packages.is_private(content)}
    assert private == {path}
    assert not any(word in content for name, content in files.items() for word in (PASSWORD, "p%40ss") if name != path)
    assert PASSWORD not in packages.without_secrets(files[path]) and packages.without_secrets(files[path]).count("\n") == files[path].count("\n")
    # It is removed with its repository.
    assert manager.files_of(None)[path] == "" and set(manager.files_of(None)) == set(files)
    assert not any(map(packages.is_private, manager.files_of(packages.Repository("https://mirror.example.org/doca", KEY)).values()))
    assert PASSWORD not in packages.without_secrets("URIs: %s\n" % LOGIN.replace("%40", "@"))


def test_zypper_finds_the_password_by_its_name() -> None:
    assert (
        "baseurl=https://mirror.example.org/doca?credentials=rdma-ofed\n"
        in ZYPPER.files_of(packages.Repository(LOGIN, KEY))["/etc/zypp/repos.d/rdma-ofed.repo"]
    )


def test_apt_sends_a_password_over_http_only_where_that_is_declared() -> None:
    files = APT.files_of(packages.Repository(LOGIN.replace("https", "http"), KEY))
    assert "machine http://mirror.example.org/doca/\n" in files["/etc/apt/auth.conf.d/rdma-ofed.conf"]


SITE, SHIPPED, CONFIGURATION = "/etc/modprobe.d/site.conf", "/etc/modprobe.d/shipped.conf", "/etc/modprobe.d/mlx4.conf"
# In the form of dpkg 1.21 and rpm 4.18.
FIXED: dict[Manager, dict[str, str]] = {
    Apt(): {
        "--search": "diversion by x from: %s\nibverbs-providers:amd64: %s\nother, more: %s\n" % (SITE, CONFIGURATION, SHIPPED),
        "--show": "\n %s 0f5d1b59d4c4a2a9 obsolete\n\n" % CONFIGURATION,
    },
    Dnf(): {"-q": "file %s is not owned by any package\ncn\t%s\n\t%s\nd\t/usr/share/doc/x\n(contains no files)\n" % (SITE, CONFIGURATION, SHIPPED)},
}


@pytest.mark.parametrize("manager", list(FIXED))
def test_files_that_an_update_restores(manager: Manager) -> None:
    def run(argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        return Output(1, FIXED[manager][argv[1]], "")

    runner: t.Any = run
    assert manager.fixed(runner, [SITE, SHIPPED, CONFIGURATION]) == {SHIPPED}
    nothing: t.Any = lambda *_argv, **_named: Output(1, "", "")  # noqa: E731
    assert manager.fixed(nothing, [SITE]) == frozenset()
