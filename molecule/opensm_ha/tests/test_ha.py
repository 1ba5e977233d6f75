# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A master and its standbys: the master dies or moves, or a foreign subnet manager appears."""

from __future__ import annotations

import json
import pathlib
import time

import ha
import pytest

# opensm gives up after polling the master 4 times, then sweeps a fabric with a node that does not answer. On a busy machine, all of that takes longer.
SECONDS_TO_NOTICE = 180
SECONDS_TO_RETURN = 120
# Less than a standby needs to detect anything, apart from delays of the probe itself.
SECONDS_WITHOUT = 5


def report(what: str, samples: list[ha.Sample]) -> None:
    seconds = samples[-1].when - samples[0].when
    print("%s: %d samples, %.0f a second, longest time without a master %.2f s" % (what, len(samples), len(samples) / seconds, ha.longest_gap(samples)))


@pytest.mark.proves("opensm", "handover", debian12="real")
def test_one_is_master_and_two_stand_by() -> None:
    wanted = {"node1": ("MASTER", 13), "node2": ("STANDBY", 12), "node3": ("STANDBY", 11)}
    assert ha.managers(*ha.NODES) == dict.fromkeys(ha.NODES, wanted)


@pytest.mark.proves("handover", debian12="real")
def test_a_process_that_is_killed_is_master_again_before_anybody_notices() -> None:
    before, process = ha.lids(), ha.process("node1")
    with ha.probing("node1", "node2") as samples:
        ha.shell("node1", "kill -9 %d" % process)
        deadline = time.monotonic() + SECONDS_TO_RETURN
        while ha.process("node1") in (0, process):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        ha.wait_for_master("node1", SECONDS_TO_RETURN)
    report("kill -9", samples)
    assert ha.masters_at_once(samples) == 0
    assert ha.lids() == before


@pytest.mark.proves("handover", debian12="real")
def test_the_host_of_the_master_dies_and_returns() -> None:
    before = ha.lids()
    with ha.probing("node1", "node2") as samples:
        ha.lab("kill", "node1")
        ha.wait_for_master("node2", SECONDS_TO_NOTICE)
        assert {node: ha.lid(node) for node in ("node2", "node3")} == {node: before[node] for node in ("node2", "node3")}
        ha.lab("up", "--topology", "3-nodes")
        ha.wait_for_master("node1", SECONDS_TO_RETURN)
    report("the host of the master without power", samples)
    assert ha.masters_at_once(samples) == 0
    assert ha.longest_gap(samples) < SECONDS_TO_NOTICE
    assert ha.lids() == before


@pytest.mark.proves("handover", debian12="real")
def test_the_designation_moves_and_there_are_never_two_masters(tmp_path: pathlib.Path) -> None:
    before = ha.lids()
    moved = ha.designated(tmp_path, "node2", "node1", "node3")
    for old, new, inventory in (("node1", "node2", moved), ("node2", "node1", ha.INVENTORY)):
        with ha.probing(old, new) as samples:
            ha.site("--tags", "opensm,node_check", inventory=inventory)
        report("designation from %s to %s" % (old, new), samples)
        assert ha.masters_at_once(samples) == 0
        assert (samples[0].one, samples[0].two) == (True, False)
        assert (samples[-1].one, samples[-1].two) == (False, True)
        assert ha.longest_gap(samples) < SECONDS_WITHOUT + ha.longest_pause(samples)
        assert ha.managers(ha.WITNESS)[ha.WITNESS][new] == ("MASTER", 13)
        assert ha.lids() == before


@pytest.mark.proves("handover", debian12="real")
def test_one_host_after_the_other_and_hosts_in_jobs_of_their_own_at_once(tmp_path: pathlib.Path) -> None:
    """In the first move, the old host runs first and must wait for the new one. In the move back, the order is undefined."""
    moved = ha.designated(tmp_path, "node2", "node1", "node3")
    with ha.probing("node1", "node2") as samples:
        ha.end(ha.begin(moved, str(ha.PROJECT / "molecule/opensm_ha/serial.yml")))
        ha.wait_for_master("node2", SECONDS_TO_RETURN)
    report("one host after the other", samples)
    assert ha.masters_at_once(samples) == 0
    assert ha.longest_gap(samples) < SECONDS_WITHOUT + ha.longest_pause(samples)
    with ha.probing("node2", "node1") as samples:
        runs = [ha.begin(ha.INVENTORY, "site", "--tags", "opensm", "--limit", node) for node in ha.NODES]
        for run in runs:
            ha.end(run)
        ha.wait_for_master("node1", SECONDS_TO_RETURN)
    report("three jobs at once", samples)
    assert ha.masters_at_once(samples) == 0


@pytest.mark.proves("handover", debian12="real")
def test_a_host_alone_changes_nothing_for_the_others() -> None:
    for node in ("node2", "node3"):
        output = ha.site("--limit", node)
        assert "changed=0" in output.split("PLAY RECAP")[1]
    assert ha.master() == ha.guid("node1")


@pytest.mark.proves("handover", debian12="real")
def test_the_old_one_stays_until_the_new_one_is_there(tmp_path: pathlib.Path) -> None:
    """Without standbys, node1 loses its designation to node2, and each host learns that in a run of its own."""
    alone = ["--tags", "opensm", "--extra-vars", '{"opensm_standby": false}']
    # The awaited subnet manager never appears.
    impatient = ["--extra-vars", '{"opensm_wait_timeout": 10}']
    ha.site(*alone)
    moved = ha.designated(tmp_path, "node2", "node1", "node3")
    with ha.probing("node1", "node2") as samples:
        said = ha.site(*alone, *impatient, "--limit", "node1", inventory=moved)
        assert "no other subnet manager stands by" in " ".join(said.split())
        ha.wait_for_managers({"node1": ("MASTER", 13)}, SECONDS_TO_NOTICE)
        ha.site(*alone, "--limit", "node2", inventory=moved)
        assert ha.master() in (ha.guid("node1"), ha.guid("node2"))
        ha.site(*alone, "--limit", "node1", inventory=moved)
    report("the old one last", samples)
    assert ha.masters_at_once(samples) == 0
    assert ha.longest_gap(samples) < SECONDS_WITHOUT + ha.longest_pause(samples)
    ha.wait_for_managers({"node2": ("MASTER", 13)}, SECONDS_TO_NOTICE)
    assert "masked" in ha.shell("node1", "systemctl is-enabled opensm", check=False)
    ha.site("--tags", "opensm")
    ha.wait_for_master("node1", SECONDS_TO_RETURN)
    ha.wait_for_managers({"node1": ("MASTER", 13), "node2": ("STANDBY", 12), "node3": ("STANDBY", 11)}, SECONDS_TO_RETURN)


@pytest.mark.proves("opensm_options", debian12="real")
def test_the_key_of_the_subnet_is_in_files_of_root_alone() -> None:
    key = "0x5eC2e75eC2e75eC2"
    alone = {"opensm_standby": False}
    ha.site("--tags", "opensm", "--extra-vars", json.dumps(alone))
    said = ha.site("--tags", "opensm", "--diff", "--extra-vars", json.dumps({**alone, "opensm_sm_key": key}))
    ha.wait_for_master("node1", SECONDS_TO_RETURN)
    assert key.lower() in ha.shell("node1", "cat /etc/rdma-ofed/opensm/ib/opensm.conf").lower()
    assert ha.shell("node1", "stat -c %a /etc/rdma-ofed/opensm/ib/opensm.conf") == "600"
    assert key[2:].lower() not in said.lower()
    assert key[2:].lower() not in ha.shell("node1", "journalctl --quiet --no-pager").lower()
    ha.site("--tags", "opensm", "--extra-vars", json.dumps({**alone, "opensm_give_up": ["sm_key"]}))
    assert ha.shell("node1", "ls /etc/systemd/system | grep -c rdma-opensm@ib", check=False) == "0"
    ha.site("--tags", "opensm")
    test_one_is_master_and_two_stand_by()


@pytest.mark.proves("opensm_options", debian12="real")
def test_a_partition_is_changed_without_a_restart() -> None:
    default = {"name": "Default", "pkey": 0x7FFF, "ipoib": True, "members": [{"keyword": "ALL"}]}
    storage = {"name": "storage", "pkey": 0x0001, "members": [{"host": "node2"}, {"host": "node3", "membership": "limited"}]}
    before = ha.processes()
    assert {node: ha.pkeys(node) & {0x0001, 0x8001} for node in ha.NODES} == {node: set() for node in ha.NODES}
    for partitions, wanted in (([default, storage], {"node2": {0x8001}, "node3": {0x0001}}), ([default], {})):
        ha.site("--tags", "opensm", "--extra-vars", json.dumps({"opensm_partitions": partitions, "rdma_allow_removal": True}))
        deadline = time.monotonic() + SECONDS_TO_RETURN
        while (found := {node: ha.pkeys(node) & {0x0001, 0x8001} for node in ha.NODES}) != {**{node: set() for node in ha.NODES}, **wanted}:
            assert time.monotonic() < deadline, found
            time.sleep(0.5)
    ha.site("--tags", "opensm")
    assert ha.processes() == before


@pytest.mark.proves("opensm", debian12="real")
def test_opensm_itself_is_upgraded_under_a_running_fabric() -> None:
    """As with a package manager: the program file is replaced, and opensm is not notified."""
    before = ha.processes()
    lids = ha.lids()
    for node in ha.NODES:
        ha.shell(node, ha.NEXT_PACKAGE)
    assert ha.processes() == before
    with ha.probing("node1", "node2") as samples:
        ha.site("--tags", "opensm,node_check")
    report("opensm upgraded", samples)
    assert ha.masters_at_once(samples) == 0
    assert ha.longest_gap(samples) < SECONDS_WITHOUT + ha.longest_pause(samples)
    assert ha.lids() == lids
    test_one_is_master_and_two_stand_by()
    after = ha.processes()
    assert not set(after.items()) & set(before.items())
    assert "changed=0" in ha.site("--tags", "opensm", "--limit", "node1").split("PLAY RECAP")[1]


@pytest.mark.proves("adopted", debian12="real")
def test_a_stranger_is_refused_and_named(tmp_path: pathlib.Path) -> None:
    """An inventory without node3 does not know the subnet manager there."""
    others = ha.designated(tmp_path, "node1", "node2")
    for node in ha.NODES:
        ha.shell(node, "systemctl stop %s" % ha.UNIT)
    try:
        ha.shell("node3", "systemctl start %s" % ha.UNIT)
        ha.wait_for_master("node3", SECONDS_TO_RETURN)
        stranger = ha.infos("node3")["node3"]["fabrics"][0]["master"]
        for arguments in (("--check",), ("-e", "rdma_strict=true"), ()):
            said = " ".join(ha.site("--tags", "opensm", *arguments, inventory=others, fails=True).split())
            for word in (stranger["port_guid"], "LID %d" % stranger["lid"], "node description 'node3", "opensm_allow_foreign_master: true"):
                assert word in said, said
            # With rdma_strict, the other roles do not start either.
            assert ("rdma_strict=true" in arguments) != ("PLAY [Install the stack" in said), said
            assert [ha.shell(node, "systemctl is-active %s" % ha.UNIT, check=False) for node in ("node1", "node2")] == ["inactive", "inactive"]
    finally:
        for node in ha.NODES:
            ha.shell(node, "systemctl start %s" % ha.UNIT)
    ha.wait_for_master("node1", SECONDS_TO_RETURN)
