# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of bundles and their content."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import OperatingSystem
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _bundle as bundle
from hypothesis import given
from hypothesis import strategies as st

TGZ = "MLNX_OFED_LINUX-23.07-0.5.1.2-ubuntu20.04-x86_64.tgz"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        (TGZ, ("tar", "23.07-0.5.1.2", "ubuntu20.04", "x86_64")),
        ("https://mirror.example.org/a/%s?token=1#x" % TGZ, ("tar", "23.07-0.5.1.2", "ubuntu20.04", "x86_64")),
        ("/srv/MLNX_OFED_LINUX-5.8-1.0.1.1-debian11.3-aarch64.iso", ("iso", "5.8-1.0.1.1", "debian11.3", "aarch64")),
        ("/srv/MLNX_OFED_LINUX-5.8-1.0.1.1-sles15sp4-x86_64/", ("directory", "5.8-1.0.1.1", "sles15sp4", "x86_64")),
        ("/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-rhel9.3-x86_64-ext.tar.gz", ("tar", "23.10-0.5.5.0", "rhel9.3", "x86_64")),
        ("/srv/ofed.tgz", ("tar", "", "", "")),
        ("/srv/ofed", ("directory", "", "", "")),
    ],
)
def test_names(location: str, expected: tuple[str, str, str, str]) -> None:
    assert tuple(bundle.parse_name(location)) == expected


@given(st.text())
def test_any_name_is_some_form(text: str) -> None:
    assert bundle.parse_name(text).form in ("tar", "iso", "directory")
    assert "/" not in bundle.key_of(text, "sha256:" + "0" * 64)


@pytest.mark.parametrize(
    ("wanted", "found", "same"),
    [
        ("23.10-0.5.5.0", "23.10-0.5.5.0", True),
        ("23.10-0.5.5.0", "23.10-0.5.5", True),
        ("23.10-0.5.5.0", "23.10-0.5", True),
        ("23.10-0.5.50.0", "23.10-0.5.5", False),
        ("23.10-0.5.5.0", "23.07-0.5.5.0", False),
        ("23.10-0.5.5.0", "", False),
    ],
)
def test_both_spellings_of_a_release(wanted: str, found: str, same: bool) -> None:
    assert bundle.same_version(wanted, found) is same


@pytest.mark.parametrize(
    ("name", "system", "options", "words"),
    [
        ("debian12.1", ("debian", "12"), (), ""),
        ("debian11.3", ("debian", "12"), (), "made for debian11.3, and the node is debian12"),
        ("debian11.3", ("debian", "12"), ("--skip-distro-check",), ""),
        ("debian11.3", ("debian", "12"), ("--distro debian11.3",), ""),
        ("ubuntu22.04", ("ubuntu", "20.04"), (), "made for ubuntu22.04"),
        ("rhel9.3", ("rocky", "9.3"), (), "does not recognize rocky as rhel9.3"),
        ("rhel9.3", ("rocky", "9.3"), ("--skip-distro-check",), ""),
        ("rhel9.3", ("rhel", "9.3"), (), ""),
        ("sles15sp5", ("sles", "15.5"), (), ""),
        ("", ("debian", "12"), (), ""),
        ("debian12.1", ("arch", ""), (), ""),
    ],
)
def test_is_a_bundle_for_this_node(name: str, system: tuple[str, str], options: tuple[str, ...], words: str) -> None:
    found = bundle.misfit(bundle.Bundle("tar", "23.10-0.5.5.0", name, "x86_64"), OperatingSystem("", *system), "x86_64", options=options)
    assert (words in found) if words else found == ""


@pytest.mark.parametrize(
    ("name", "system", "options", "told"),
    [
        ("debian12.1", ("debian", "12"), (), "debian12.1"),
        ("debian12.1", ("debian", "12"), ("--skip-distro-check",), ""),
        ("debian12.1", ("debian", "12"), ("--distro debian12.5",), ""),
        ("debian11.3", ("debian", "12"), (), ""),
        ("ubuntu20.04", ("ubuntu", "20.04"), (), ""),
    ],
)
def test_the_installer_is_told_the_minor_version_of_debian(name: str, system: tuple[str, str], options: tuple[str, ...], told: str) -> None:
    path = "/srv/MLNX_OFED_LINUX-23.10-0.5.5.0-%s-x86_64.tgz" % name
    assert bundle.distro_to_tell(path, OperatingSystem("", *system), options) == told


def test_the_minor_version_of_debian_is_in_the_bundle_too(tmp_path: pathlib.Path) -> None:
    assert bundle.distro_to_tell(str(tmp_path), OperatingSystem("", "debian", "12")) == ""
    (tmp_path / "distro").write_text("debian12.5\n", encoding="utf-8")
    assert bundle.distro_to_tell(str(tmp_path), OperatingSystem("", "debian", "12")) == "debian12.5"


def test_another_architecture_can_not_be_skipped() -> None:
    found = bundle.misfit(bundle.parse_name(TGZ), OperatingSystem("", "ubuntu", "20.04"), "aarch64", options=("--skip-distro-check",))
    assert found == "it is made for x86_64, and the node is aarch64"


def test_disk_images_are_mounted_where_that_works() -> None:
    assert bundle.unpack_argv("iso", "/b.iso", into="/t", loop=True, tools=["7z"])[:5] == ("mount", "-t", "iso9660", "-o", "loop,ro,nodev,nosuid")
    assert bundle.unpack_argv("iso", "/b.iso", into="/t", loop=False, tools=["tar", "7z", "bsdtar"]) == ("bsdtar", "-x", "-f", "/b.iso", "-C", "/t")
    assert bundle.unpack_argv("iso", "/b.iso", into="/t", loop=False, tools=["tar", "7z"]) == ("7z", "x", "-y", "-o/t", "/b.iso")
    assert bundle.unpack_argv("iso", "/b.iso", into="/t", loop=False, tools=["tar"]) == ()
    assert "--strip-components=1" in bundle.unpack_argv("tar", "/b.tgz", into="/t", loop=False, tools=[])


def test_layout(tmp_path: pathlib.Path) -> None:
    assert bundle.read_layout(str(tmp_path)) == bundle.Layout("", "", False)
    for name, text in ((".mlnx", "5.0-2.1.8.0\n"), (".arch", "x86_64\n"), ("mlnxofedinstall", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert bundle.read_layout(str(tmp_path)) == bundle.Layout("5.0-2.1.8.0", "x86_64", True)


def test_an_option_without_a_name_names_no_distribution() -> None:
    assert bundle.distro_to_tell("x", OperatingSystem(), ["=x", "=", " ", ""]) == ""
