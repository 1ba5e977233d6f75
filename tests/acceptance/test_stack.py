# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One node to a vendor's stack and back, with a stand-in for the bundle, after an interrupted installation. molecule/stacks covers all other cases."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import subprocess
import sys
import typing as t

import pytest
import records
from cluster import Cluster, Run
from common import ROOT
from proofs import LOOK_ALIKE

NODE = "node2"
# Return to the packages of the distribution.
INBOX = {"rdma_allow_upgrade": True}
VERSION, OTHER = "23.10-0.5.5.0", "24.10-0.7.0.0"


@pytest.fixture
def bundle(lab: Cluster, tmp_path: pathlib.Path) -> collections.abc.Iterator[dict[str, t.Any]]:
    """Yield the variables that declare the stack. The node has the bundle, and a dkms that needs no compiler."""
    subprocess.run([sys.executable, str(ROOT / "tests/lab/stacks/build.py"), "--into", str(tmp_path)], check=True, timeout=1800)
    bundles = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["bundles"]
    made = bundles[VERSION]
    assert lab.shell(NODE, "mkdir /srv/stacks").returncode == 0
    for name in (made["folder"], bundles[OTHER]["archive"], "distribution"):
        subprocess.run(["docker", "cp", str(tmp_path / name), "%s-%s:/srv/stacks/" % (lab.lab[-1], NODE)], check=True, timeout=300)
    source = "echo 'deb [trusted=yes] file:/srv/stacks/distribution ./' >/etc/apt/sources.list.d/standin.list && apt-get update -q"
    assert lab.shell(NODE, source).returncode == 0
    yield {"ofed_source": "mlnx_ofed", "ofed_version": VERSION, "ofed_packages": "basic", "ofed_bundle": "/srv/stacks/" + made["folder"]}
    lab.shell(NODE, "rm -f /etc/ofed-standin; dpkg --configure -a >/dev/null 2>&1")
    site(lab, INBOX)
    lab.shell(NODE, "rm -rf /srv/stacks /etc/apt/sources.list.d/standin.list; apt-get update -q")


def site(lab: Cluster, variables: t.Mapping[str, t.Any], *arguments: str, fails: bool = False) -> Run:
    run = lab.play("site", "--limit", NODE, "-e", json.dumps(variables), *arguments)
    assert (run.status != 0) is fails, run.output
    return run


def release(lab: Cluster) -> str:
    return lab.shell(NODE, "ofed_info -s").stdout.strip()


@pytest.mark.quick
@pytest.mark.proves("mlnx_ofed", debian12=LOOK_ALIKE)
def test_a_vendors_stack_that_broke_off_is_finished_by_the_next_run_and_goes_again(lab: Cluster, bundle: dict[str, t.Any]) -> None:
    lab.shell(NODE, "echo fail=mlnx-tools >/etc/ofed-standin")
    broken = site(lab, bundle, fails=True)
    assert "the package mlnx-tools could not be installed" in " ".join(str(event["msg"]) for event in records.failures(broken.events))
    assert "mlnx-tools" in lab.shell(NODE, "dpkg --audit").stdout
    lab.shell(NODE, "rm /etc/ofed-standin")
    assert records.changes(site(lab, bundle).events)
    assert release(lab) == "MLNX_OFED_LINUX-%s:" % VERSION
    assert lab.shell(NODE, "dpkg --audit").stdout == ""
    assert records.changes(site(lab, bundle).events) == {}
    assert records.changes(site(lab, {}).events) == {}
    predicted = site(lab, INBOX, "--check")
    gone = site(lab, INBOX)
    assert records.changes(gone.events)
    assert records.differences(predicted.events, gone.events) == []
    assert release(lab) == ""
    assert lab.shell(NODE, "dpkg-query --show | grep -iE 'mlnx|ofed'").stdout == ""


def packages(lab: Cluster) -> str:
    """Return the packages with their versions, and the time at which the driver was loaded."""
    return lab.shell(NODE, "dpkg-query --show; stat -c %Y /sys/module/mlx5_core; ofed_info -s").stdout


@pytest.mark.proves("mlnx_ofed", debian12=LOOK_ALIKE)
def test_a_stack_that_was_installed_by_hand_is_adopted_and_not_replaced_unasked(lab: Cluster, bundle: dict[str, t.Any]) -> None:
    installer = "%s/mlnxofedinstall --distro debian12 --basic -q --force --without-fw-update </dev/null 2>&1" % bundle["ofed_bundle"]
    done = lab.shell(NODE, installer)
    assert done.returncode == 0, done.stdout
    by_hand = packages(lab)
    assert "MLNX_OFED_LINUX-%s:" % VERSION in by_hand
    archive = "MLNX_OFED_LINUX-%s-debian12-x86_64.tgz" % OTHER
    for declared in ({}, {**bundle, "ofed_version": OTHER, "ofed_bundle": "/srv/stacks/" + archive}):
        for check in (["--check"], []):
            run = site(lab, declared, *check)
            assert "rdma.ofed.upgrade" in run.output, run.output
            assert packages(lab) == by_hand
    for check in (["--check"], []):
        run = site(lab, bundle, *check)
        assert "rdma.ofed.upgrade" not in run.output, run.output
        assert packages(lab) == by_hand
    assert records.changes(site(lab, bundle).events) == {}
    # The bundle may be lost. It is needed only for what is to be installed.
    del bundle["ofed_bundle"]
    assert records.changes(site(lab, bundle).events) == {}
    refused = site(lab, {**bundle, "ofed_version": OTHER}, fails=True)
    assert "ofed_bundle is not set" in refused.output and "the node has mlnx_ofed %s" % VERSION in refused.output, refused.output
    assert packages(lab) == by_hand
