# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pure parts of the stand-ins for the vendor's downloads."""

from __future__ import annotations

import pathlib

import kmodfile
import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_run import parse_help
from stackbuild import catalog, control, packages, releases
from standin import finish, host, options, selection

RELEASE = releases.OCTOBER_2023
ENTRIES = catalog.entries(RELEASE, dict.fromkeys(catalog.REPACKED, ((), ())))
CATALOGUE = {"groups": catalog.GROUPS, "packages": {name: entry._asdict() for name, entry in ENTRIES.items()}}


def test_versions_follow_the_release() -> None:
    assert (RELEASE.internal, RELEASE.build, RELEASE.kernel) == ("23.10-0.5.5", "2310055", "23.10.OFED.23.10.0.5.5.1-1")
    assert ENTRIES["libibverbs1"].version == "2307mlnx47-1.2310055"
    assert {ENTRIES[name].version for name in ("libopensm", "opensm-doc", "opensm")} == {RELEASE.others["opensm"]}


def test_a_paragraph_of_the_distribution_becomes_the_vendors() -> None:
    text = "Package: libopensm9\nSource: opensm\nVersion: 3.3.23-2\nDepends: libc6 (>= 2.33), libosmcomp5 (>= 3.3.22), libibumad3 (= 44.0-2)\n"
    text += "Breaks: libibumad3 (<< 30)\nDescription: one\n two\n"
    fields = control.revised(control.parse(text), {"libopensm": "5.17", "libibumad3": "2307mlnx47"}, catalog.MERGED)
    assert fields == {
        "Package": "libopensm",
        "Version": "5.17",
        "Depends": "libc6 (>= 2.33), libibumad3 (= 2307mlnx47)",
        "Description": "one\n two",
    }


def test_the_help_tells_what_the_installer_takes_and_not_all_of_it() -> None:
    told = parse_help(options.usage("mlnxofedinstall", "6.1.0", "/tmp"))
    assert {"--kernel", "-k", "--tmpdir", "--basic", "--user-space-only", "-vvv", "--xlio"} <= set(told)
    assert not {"--upstream-libs", "--enable-sriov", "--fw-dir", "--eth-only"} & set(told)
    assert set(told) <= {*options.SWITCHES, *options.WITH_VALUE, *("--" + name for name in options.GROUPS)}


@pytest.mark.parametrize("argv", [["--bogus"], ["bogus"], ["--al"], ["-vvvv"]])
def test_an_unknown_option_is_refused(argv: list[str]) -> None:
    with pytest.raises(options.UnknownOption, match=argv[0]):
        options.parse(argv)


def test_a_misspelt_filter_is_taken() -> None:
    given = options.parse(["--basic", "--without-openmip", "--disable-x", "--with-opensmm", "--tmpdir", "--force", "--add-kernel-support"])
    assert (given.group, given.without, given.extra) == ("basic", {"openmip", "x"}, {"opensmm"})
    assert given.values == {"tmpdir": "--force"}
    assert given.has("--add-kernel-support") and "--add-kernel-support" not in given.saved
    assert selection.wanted(given, CATALOGUE, None)[1] == ["openmip", "opensmm", "x"]


def test_packages_come_behind_what_they_need() -> None:
    chosen = selection.ordered(["knem", "mpitests"], CATALOGUE, False)
    assert chosen == ["knem-dkms", "knem", "ucx", "openmpi", "mpitests"]
    users = selection.wanted(options.parse(["--user-space-only", "--basic"]), CATALOGUE, None)[0]
    assert "mlnx-ofed-kernel-utils" in users
    assert not [name for name in selection.ordered(users, CATALOGUE, True) if name.endswith("-dkms")]


@pytest.mark.parametrize(
    ("system", "version", "name"),
    [("debian", "12.5\n", "debian12.5"), ("debian", "trixie/sid\n", "debian0"), ("ubuntu", "bullseye/sid\n", "ubuntu12")],
)
def test_debian_is_known_by_its_minor_version(tmp_path: pathlib.Path, system: str, version: str, name: str) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text('ID=%s\nVERSION_ID="12"\n' % system, encoding="utf-8")
    (tmp_path / "etc/debian_version").write_text(version, encoding="utf-8")
    assert host.distribution(tmp_path) == name


def test_what_needs_a_package_that_is_left_out_is_left_out_too() -> None:
    everything = selection.wanted(options.parse(["--all"]), CATALOGUE, None)[0]
    without = selection.wanted(options.parse(["--all", "--without-ucx"]), CATALOGUE, None)[0]
    assert {"ucx", "openmpi", "mpitests"} <= set(everything) - set(without)
    assert "mpitests" in selection.wanted(options.parse(["--all", "--without-ucx", "--with-mpitests"]), CATALOGUE, None)[0]


def test_metapackages() -> None:
    metas = {meta.name: meta for meta in catalog.metapackages(RELEASE, ENTRIES)}
    assert {"mlnx-ofed-all", "mlnx-ofed-all-exact", "mlnx-ofed-basic-user-only", "mlnx-ofed-kernel-only", "mlnx-ofed-eth-only-user-only"} <= set(metas)
    assert not {"mlnx-ofed-eth-only", "mlnx-ofed-kernel-only-user-only"} & set(metas)
    assert "ofed-scripts (= 23.10.OFED.23.10.0.5.5)" in metas["mlnx-ofed-all-exact"].depends
    assert [part for part in metas["mlnx-ofed-basic-user-only"].depends if "-dkms" in part] == ["kernel-mft-dkms (>= 4.26.1-3)"]


def test_ofed_info_is_rewritten() -> None:
    text = packages.vendor("ofed_info.sh", INTERNAL="23.10-0.5.5", SOURCES="", NAMES="x")
    changed = finish.rewritten_info(text, "MLNX_OFED_LINUX", "23.10-0.5.5.0").splitlines()
    assert 'if [ "X$1" == "X-s" ]; then echo MLNX_OFED_LINUX-23.10-0.5.5.0:; exit 0; fi' in changed
    assert 'if [ "X$1" == "X-n" ]; then echo 23.10-0.5.5.0; exit 0; fi' in changed
    assert "MLNX_OFED_LINUX-23.10-0.5.5.0 (OFED-23.10-0.5.5):" in changed


def test_settings() -> None:
    assert finish.with_key("A=1\nRUN_MLNX_TUNE=yes\nRUN_MLNX_TUNE=yes\n", "RUN_MLNX_TUNE", "no") == "A=1\nRUN_MLNX_TUNE=no\nRUN_MLNX_TUNE=no\n"
    assert finish.with_key("A=1\n", "RUN_MLNX_TUNE", "no") == "A=1\n"
    assert finish.with_memlock("* soft memlock 1\n") == "* soft memlock 1\n* hard memlock unlimited\n"


def test_a_module_without_a_compiler() -> None:
    inbox = kmodfile.image("mlx5_core", "6.1.0-1-amd64", "inbox")
    image = kmodfile.image("mlx5_core", "6.1.0-1-amd64", "23.10-0.5.5", inbox)
    entries = dict(entry.split("=", 1) for entry in kmodfile.modinfo(image))
    assert (entries["name"], entries["depends"], entries["version"]) == ("mlx5_core", "mlxfw,mlx_compat", "23.10-0.5.5")
    assert entries["vermagic"].startswith("6.1.0-1-amd64 ")
    assert entries["srcversion"] != dict(entry.split("=", 1) for entry in kmodfile.modinfo(inbox))["srcversion"]
