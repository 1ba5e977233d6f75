# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The stand-ins for the vendor's downloads behave as described: the whole life of a bundle on a node."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
from cluster import Cluster
from common import ROOT

pytestmark = pytest.mark.long

PREFIX = "rdma-standins"
NODE = "node1"
VERSION = "23.10-0.5.5.0"
FOREIGN = "printf 'Package: site-mpi\\nVersion: 1\\nArchitecture: all\\nMaintainer: site <site@example.invalid>\\nDepends: libibverbs1\\nDescription: MPI\\n'"


class Bundle(t.NamedTuple):
    cluster: Cluster
    folder: str

    def shell(self, script: str) -> subprocess.CompletedProcess[str]:
        return self.cluster.shell(NODE, script)

    def install(self, arguments: str, faults: str = "") -> subprocess.CompletedProcess[str]:
        # It would detect a minor Debian version for which the bundle is not built.
        return self.shell("OFED_STANDIN=%s %s/mlnxofedinstall --distro debian12 %s </dev/null 2>&1" % (faults, self.folder, arguments))


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Bundle]:
    """Yield a node with an unpacked bundle, and with the light packages that replace dkms and kernel headers."""
    made = tmp_path_factory.mktemp("stacks")
    subprocess.run([sys.executable, str(ROOT / "tests/lab/stacks/build.py"), "--into", str(made)], check=True, timeout=600)
    manifest = json.loads((made / "manifest.json").read_text(encoding="utf-8"))["bundles"][VERSION]
    cluster = Cluster(PREFIX)
    try:
        cluster.command("up", "--topology", "2-nodes")
        _copy(made, (manifest["archive"], "distribution"), "%s-%s" % (PREFIX, NODE))
        source = "echo 'deb [trusted=yes] file:/srv/distribution ./' >/etc/apt/sources.list.d/standin.list"
        prepared = cluster.shell(NODE, "cd /srv && tar xzf %s && %s && apt-get update -q" % (manifest["archive"], source))
        assert prepared.returncode == 0, prepared.stdout + prepared.stderr
        yield Bundle(cluster, "/srv/" + manifest["folder"])
    finally:
        cluster.command("down")


def _copy(folder: pathlib.Path, names: t.Sequence[str], container: str) -> None:
    for name in names:
        subprocess.run(["docker", "cp", str(folder / name), "%s:/srv/%s" % (container, name)], check=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--bogus", 22),
        ("--distro debian11", 172),
        ("--basic --check-deps-only", 172),
        # Standard input is empty.
        ("--basic", 1),
    ],
)
def test_refused_before_anything_changes(bundle: Bundle, arguments: str, status: int) -> None:
    done = bundle.install(arguments)
    assert done.returncode == status, done.stdout
    assert bundle.shell("command -v ofed_info").returncode


def test_another_minor_version_of_debian_is_another_distribution(bundle: Bundle) -> None:
    done = bundle.shell("%s/mlnxofedinstall --basic -q 2>&1" % bundle.folder)
    assert (done.returncode, "is intended for debian12" in done.stdout) == (172, True)


def test_faults_end_with_the_documented_codes(bundle: Bundle) -> None:
    assert bundle.install("--basic --force", "space").returncode == 28
    assert [bundle.install("--fw-update-only", "firmware=%d" % status).returncode for status in (2, 171, 173)] == [2, 171, 173]
    assert len(bundle.shell("cat /var/log/ofed-standin-firmware && rm /var/log/ofed-standin-firmware").stdout.splitlines()) == 3


def test_a_killed_installation_is_taken_up_by_the_next(bundle: Bundle) -> None:
    command = "%s/mlnxofedinstall --distro debian12 --basic -q --force --without-fw-update >/dev/null 2>&1" % bundle.folder
    bundle.shell("OFED_STANDIN=hang=mlnx-tools setsid %s & echo $! >/run/installer" % command)
    waited = bundle.shell("for i in $(seq 250); do dpkg -l mlnx-tools 2>/dev/null | grep -q ^iF && exit; sleep 1; done; exit 1")
    assert waited.returncode == 0, bundle.shell("dpkg -l | tail").stdout
    bundle.shell("/bin/kill -9 -- -$(cat /run/installer)")
    assert "iF" in bundle.shell("dpkg -l mlnx-tools").stdout
    done = bundle.install("--basic -q --force --without-fw-update --without-misspelt")
    assert done.returncode == 0, done.stdout
    assert bundle.shell("ofed_info -s").stdout == "MLNX_OFED_LINUX-%s:\n" % VERSION
    assert bundle.shell("dpkg --audit").stdout == ""
    assert bundle.shell("test -e /var/log/ofed-standin-firmware").returncode


def test_the_stack_works_on_the_simulated_fabric(bundle: Bundle) -> None:
    restarted = bundle.shell("/etc/init.d/openibd restart && systemctl is-enabled opensmd")
    assert restarted.stdout.splitlines()[-1] == "disabled"
    assert (
        bundle.shell("cat /sys/module/mlx5_core/version /sys/module/mlx5_core/srcversion").stdout
        == bundle.shell("modinfo -F version mlx5_core; modinfo -F srcversion mlx5_core").stdout
    )
    assert "installed" in bundle.shell("dkms status").stdout
    bundle.shell("systemctl start opensmd")
    active = bundle.shell("for i in $(seq 250); do ibstat | grep -q 'State: Active' && sminfo && exit; sleep 1; done; ibstat; exit 1")
    assert "SMINFO_MASTER" in active.stdout, active.stdout
    refused = bundle.shell("/etc/init.d/openibd stop")
    assert refused.returncode == 1
    assert 'Please stop "opensm"' in refused.stdout
    bundle.shell("systemctl stop opensmd")


def test_foreign_dependants_stop_it_and_are_not_spared_by_force(bundle: Bundle) -> None:
    bundle.shell("mkdir -p /tmp/site/DEBIAN && %s >/tmp/site/DEBIAN/control && dpkg-deb -b /tmp/site /tmp/site.deb && dpkg -i /tmp/site.deb" % FOREIGN)
    refused = bundle.install("--basic -q --without-fw-update", "strict-uninstall")
    assert refused.returncode == 174
    assert "site-mpi" in refused.stdout
    assert "site-mpi" in bundle.shell("ofed_uninstall.sh --dry-run").stdout


def test_uninstalled_nothing_is_left(bundle: Bundle) -> None:
    assert bundle.shell("ofed_uninstall.sh </dev/null").returncode == 1
    done = bundle.shell("ofed_uninstall.sh --force")
    assert done.returncode == 0, done.stdout
    left = bundle.shell("dpkg -l | grep -E 'mlnx|MLNX|site-mpi'; ls /var/lib/dkms/mlnx-ofed-kernel; modinfo -F filename mlx5_core")
    assert "/kernel/drivers/" in left.stdout
    assert len(left.stdout.splitlines()) == 1, left.stdout
