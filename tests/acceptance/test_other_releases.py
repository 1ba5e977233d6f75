# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look-alikes of SLES 16, and of Ubuntu 20.04, 22.04 and 26.04 with the netplan of Debian 11, 12 and 13: the whole site, and its removal."""

from __future__ import annotations

import collections.abc

import pytest
import records
from cluster import Run
from look_alikes import Nodes, hosts, look_alikes
from proofs import LOOK_ALIKE

pytestmark = pytest.mark.long

SYSTEMS = {"sles16": "suse", "ubuntu20": "", "ubuntu22": "", "ubuntu26": ""}
UBUNTU = [name for name, family in SYSTEMS.items() if not family]
REMOVAL = ("-e", "rdma_remove=true", "-e", "rdma_allow_removal=true")
THERE = {"sles16": LOOK_ALIKE, "ubuntu20": LOOK_ALIKE, "ubuntu22": LOOK_ALIKE, "ubuntu26": LOOK_ALIKE}


@pytest.fixture(scope="module")
def nodes() -> collections.abc.Iterator[Nodes]:
    with look_alikes("rdma-releases", "other-releases", SYSTEMS, managers=("sles16", "ubuntu20")) as found:
        yield found


@pytest.fixture(scope="module")
def before(nodes: Nodes) -> dict[str, frozenset[str]]:
    return nodes.packages()


@pytest.fixture(scope="module")
def converged(nodes: Nodes, before: dict[str, frozenset[str]]) -> tuple[Run, Run]:
    """Provision the site: check mode, then the run."""
    return nodes.play("site", "--check"), nodes.play("site")


@pytest.mark.proves("packages", "modules", **THERE)
@pytest.mark.proves("netplan", ubuntu20=LOOK_ALIKE, ubuntu22=LOOK_ALIKE, ubuntu26=LOOK_ALIKE)
@pytest.mark.proves("opensm", sles16=LOOK_ALIKE)
def test_the_site_converges_as_predicted_and_a_second_run_changes_nothing(nodes: Nodes, converged: tuple[Run, Run]) -> None:
    predicted, done = converged
    assert "was not tested" not in done.output and records.differences(predicted.events, done.events) == []
    assert hosts(done) == set(SYSTEMS)
    assert records.changes(nodes.play("site").events) == records.changes(nodes.play("site", "--check").events) == {}
    nodes.play("verify")
    for name in UBUNTU:
        assert nodes.cluster.shell(name, "cat /etc/netplan/*rdma*").stdout, name
        assert nodes.cluster.shell(name, "netplan get").returncode == 0, name
    assert all("SMINFO_MASTER" in said for said in nodes.said("sminfo").values())


@pytest.mark.proves("remove", **THERE)
@pytest.mark.usefixtures("converged")
def test_what_was_brought_goes_and_the_rest_stays(nodes: Nodes, before: dict[str, frozenset[str]]) -> None:
    predicted, done = nodes.play("remove", "--check", *REMOVAL), nodes.play("remove", *REMOVAL)
    assert records.differences(predicted.events, done.events) == []
    assert records.changes(nodes.play("remove", *REMOVAL).events) == {}
    left = nodes.packages()
    for name in SYSTEMS:
        assert before[name] <= left[name] and left[name].isdisjoint({"opensm", "perftest"}), name
    assert nodes.said("ls /etc/netplan 2>/dev/null || true") == {**dict.fromkeys(UBUNTU, "00-installer-config.yaml"), "sles16": ""}
