# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a subnet manager needs from the inventory reaches the module without being listed in the task."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible_collections.rdma.ofed.plugins.action import opensm
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

GUIDS = {"node1": "0x0002c90300001001", "node2": "0x0002c90300001002", "node3": "0x0002c90300001003"}
GROUPS = {"all": list(GUIDS), "rdma": list(GUIDS), "opensm": ["node1", "node2"]}
PARTITIONS = [{"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]}, {"name": "jobs", "pkey": "0x0001", "members": [{"host": "node3"}]}]


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def facts(host: str) -> dict[str, t.Any]:
    ports = [{"device": "mlx5_0", "name": "mlx5_0/1", "link_layer": "InfiniBand", "port_guid": GUIDS[host]}]
    return {"rdma": marked({"ports": ports, "hcas": [{"name": "mlx5_0", "node_guid": GUIDS[host]}]})}


def given(host: str, arguments: t.Mapping[str, t.Any], **variables: t.Any) -> dict[str, t.Any]:
    """Return the arguments that the module gets."""
    hostvars = {name: {"ansible_facts": facts(name), "opensm_standby": name == "node2"} for name in GUIDS}
    hostvars["node1"]["opensm_routing_engine"] = "updn"
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args={"by_inventory": True, **arguments})
    templar = mock.Mock(template=lambda value: value)
    connection = mock.Mock()
    connection._shell.tmpdir = None
    plugin = opensm.ActionModule(task, connection, mock.Mock(), mock.Mock(), templar, mock.Mock())
    plugin._execute_module = mock.Mock(return_value={"changed": False})
    plugin.run(task_vars={"inventory_hostname": host, "groups": GROUPS, "hostvars": hostvars, **hostvars[host], **variables})
    found: dict[str, t.Any] = plugin._execute_module.call_args.kwargs["module_args"]
    return found


def test_a_host_that_manages_its_fabric_gets_all_of_it() -> None:
    found = given("node1", {"qos": True, "node_names": {"names": {}}}, opensm_partitions=PARTITIONS)
    assert [(each["fabric"], each["role"], each["peer_guids"]) for each in found["instances"]] == [("ib", "master", [GUIDS["node2"]])]
    assert GUIDS["node3"] + "=full" in found["partitions"]["ib"]
    assert found["node_names"] == {"hosts": {host: {"mlx5_0": guid} for host, guid in GUIDS.items()}, "names": {}}
    assert found["known_guids"] == {host: [guid] for host, guid in GUIDS.items()}
    assert (found["known_hosts"], found["qos"], found["absent_members"]) == (list(GUIDS), True, [])
    assert "by_inventory" not in found


@pytest.mark.parametrize("declared", [None, "rdma", ["rdma"], ["rdma", "nosuch"]])
def test_the_hosts_of_the_run_may_be_several_groups(declared: t.Any) -> None:
    assert given("node1", {}, rdma_hosts=declared)["known_hosts"] == list(GUIDS)


def test_what_the_task_gives_counts() -> None:
    assert given("node1", {"node_names": "x"})["node_names"] == "x"
    assert given("node1", {"known_hosts": ["gateway"]})["known_hosts"] == ["gateway"]
    assert given("node2", {}, opensm_standby=True)["instances"][0]["role"] == "standby"


def test_a_resting_host_learns_only_what_is_declared_elsewhere() -> None:
    assert given("node3", {"instances": []}) == {"instances": [], "declared_settings": ["routing_engine"], "partitions": {"ib": ""}}
    # Results of the validation are not read again.
    assert given("node3", {"instances": []}, rdma_site={"designated_hosts": {}})["declared_settings"] == []


def test_wrong_partitions_are_no_refusal_of_the_module() -> None:
    with pytest.raises(AnsibleActionFail, match="opensm_partitions"):
        given("node1", {}, opensm_partitions=[{"name": 1, "members": 1}])
    with pytest.raises(AnsibleActionFail, match="has an invalid form"):
        given("node1", {}, groups=None)
