# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What can be known to go wrong is said before anything is unpacked or changed."""

from __future__ import annotations

import typing as t

import pytest
from stacks import HERE, OLD, THERE, Host, Options, archive, doca, fingerprint, mlnx_ofed, stack

testinfra_hosts = ["ansible://node2"]
pytestmark = pytest.mark.xdist_group("node2")

OTHER = "sha256:" + 64 * "0"
URL = "http://127.0.0.1:8000/"


def _named(distribution: str, arch: str) -> Options:
    return mlnx_ofed(OLD, bundle="%s/MLNX_OFED_LINUX-%s-%s-%s.tgz" % (THERE, OLD, distribution, arch))


REFUSED: dict[str, tuple[Options, tuple[str, ...]]] = {
    "checksum of a file on the node": (
        mlnx_ofed(OLD, bundle="%s/%s" % (THERE, archive(OLD)), bundle_checksum=OTHER),
        (archive(OLD), OTHER, "Nothing was unpacked"),
    ),
    "checksum of a file on the controller": (
        mlnx_ofed(OLD, bundle=str(HERE / archive(OLD)), bundle_on="controller", bundle_checksum=OTHER),
        (archive(OLD), OTHER, "Nothing was transferred"),
    ),
    "checksum of a download": (
        mlnx_ofed(OLD, bundle=URL + archive(OLD), bundle_checksum=OTHER),
        (archive(OLD), OTHER, "Nothing was unpacked"),
    ),
    "download without a checksum": (mlnx_ofed(OLD, bundle=URL + archive(OLD)), ("ofed_bundle_checksum",)),
    "misspelt option": (mlnx_ofed(OLD, installer_options=["--without-dkm"]), ("--without-dkm'", "--without-dkms")),
    "misspelt package in an option": (mlnx_ofed(OLD, installer_options=["--without-opensn"]), ("--without-opensn'", "--without-opensm")),
    "unknown option": (mlnx_ofed(OLD, installer_options=["--bogus"]), ("--bogus", "22")),
    "bundle for another distribution": (_named("ubuntu22.04", "x86_64"), ("ubuntu22.04", "debian")),
    "bundle for another architecture": (_named("debian12", "aarch64"), ("aarch64", "x86_64")),
    "bundle of another release": (mlnx_ofed("24.04-0.6.6.0", bundle="%s/%s" % (THERE, archive(OLD))), ("24.04-0.6.6.0", OLD)),
    "repository without a key": (doca(repository_key=""), ("ofed_repository_key", "ofed_repository_trusted")),
    "key that is none": (doca(repository_key=THERE + "/manifest.json"), ("ofed_repository_key", "manifest.json")),
    "version that the repository lacks": (doca(version="2.9.7"), ("2.9.7", "2.9.1")),
    "profile that the repository lacks": (doca(packages="doca-all"), ("doca-all",)),
}


@pytest.fixture(scope="module")
def served(host: Host) -> t.Iterator[None]:
    """The downloads of the node, at a URL."""
    host.check_output("systemd-run --quiet --unit=served --collect python3 -m http.server --bind 127.0.0.1 --directory %s 8000" % THERE)
    host.check_output("for i in $(seq 50); do ss --listening --tcp --numeric | grep -q 127.0.0.1:8000 && exit; sleep 0.1; done; exit 1")
    yield
    host.check_output("systemctl stop served")


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_nothing_changed(host: Host, case: str) -> None:
    options, words = REFUSED[case]
    before = fingerprint(host)
    found = stack(host, **options)
    assert found["failed"], found
    assert [word for word in words if word not in found["msg"]] == [], found["msg"]
    assert fingerprint(host) == before
