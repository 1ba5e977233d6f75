# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import typing as t

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._schema._opensm import OPTIONS
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal import _declared
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._declared import Change
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._netlist import netlist
from ansible_collections.rdma.ofed.plugins.plugin_utils._rehearsal._plan import plan
from support.recordings import CORPUS

FABRIC = netlist((CORPUS.parent / "lab/topologies/3-nodes.topo").read_text(encoding="utf-8"), "file")
TEMPLATE = (CORPUS / "opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
HOSTS = ["node1", "node2", "node3"]
GROUPS: dict[str, list[str]] = {"all": HOSTS, "rdma": HOSTS, "opensm": ["node1", "node2"]}
STANDBY: dict[str, dict[str, t.Any]] = {host: {"opensm_standby": True} for host in HOSTS}


def complete(options: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    checked = ArgumentSpecValidator(copy.deepcopy(OPTIONS)).validate(dict(options))
    return None if checked.errors.errors else t.cast("dict[str, t.Any]", checked.validated_parameters)


def states(change: Change, hostvars: dict[str, dict[str, t.Any]]) -> list[_declared.State]:
    ports = _declared.ports_of(HOSTS, hostvars, FABRIC)
    frame = _declared.Frame("ib", FABRIC, TEMPLATE, _declared.Secrets(), complete, "file")
    return [_declared.state(frame, *_declared.changed(GROUPS, hostvars, planned, ports=ports)) for planned in (Change(), change)]


def planned(change: Change, hostvars: dict[str, dict[str, t.Any]] = STANDBY, *, restart: bool = False) -> dict[str, t.Any]:
    return plan(*states(change, hostvars), fabric=FABRIC, template=TEMPLATE, patience=60, restart=restart)


def verbs(found: dict[str, t.Any], phase: int) -> list[str]:
    hosts = found["summary"]["hosts"]
    return ["%s %s" % (step["verb"], hosts[step["manager"]]) for step in found["given"]["phases"][phase]["steps"] if step["verb"] != "write"]


def written(found: dict[str, t.Any], phase: int, host: str) -> dict[str, str]:
    """Return the files that the phase leaves on a host."""
    files: dict[str, str] = {}
    for step in found["given"]["phases"][phase]["steps"]:
        if step["verb"] == "write" and found["summary"]["hosts"][step["manager"]] == host:
            files.update(step["files"])
    return files


def test_the_state_before_the_change_comes_first() -> None:
    found = planned(Change())
    assert verbs(found, 0) == ["start node1", "join node1", "settle node1", "start node2", "join node2", "reload node2", "settle node1"]
    assert verbs(found, 1) == ["settle node1"]
    # A node without a subnet manager observes.
    assert found["given"]["observer"] not in found["given"]["managers"].values()


def test_a_move_changes_the_priorities() -> None:
    found = planned(Change(managers=("node2", "node1")))
    assert verbs(found, 1) == ["reload node2", "reload node1", "settle node2"]
    assert "sm_priority 13\n" in written(found, 1, "node2")["opensm.conf"]
    assert "sm_priority 12\n" in written(found, 1, "node1")["opensm.conf"]


def test_who_leaves_hands_over_before_it_stops() -> None:
    found = planned(Change(managers=("node3",)))
    assert verbs(found, 1) == ["start node3", "join node3", "reload node3", "hand_over node1", "stop node1", "hand_over node2", "stop node2", "settle node3"]
    # A newcomer joins with the lowest priority, and gets its own when it is ready.
    confs = [step["files"]["opensm.conf"] for step in found["given"]["phases"][1]["steps"] if step["verb"] == "write"]
    assert ["sm_priority 0\n" in conf for conf in confs] == [True, False]


def test_a_key_that_opensm_reads_at_its_start_takes_a_restart() -> None:
    found = planned(Change(variables={"opensm_options": {"max_wire_smps": 8}}))
    assert verbs(found, 1) == ["reload node1", "reload node2", "settle node1"]
    found = planned(Change(variables={"opensm_routing_engine": ["ftree"]}))
    assert verbs(found, 1)[:4] == ["hand_over node1", "stop node1", "start node1", "join node1"]
    assert found["summary"]["after"]["engines"] == ["ftree"]


def test_in_an_upgrade_the_designated_host_comes_last() -> None:
    one = ["hand_over %s", "stop %s", "start %s", "join %s", "reload %s"]
    steps = [words % host for host in ("node2", "node1") for words in one]
    assert verbs(planned(Change(), restart=True), 1) == [*steps, "settle node1"]


def test_the_files_are_those_of_the_role() -> None:
    partitions = [
        {"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]},
        {"name": "storage", "pkey": "0x8001", "members": [{"group": "opensm"}, {"host": "node3", "membership": "limited"}]},
    ]
    found = planned(Change(variables={"opensm_partitions": partitions}))
    text = written(found, 1, "node1")["partitions.conf"]
    wanted = {port.description: port.simulated for port in FABRIC.ports}
    assert "%s=limited" % wanted["node3"] in text
    assert found["summary"]["after"]["pkeys"][wanted["node3"]] == [0xFFFF, 0x0001]
    assert found["summary"]["after"]["pkeys"][wanted["node1"]] == [0xFFFF, 0x8001]
    assert "partition_config_file /tmp/rehearsal/m1/partitions.conf\n" in written(found, 1, "node1")["opensm.conf"]
    assert not found["summary"]["after"]["absent"]


def test_no_secret_leaves_the_controller() -> None:
    keys = {"opensm_sm_key": "0x1122334455667788", "opensm_secret_options": {"m_key": "0x99aabbccddeeff00"}}
    hostvars = {host: {**STANDBY[host], **keys} for host in HOSTS}
    found = planned(Change(variables={"opensm_secret_options": {"m_key": "0x1122334455667788"}}), hostvars)
    assert "1122334455667788" not in str(found).lower() and "99aabbccddeeff00" not in str(found).lower()
    lines = dict(line.split(None, 1) for line in written(found, 1, "node1")["opensm.conf"].splitlines() if line.startswith(("sm_key", "m_key ")))
    # What is equal stays equal, so that subnet managers with different keys refuse each other here, too.
    assert lines["sm_key"] == lines["m_key"] != "0x0000000000000000"


def test_a_key_of_another_build_is_named() -> None:
    found = planned(Change(variables={"opensm_options": {"virt_enabled": 2}}))
    assert [words.partition(":")[0] for words in found["summary"]["left_out"]] == ["virt_enabled of node1", "virt_enabled of node2"]
    assert "virt_enabled" not in written(found, 1, "node1").get("opensm.conf", "")


def test_a_host_is_found_by_a_declared_port() -> None:
    guid = next(port.guid for port in FABRIC.ports if port.description == "node3")
    found = planned(Change(), {**STANDBY, "node1": {"opensm_port_guid": guid, "opensm_port_guids": [guid]}})
    assert found["summary"]["before"]["managers"][0]["node"] == "node3"
    with pytest.raises(RdmaError) as caught:
        planned(Change(), {**STANDBY, "node1": {"opensm_port_guid": "0x00000000000000ff"}})
    assert "the port of node1 (0x00000000000000ff) is not in file" in caught.value.msg


def test_a_fabric_without_a_manager_is_refused() -> None:
    with pytest.raises(RdmaError) as caught:
        planned(Change(), {host: {"fabric": "storage"} for host in HOSTS})
    assert "no host of group opensm is on fabric ib" in caught.value.msg
