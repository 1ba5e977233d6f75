# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options that mlnxofedinstall accepts, and the meaning of its exit codes."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _installer_options as options
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _installer_run
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _log as codes
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_run import AGAIN, packages_missing, parse_help
from hypothesis import given
from hypothesis import strategies as st

OLD, LONG_TERM, MIDDLE, NEW = "4.1-1.0.2.0", "4.9-7.1.0.0", "5.0-2.1.8.0", "23.10-0.5.5.0"


def complaints(*entries: t.Any, version: str = NEW, family: str = "deb", firmware: bool = False) -> list[str]:
    return [str(problem) for problem in options.Installer(version, family).problems("ofed_installer_options", list(entries), firmware_update=firmware)]


@pytest.mark.parametrize(
    "entries",
    [
        ("--without-dkms", "--add-kernel-support", "--skip-distro-check"),
        ("--kernel 5.10.0-28-amd64", "--kernel-sources /usr/src/linux"),
        ("--kernel", "5.10.0-28-amd64"),
        ("--without-opensm", "--with-ucx", "--pre-install-rdma-core /srv/hook"),
        ("--enable-opensm", "--umad-dev-rw", "--without-fw-update"),
    ],
)
def test_what_is_understood(entries: tuple[str, ...]) -> None:
    assert complaints(*entries) == []


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("--without-dmks", "allowed: --without-dkms (the installer would silently treat it as the name of a package"),
        ("--without-opnesm", "allowed: --without-opensm"),
        ("--add-kernel-suport", "allowed: --add-kernel-support (the installer would refuse it with exit status 22)"),
        ("--kmp", "it is for rpm packages only"),
        ("--mlnx-libs", "other releases have it"),
        ("--hpc", "allowed: ofed_packages: hpc"),
        ("--force", "ofed_allow_removal"),
        ("--net /etc/x", "the role ipoib"),
        ("--tmpdir=/scratch", "allowed: --tmpdir DIRECTORY (the installer knows no =)"),
        ("--tmpdir", "allowed: --tmpdir DIRECTORY"),
        ("--dkms yes", "nothing stands after it"),
        ("--force-fw-update", "ofed_firmware_update: true"),
        ("--fw-update-only", "the role hca_firmware"),
        ("dkms", "allowed: an option of mlnxofedinstall"),
        (7, "allowed: an option of mlnxofedinstall"),
        ("--config /a\n--force", "allowed: an option of mlnxofedinstall"),
    ],
)
def test_what_is_refused(entry: t.Any, words: str) -> None:
    found = complaints(entry)
    assert len(found) == 1
    assert words in found[0]


def test_releases_and_families_differ() -> None:
    assert complaints("--enable-opensm", version=OLD) == complaints("--enable-opensm", version=OLD, family="rpm") != []
    assert complaints("--mlnx-libs", version=MIDDLE) == []
    assert complaints("--kmp", "--disable-kmp", family="rpm") == []
    assert complaints("--kmp", family="") == []
    assert complaints("--force-fw-update", firmware=True) == []
    assert "contradict" in complaints("--without-fw-update", firmware=True)[0]
    assert "ovs-dpdk" not in options.Installer(OLD).sets()
    assert "xlio" in options.Installer(NEW).sets()


@given(st.lists(st.text()))
def test_any_text_is_understood_or_refused(entries: list[str]) -> None:
    options.Installer().problems("x", entries)


@given(st.permutations(["--without-dkms", "--tmpdir /scratch", "--skip-distro-check", "--kernel 5.10"]))
def test_words_that_belong_together_stay_together(entries: list[str]) -> None:
    argv = options.options_argv(entries)
    assert argv[argv.index("--tmpdir") + 1] == "/scratch"
    assert options.value_of(entries, "--kernel") == "5.10"
    assert options.names_of(entries) == {"--without-dkms", "--tmpdir", "--skip-distro-check", "--kernel"}


def test_a_set_is_always_named() -> None:
    assert options.set_argv("hpc") == ("--hpc",)
    assert options.set_argv("user-space-only") == ("--all", "--user-space-only")


# The options in the help of the two releases that were examined, without those that name a package.
HELP_OF_BOTH = """
--add-kernel-support --add-kernel-support-build-only --all --basic --check-deps-only --config --disable-affinity --distro --dkms --dpdk
--enable-affinity --enable-mlnx_tune --eth-only --force --force-dkms --force-fw-update --fw-image-dir --fw-update-only --guest --help --hpc
--hypervisor --kernel --kernel-only --kernel-sources --package-install-options --post-start-delay --print-available --skip-distro-check
--tmpdir --umad-dev-na --umad-dev-rw --user-space-only --vma --with-nvmf --without-depcheck --without-dkms --without-fw-update
-c -h -k -p -q -s -v -vv -vvv
"""
HELP_OF_ONE = {
    OLD: "--net --vma-eth --vma-vpi --with-vma -n",
    LONG_TERM: "--bluefield --enable-opensm --ovs-dpdk --upstream-libs --with-cx4lx-optimizations --with-libdisni --with-nfsrdma --without-nfsrdma",
    MIDDLE: "--bluefield --enable-opensm --mlnx-libs --ovs-dpdk --upstream-libs --with-libdisni --with-nfsrdma --without-nfsrdma",
}


@pytest.mark.parametrize("version", [OLD, LONG_TERM, MIDDLE])
def test_every_option_of_the_help_is_known(version: str) -> None:
    known = set(options.Installer(version, "deb").vocabulary()) | set(options._NOT_HERE) | {"--" + name for name in options.Installer(version).sets()}
    assert not set((HELP_OF_BOTH + HELP_OF_ONE[version]).split()) - known


def test_the_long_term_release_is_newer_than_its_number() -> None:
    """4.9 accepts everything that 5.0 accepts, including options that neither documents."""
    entries = ["--upstream-libs", "--mlnx-libs", "--enable-opensm", "--with-nfsrdma", "--auto-add-kernel-support", "--msm"]
    assert complaints(*entries, version=LONG_TERM) == complaints(*entries, version=MIDDLE) == []
    assert complaints("--fw-dir /srv", "--enable-sriov", version=LONG_TERM, firmware=True) == []
    assert {"bluefield", "ovs-dpdk"} <= set(options.Installer(LONG_TERM).sets()) & set(options.Installer(MIDDLE).sets())


@pytest.mark.parametrize("entry", ["--update", "--fw-update", "--force-fw-updat", "--force-fwupdate", "--fw-dirs /srv", "--forced-dkms", "--enable-sriv"])
def test_no_hint_proposes_what_burns_firmware_or_forces(entry: str) -> None:
    text = " ".join(complaints(entry, version=MIDDLE, firmware=True))
    assert text and not any("allowed: %s" % option in text for option in (*options.FIRMWARE, "--force"))


HELP = """\033[32m
Usage: ./mlnxofedinstall [-c <packages config_file>|--all|--hpc|--vma|--basic|--bluefield] [OPTIONS]

Installation control:
    --force              Force installation
    -k|--kernel <version>
                         Default on this system: 5.15.0 (relevant if --without-dkms is given)
                         - This flag is ignored if it is not from a deb package (to override see --force-dkms)
    --pre-install-<package> <path to script>
    --kernel-extra-args '<args>'
    --vma|--vma-vpi      Install minimum packages required by VMA
    --copy-ifnames-udev  Copy compatibility udev rules
    --without-<package>  Do not install package
    -v|-vv|-vvv          Set verbosity level
    --xlio
    -c <config>
\033[0m
"""


def test_the_help_of_a_bundle() -> None:
    told = parse_help(HELP)
    assert {name for name, value in told.items() if value} == {"-k", "--kernel", "--kernel-extra-args", "-c"}
    assert told["--kernel"] == "version"
    assert set(told) == {"--force", "-k", "--kernel", "--kernel-extra-args", "--vma", "--vma-vpi", "--copy-ifnames-udev", "-v", "-vv", "-vvv", "--xlio", "-c"}


@given(st.text())
def test_any_help_is_read(text: str) -> None:
    parse_help(text)
    parse_help("    -" + text)


@pytest.mark.parametrize(
    ("entry", "asked"),
    [
        ("--brand-new", True),
        ("--with-brand-new", True),
        ("--copy-ifnames-udev", True),
        ("--without-dmks", False),
        ("--kmp", False),
        ("--force", False),
        ("--hpc", False),
        ("--without-dkms", False),
        ("--without-opensm", False),
    ],
)
def test_what_the_tables_lack_is_asked_of_the_bundle(entry: str, asked: bool) -> None:
    told = options.Installer(MIDDLE, "deb").problems("x", [entry], ask=True)
    assert asked is (entry in options.Installer(MIDDLE, "deb").doubts([entry], "all") and not told)
    assert options.Installer(MIDDLE, "deb").doubts([], "xlio") == options.Installer(MIDDLE, "deb").doubts([], "xlio-user-only") == ["--xlio"]


def test_a_step_of_a_job_asks_the_bundle(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    installer = tmp_path / "mlnxofedinstall"
    installer.write_text("#!/bin/sh\n[ $1 = --help ] && echo '    --brand-new   Do it'\n", encoding="utf-8")
    # A program that cannot be started is reported by the step that installs.
    assert _installer_run.unknown_options(str(installer), "--bogus") == 0
    installer.chmod(0o755)
    assert _installer_run.unknown_options(str(installer), "--brand-new", "--bogus") == 1
    assert capsys.readouterr().out == "--bogus\n"
    assert _installer_run.unknown_options(str(installer), "--brand-new") == 0


@pytest.mark.parametrize(
    ("packages", "argv"),
    [
        ("basic-user-only", ("--basic", "--user-space-only")),
        ("all-user-only", ("--all", "--user-space-only")),
        ("kernel-only-user-only", ("--kernel-only-user-only",)),
    ],
)
def test_a_set_in_user_space_alone(packages: str, argv: tuple[str, ...]) -> None:
    assert options.set_argv(packages) == argv


def test_what_may_not_be_executed_is_not_for_want_of_perl() -> None:
    assert "noexec" in codes.CODES[126].next_step and "perl" not in codes.CODES[126].next_step


@pytest.mark.parametrize("code", [0, 1, 2, 22, 28, 30, 171, 172, 173, 174])
def test_every_documented_code_is_explained_with_a_next_step(code: int) -> None:
    text = codes.explain(code, "Logs dir: /tmp/MLNX_OFED_LINUX.4711.logs\n", log="/var/log/job")
    assert "exit status %d: " % code in text
    assert "/tmp/MLNX_OFED_LINUX.4711.logs" in text
    assert text.endswith("all output is in /var/log/job")
    assert not code or codes.CODES[code].next_step


def test_what_the_output_adds() -> None:
    named = "Error: One or more packages depends on MLNX_OFED.\nThose packages should be removed before uninstalling MLNX_OFED:\n\nlibpcap0.8 tcpdump\n\nTo"
    assert "(libpcap0.8, tcpdump)" in codes.explain(174, named)
    assert "(libpcap0.8, tcpdump)" in codes.explain(174, named.replace("0.8", "0.8:amd64"))
    assert "every failure ends in 1" in codes.explain(1, kernel_support=True)
    assert "received no answer" in codes.explain(1, "Do you want to continue?[y/N]:")
    assert "/scratch/MLNX_OFED_LINUX.*.logs" in codes.explain(22, tmpdir="/scratch/")
    assert "an undocumented code" in codes.explain(99)


def test_what_a_package_said_that_could_not_be_installed() -> None:
    output = "\033[31mFailed to install srptools DEB\033[0m\nCollecting debug info...\n\033[31mSee /tmp/MLNX_OFED_LINUX.7.logs/srptools.debinstall.log\033[0m\n"
    text = codes.explain(1, output)
    assert "the package srptools could not be installed. Next: read /tmp/MLNX_OFED_LINUX.7.logs/srptools.debinstall.log" in text
    log = "/usr/bin/dpkg -i x.deb\n\ndpkg: error processing package srptools\nProcessing triggers for man-db\n\n---------------- START OF DEBUG INFO ---\nuname"
    assert codes.said_in(log, 1) == ["dpkg: error processing package srptools"]
    assert "Next: read the log of that package in its log folder" in codes.explain(1, "Failed to install srptools DEB\n")


def test_the_command_that_failed_is_named() -> None:
    text = codes.explain(1, "\033[31mFailed command: apt-get install -y dkms linux-headers-5.4.0-1\033[0m\n")
    assert "its command failed: apt-get install -y dkms linux-headers-5.4.0-1. Next: " in text


# Messages of releases since 4.9 about a failed build for the running kernel.
WORK = "/tmp/MLNX_OFED_LINUX-4.9-4.1.7.0-5.14.0-rc5"
BUILD = (
    "Note: This program will create MLNX_OFED_LINUX TGZ for ubuntu18.04 under %s directory.\nSee log file %s/mlnx_iso.7_logs/mlnx_ofed_iso.7.log\n\n"
    'Building MLNX_OFED_LINUX DEBS . Please wait...\n\nERROR: Failed executing "MLNX_OFED_SRC-4.9-4.1.7.0/install.pl --kernel 5.14.0-rc5"\n'
    "ERROR: See %s/mlnx_iso.7_logs/mlnx_ofed_iso.7.log\nFailed to build MLNX_OFED_LINUX for 5.14.0-rc5\n"
) % (WORK, WORK, WORK)


def test_the_log_that_a_build_names_is_told() -> None:
    text = codes.explain(1, BUILD, kernel_support=True)
    assert "its command failed: MLNX_OFED_SRC-4.9-4.1.7.0/install.pl --kernel 5.14.0-rc5. Next: install the headers" in text
    assert text.endswith("its log is %s/mlnx_iso.7_logs/mlnx_ofed_iso.7.log" % WORK)
    assert "/tmp/MLNX_OFED_LINUX-*/mlnx_iso.*_logs" in codes.explain(1, kernel_support=True)


def test_the_package_that_a_build_stopped_at_is_named() -> None:
    output = "\033[31mFailed to build mlnx-ofed-kernel DEB\033[0m\nCollecting debug info...\nSee %s/x.debbuild.log\n" % WORK
    for kernel_support in (False, True):
        text = codes.explain(1, BUILD + output, kernel_support=kernel_support)
        assert "the package mlnx-ofed-kernel could not be built. Next: read %s/x.debbuild.log, and compare" % WORK in text
    dkms = "Error! Bad return status for module build on kernel: 6.1\nConsult /var/lib/dkms/mlnx-ofed-kernel/23.10/build/make.log for more information.\n"
    assert codes.log_named(dkms) == "/var/lib/dkms/mlnx-ofed-kernel/23.10/build/make.log"


def test_packages_that_a_build_lacks_are_named() -> None:
    output = "Error: One or more required packages for installing MLNX_OFED_LINUX are missing.\nRun:\ndnf install kernel-devel\n"
    assert "packages of the distribution are missing and could not be installed: kernel-devel" in codes.explain(1, output, kernel_support=True)


@pytest.mark.parametrize("manager", ["yum", "dnf", "zypper"])
def test_packages_of_the_distribution_that_it_lacks_are_named(manager: str) -> None:
    output = "Error: One or more required packages for installing MLNX_OFED_LINUX are missing.\nPlease install them.\nRun:\n%s install tk tcl\n" % manager
    for code in (1, 172):
        assert "packages of the distribution are missing and could not be installed: tcl, tk. Next: enable a repository" in codes.explain(code, output)
        # They were installed in the meantime, and it failed for another reason.
        assert "missing" not in codes.explain(1, output + AGAIN + "\nFailed command: rpm -Uvh x.rpm\n")
    assert packages_missing("Run:\nyum install tk tcl\n") == []
    assert packages_missing(output.replace(" tcl", " tcl --nogpgcheck $(id) a/b")) == ["tcl", "tk"]


@given(st.integers(), st.text())
def test_any_code_has_words(code: int, output: str) -> None:
    assert codes.explain(code, output)
