# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One cluster of look-alikes of RHEL 8, 9, 10, SLES 15 and Ubuntu, and of Debian 11, 12 and 13: the whole site, and its removal."""

from __future__ import annotations

import collections.abc
import typing as t

import pytest
import records
from cluster import Run
from look_alikes import Nodes, hosts, look_alikes
from proofs import LOOK_ALIKE, REAL

pytestmark = pytest.mark.long

PREFIX = "rdma-distributions"
SYSTEMS = {"el8": "redhat", "el9": "redhat", "el10": "redhat", "sles": "suse", "ubuntu": ""}
RELEASES = {
    "el8": "Rocky Linux 8.10",
    "el9": "AlmaLinux 9.4",
    "el10": "Red Hat Enterprise Linux 10.0",
    "ubuntu": "Ubuntu 24.04",
    "sles": "SUSE Linux Enterprise Server 15.5",
    "bullseye": "Debian GNU/Linux 11 (bullseye)",
    "bookworm": "Debian GNU/Linux 12 (bookworm)",
    "trixie": "Debian GNU/Linux 13 (trixie)",
}
THERE = {
    "el8": LOOK_ALIKE,
    "el9": LOOK_ALIKE,
    "el10": LOOK_ALIKE,
    "sles15": LOOK_ALIKE,
    "ubuntu24": LOOK_ALIKE,
    "debian11": REAL,
    "debian12": REAL,
    "debian13": REAL,
}
# The simulator has ten slots, and each subnet manager keeps one. Debian 12 and 13 run a subnet manager in other labs.
MANAGERS = ("el9", "el8", "el10", "sles", "bullseye")
REMOVAL = ("-e", "rdma_remove=true", "-e", "rdma_allow_removal=true")


class Mixed(t.NamedTuple):
    nodes: Nodes
    before: t.Mapping[str, frozenset[str]]
    """The packages of each node before the run."""
    started: tuple[Run, ...]
    """The site on bare nodes, which is refused for all with rdma_strict, then the bootstrap twice."""


@pytest.fixture(scope="module")
def mixed() -> collections.abc.Iterator[Mixed]:
    with look_alikes(PREFIX, "distributions", SYSTEMS, real=("bullseye", "bookworm", "trixie"), managers=MANAGERS) as nodes:
        before = nodes.packages()
        # Without rdma_strict, the others would be provisioned now, and check mode could no longer predict that.
        refused = nodes.cluster.play("site", "-e", "rdma_strict=true", inventory=nodes.inventory)
        yield Mixed(nodes, before, (refused, nodes.play("bootstrap"), nodes.play("bootstrap")))


@pytest.fixture(scope="module")
def converged(mixed: Mixed) -> tuple[Run, Run]:
    """Provision the site: check mode, then the run."""
    return mixed.nodes.play("site", "--check"), mixed.nodes.play("site")


@pytest.mark.proves("bootstrap", el8=LOOK_ALIKE, sles15=LOOK_ALIKE)
def test_the_systems_are_known_and_two_need_a_python(mixed: Mixed) -> None:
    assert mixed.nodes.said(". /etc/os-release; echo $PRETTY_NAME") == RELEASES
    refused, first, second = mixed.started
    assert refused.status != 0 and records.changes(refused.events) == {}
    assert "rdma.ofed.bootstrap" in refused.output and "Traceback" not in refused.output
    assert hosts(first) == {"el8", "sles"}
    assert records.changes(second.events) == {}


@pytest.mark.proves("packages", "modules", **THERE)
@pytest.mark.proves("networkd", debian12=REAL, debian13=REAL)
@pytest.mark.proves("ifupdown", debian11=REAL)
@pytest.mark.proves("netplan", ubuntu24=LOOK_ALIKE)
def test_the_site_converges_as_predicted_and_a_second_run_changes_nothing(mixed: Mixed, converged: tuple[Run, Run]) -> None:
    predicted, done = converged
    assert records.differences(predicted.events, done.events) == []
    assert hosts(done) == set(RELEASES)
    assert records.changes(mixed.nodes.play("site").events) == records.changes(mixed.nodes.play("site", "--check").events) == {}
    mixed.nodes.play("verify")
    assert mixed.nodes.cluster.shell("ubuntu", "cat /etc/netplan/*rdma*").stdout
    active = mixed.nodes.said("systemctl is-active rdma-opensm@ib || true")
    assert {name for name, state in active.items() if state == "active"} == set(MANAGERS)
    assert all("SMINFO_MASTER" in said for said in mixed.nodes.said("sminfo").values())


@pytest.mark.proves("opensm", el8=LOOK_ALIKE, el9=LOOK_ALIKE, el10=LOOK_ALIKE, sles15=LOOK_ALIKE, debian11=REAL)
@pytest.mark.usefixtures("converged")
def test_each_system_is_master_once(mixed: Mixed) -> None:
    """Stop the master, so that the next one takes over: the opensm of each system works as master."""
    for name, after in zip(MANAGERS, MANAGERS[1:]):
        mixed.nodes.cluster.shell(name, "systemctl stop rdma-opensm@ib")
        guid = mixed.nodes.cluster.shell(after, "cat /sys/class/infiniband/*/ports/1/gids/0 | tail -c 20 | tr -d ':'").stdout.strip()
        script = "for i in $(seq 280); do sminfo 2>/dev/null | grep -q 'guid 0x%s.*SMINFO_MASTER' && exit 0; sleep 1; done; sminfo; exit 1" % guid.lstrip("0")
        found = mixed.nodes.cluster.shell("ubuntu", script)
        assert found.returncode == 0, (after, guid, found.stdout)
    mixed.nodes.play("site")
    mixed.nodes.play("verify")


@pytest.mark.usefixtures("converged")
@pytest.mark.proves("input", debian13=REAL)
def test_a_system_that_is_not_known_is_left_out_and_the_others_go_on(mixed: Mixed) -> None:
    """Only os-release of the node changes."""
    mixed.nodes.cluster.shell("ubuntu", "cp /etc/os-release /srv/; printf 'ID=plan9\\nPRETTY_NAME=Plan\\n' >/etc/os-release")
    for name in ("ubuntu", "trixie"):
        mixed.nodes.cluster.shell(name, "apt-get purge -qq -y perftest")
    run = mixed.nodes.cluster.play("site", inventory=mixed.nodes.inventory)
    mixed.nodes.cluster.shell("ubuntu", "cp /srv/os-release /etc/os-release")
    assert run.status != 0
    failed = [(failure["host"], str(failure["msg"])) for failure in records.failures(run.events)]
    assert [host for host, _message in failed] == ["ubuntu"], failed
    assert "left out, and nothing was changed on it" in failed[0][1]
    assert hosts(run) == {"trixie"}
    assert hosts(mixed.nodes.play("site")) == {"ubuntu"}
    mixed.nodes.play("verify")


@pytest.mark.proves("remove", **THERE)
@pytest.mark.usefixtures("converged")
def test_what_was_brought_goes_and_the_rest_stays(mixed: Mixed) -> None:
    predicted, done = mixed.nodes.play("remove", "--check", *REMOVAL), mixed.nodes.play("remove", *REMOVAL)
    assert records.differences(predicted.events, done.events) == []
    assert hosts(done) == set(RELEASES)
    assert records.changes(mixed.nodes.play("remove", *REMOVAL).events) == {}
    left = mixed.nodes.packages()
    for name in RELEASES:
        assert mixed.before[name] <= left[name], name
        assert left[name].isdisjoint({"opensm", "perftest"}), name
    assert mixed.nodes.said("find /etc/rdma-ofed -type f 2>/dev/null || true") == dict.fromkeys(RELEASES, "")
