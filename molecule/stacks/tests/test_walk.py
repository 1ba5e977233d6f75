# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the distribution's stack to MLNX_OFED, to its next release, to DOCA and back, while the node keeps running the subnet manager."""

from __future__ import annotations

import shlex
import shutil
import typing as t

import pytest
import records
from stacks import DOCA, HERE, MANIFEST, NEW, OLD, PROJECT, STATE, THERE, Host, Options, archive, checksum, fingerprint, module, release, site

testinfra_hosts = ["ansible://node1"]

GPU_UNIT = "rdma-ofed-gpudirect.service"
PREFERENCES = "/etc/apt/preferences.d/rdma-ofed-installed.pref"
HIGHER = ("Package: libibverbs1", "Version: 9999.0-1", "Architecture: all", "Maintainer: site", "Filename: ./x.deb", "Size: 1", "SHA256: " + 64 * "0")


class Leg(t.NamedTuple):
    """A stack as the inventory declares it."""

    name: str
    variables: Options
    package: str
    """Package that identifies the stack, and a part of its version."""
    version: str
    info: str


def _bundle(version: str, **variables: t.Any) -> Leg:
    wanted = {
        "rdma_allow_upgrade": True,
        "ofed_source": "mlnx_ofed",
        "ofed_version": version,
        "ofed_packages": "basic",
        "ofed_bundle_checksum": checksum(version),
        **variables,
    }
    return Leg("mlnx_ofed %s" % version, wanted, "rdma-core", "mlnx", version)


LEGS = (
    _bundle(OLD, ofed_bundle=str(HERE / archive(OLD)), ofed_bundle_on="controller"),
    _bundle(NEW, ofed_bundle="%s/%s" % (THERE, archive(NEW))),
    Leg(
        "doca",
        {
            "rdma_allow_upgrade": True,
            "ofed_source": "doca",
            "ofed_version": DOCA,
            "ofed_repository": "%s/%s" % (THERE, MANIFEST["doca"][DOCA]["repository"]),
            "ofed_repository_key": THERE + "/key.asc",
        },
        "doca-ofed",
        DOCA,
        "OFED-internal-",
    ),
    Leg("inbox", {"rdma_allow_upgrade": True, "ofed_source": "inbox"}, "rdma-core", "44.", ""),
)


class Walked(t.NamedTuple):
    """Results of the three runs of a leg."""

    leg: Leg
    predicted: list[records.Event]
    done: list[records.Event]
    again: list[records.Event]


@pytest.mark.proves("mlnx_ofed", "doca", debian12="look-alike")
def test_a_stack_that_is_in_use_stays_until_it_may_be_replaced(host: Host) -> None:
    """The node runs the subnet manager. The run converges the rest of the site with the present stack."""
    folder = PROJECT / "build/molecule/stacks-walk/withheld"
    shutil.rmtree(folder, ignore_errors=True)
    before = fingerprint(host)
    for arguments in (("--check",), ()):
        said = site(host, folder, {**LEGS[0].variables, "rdma_allow_upgrade": False}, *arguments)
        assert "-> mlnx_ofed %s (needs upgrade; in use by " % OLD in said
        assert "rdma.ofed.upgrade" in said
    assert fingerprint(host) == before
    assert records.changes(records.find(folder, "site", "run")[0]) == {}


@pytest.fixture(scope="module", params=LEGS, ids=lambda leg: leg.name)
def walked(host: Host, request: pytest.FixtureRequest) -> Walked:
    leg: Leg = request.param
    folder = PROJECT / "build/molecule/stacks-walk" / leg.name
    shutil.rmtree(folder, ignore_errors=True)
    site(host, folder, leg.variables, "--check")
    site(host, folder, leg.variables)
    site(host, folder, leg.variables)
    first, second = records.find(folder, "site", "run")
    return Walked(leg, records.find(folder, "site", "check")[0], first, second)


@pytest.mark.proves("mlnx_ofed", "doca", "check_mode", debian12="look-alike")
def test_check_mode_predicts_the_run(walked: Walked) -> None:
    assert records.differences(walked.predicted, walked.done) == []
    assert records.changes(walked.done)


@pytest.mark.proves("mlnx_ofed", "doca", "unchanged", debian12="look-alike")
def test_the_second_run_changes_nothing(walked: Walked) -> None:
    assert records.changes(walked.again) == {}


def test_an_unchanged_run_costs_one_execution_for_the_stack_of_a_vendor(walked: Walked) -> None:
    executed = [name.rpartition(".")[2] for name in records.executions(walked.again)["node1"]]
    stack = [] if walked.leg.name == "inbox" else ["driver_stack"]
    # The last execution is the inspection of the check.
    assert executed == ["rdma_facts", *stack, "opensm", "gpudirect", "rdma_facts"]


@pytest.mark.proves("mlnx_ofed", "doca", debian12="look-alike")
def test_the_declared_stack_is_there_and_whole(host: Host, walked: Walked) -> None:
    assert walked.leg.version in host.package(walked.leg.package).version
    assert release(host).startswith(walked.leg.info)
    assert bool(release(host)) == bool(walked.leg.info)
    assert host.check_output("dpkg --audit") == ""
    # Installed stacks keep a record of their options; nothing of the installation files is left.
    left = host.check_output("find %s -mindepth 1 -maxdepth 1 -printf '%%f '" % STATE).split()
    assert sorted(left) == (["jobs"] if walked.leg.name == "inbox" else ["jobs", "stack.json"])


@pytest.mark.proves("mlnx_ofed", "doca", debian12="look-alike")
def test_an_update_of_the_system_replaces_nothing_of_the_stack(host: Host, walked: Walked) -> None:
    """Another repository has a higher version of a package that the distribution also has."""
    if walked.leg.name == "inbox":
        assert not host.file(PREFERENCES).exists
        return
    host.check_output("mkdir -p /srv/higher && printf '%%s\\n' %s >/srv/higher/Packages" % " ".join(map(shlex.quote, HIGHER)))
    host.check_output("echo 'deb [trusted=yes] file:/srv/higher ./' >/etc/apt/sources.list.d/higher.list && apt-get update -q")
    try:
        candidate = "apt-cache %s policy libibverbs1 | grep 'Candidate: 9999'"
        assert host.run(candidate % "").rc == 1
        # Only apt's preferences ensure this.
        assert host.run(candidate % "-o Dir::Etc::PreferencesParts=/nowhere").rc == 0
    finally:
        host.check_output("rm -r /srv/higher /etc/apt/sources.list.d/higher.list && apt-get update -q")


@pytest.mark.proves("gpudirect", debian12="look-alike")
def test_the_way_to_gpu_memory_follows_the_stack(host: Host, walked: Walked) -> None:
    """The driver that opensm and node_check use stays loaded, so nvidia_peermem waits for the vendor's driver at the next boot."""
    by_vendor = walked.leg.name != "inbox"
    assert host.file("/etc/systemd/system/" + GPU_UNIT).exists == by_vendor
    assert (host.run("systemctl is-enabled --quiet " + GPU_UNIT).rc == 0) == by_vendor
    found = module(host, "gpudirect", allow_container=True)
    assert found["method"] == ("nvidia_peermem" if by_vendor else "dmabuf")
    assert bool(found["pending"]) == by_vendor, found


@pytest.mark.proves("mlnx_ofed", "doca", debian12="look-alike")
def test_nothing_of_the_vendor_is_left_on_the_way_back(host: Host, walked: Walked) -> None:
    if walked.leg.name == "inbox":
        found = host.run("dpkg-query --show | grep -iE 'mlnx|ofed|doca'; ls /etc/apt/*/*rdma-ofed* /usr/bin/ofed_info /usr/sbin/ofed_uninstall.sh")
        assert found.stdout == ""
        # The role's package is installed in its own right, not as a dependency of a removed one.
        assert host.package("opensm").is_installed


@pytest.mark.proves("mlnx_ofed", "doca", debian12="look-alike")
def test_user_space_works_on_the_fabric(host: Host, walked: Walked) -> None:
    assert "State: Active" in host.check_output("ibstat $(ls /sys/class/infiniband | head -n 1) 1")
    assert {"node1", "node2"} <= set(host.check_output("ibnetdiscover -H").replace('"', " ").split())
    assert "PortXmitData" in host.check_output("perfquery")
    # The lab emulates no verbs, but the libraries are found and load their providers.
    assert "device" in host.check_output("ibv_devices")
    providers = host.check_output("ls /usr/lib/x86_64-linux-gnu/libibverbs/*.so").split()
    assert any("libmlx5" in path for path in providers), providers
    # Some selections of a vendor lack the benchmarks.
    programs = host.run("ls /usr/sbin/opensm /usr/bin/ib_write_bw").stdout.split()
    assert "/usr/sbin/opensm" in programs
    assert "not found" not in host.check_output("ldd %s" % " ".join([*providers, *programs]))


@pytest.mark.proves("opensm", debian12="real")
def test_the_subnet_manager_is_still_the_one_of_the_role(host: Host, walked: Walked) -> None:
    master = host.check_output("sminfo")
    assert "SMINFO_MASTER" in master
    assert "0x2c90300001001" in master
    assert host.service("rdma-opensm@ib").is_running
    assert host.service("rdma-opensm@ib").is_enabled
    assert len(host.process.filter(comm="opensm")) == 1
    # The units of both stacks are masked and cannot start a second subnet manager.
    for name in ("opensm", "opensmd"):
        assert host.check_output("systemctl show -p LoadState --value %s.service" % name).strip() == "masked"
