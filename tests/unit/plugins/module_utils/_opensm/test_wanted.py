# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import parse_conf
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._found import FabricFound
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric._judge import require_one_key
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan, started
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._result import result
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import Bound, Wanted, bind, read_wanted
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from ansible_collections.rdma.ofed.plugins.module_utils._tools._node_names import DEFAULT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._tools._sminfo import MASTER, STANDBY, SmInfo
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from ansible_collections.rdma.ofed.plugins.plugin_utils._managers import data as opensm_data
from support import opensm_instance
from support.fabric_views import View, seen

VENDOR = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/mlnx_5_6_0.conf").read_text(encoding="utf-8")
TEMPLATE = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
INSTANCE = {**opensm_instance.INSTANCE, "designated_host": "node1"}
OPTIONS: dict[str, t.Any] = {"state": "present", "instances": [INSTANCE], "wait_timeout": 60, "known_hosts": ["node2"], "allow_foreign_master": False}
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid="0x0002c90300001001", link_layer="InfiniBand")


def wanted(**options: t.Any) -> Wanted:
    """Return the state that these options declare on a node with one port."""
    read = read_wanted({**OPTIONS, **options})
    return read._replace(instances=tuple(each.instance for each in bind(read.instances, [PORT])))


def only(state: Wanted) -> Instance:
    (instance,) = state.instances
    return instance


def fabric(*guids: str) -> FabricFound:
    managers = tuple(SmInfo(lid, guid, 1, 13, MASTER if lid == 1 else STANDBY) for lid, guid in enumerate(guids, 1))
    named: t.Any = lambda argv, ok=(0,), timeout=60: Output(0, "Node Description:..node2 mlx5_0\n", "")  # noqa: E731
    return seen(PORT, View(answer=managers[0], managers=managers), named)


def test_the_declared_keys_are_set_in_the_template() -> None:
    options = {
        "routing_engine": ["updn"],
        "root_guids": ["0x0002C90300F00030", "0002c90300f00030"],
        "options": {"sweep_interval": 20},
        "secret_options": {"m_key": "0x1"},
        "sm_key": "0x00000000cafe0001",
        "log_max_size": 64,
        "log_flags": "3",
        "qos": True,
        "qos_policy": "qos-ulps\n  default : 0\nend-qos-ulps\n\n",
    }
    instance = only(wanted(**options))
    conf = parse_conf(instance.conf(TEMPLATE))
    keys = {
        "guid": "0x0002c90300001001",
        "sm_priority": "14",
        "routing_engine": "updn",
        "m_key": "0x0000000000000001",
        "sm_key": "0x00000000cafe0001",
        "log_flags": "0x03",
        "qos": "TRUE",
        "qos_policy_file": "/etc/rdma-ofed/opensm/ib/qos-policy.conf",
        "root_guid_file": "/etc/rdma-ofed/opensm/ib/root-guids.conf",
        "sweep_interval": "20",
        "log_max_size": "64",
        "log_file": "/var/log/opensm/ib/opensm.log",
        "partition_config_file": "/etc/rdma-ofed/opensm/ib/partitions.conf",
        "node_name_map_name": "/etc/rdma/ib-node-name-map",
        "daemon": "FALSE",
    }
    assert {key: conf[key] for key in keys} == keys
    files = instance.files(TEMPLATE)
    assert files["/etc/rdma-ofed/opensm/ib/root-guids.conf"].splitlines()[1:] == ["0x0002c90300f00030"]
    assert files["/etc/rdma-ofed/opensm/ib/qos-policy.conf"].endswith("\nend-qos-ulps\n")


def test_files_that_mean_the_same_are_the_same() -> None:
    guids = ["0002C90300F00040", "0x5", "0x0000000000000005"]
    instance = only(wanted(root_guids=guids, routing_engine=["updn"]))
    assert instance.root_guids.splitlines()[1:] == ["0x0000000000000005", "0x0002c90300f00040"]
    assert only(wanted(root_guids=guids[::-1], routing_engine=["updn"])) == instance
    assert only(wanted(qos_policy=" \n", qos=True)).qos_policy == ""


def test_a_vendors_master_keeps_the_priority_by_which_it_was_elected() -> None:
    """Otherwise it would announce 14 and hand over to no host with less."""
    conf = parse_conf(only(wanted()).conf(VENDOR))
    assert (conf["sm_priority"], conf["master_sm_priority"]) == ("14", "0")
    assert "master_sm_priority" not in parse_conf(only(wanted()).conf(TEMPLATE))


def test_that_key_is_not_declared_by_itself() -> None:
    with pytest.raises(InvalidInput, match=r"opensm_options\.master_sm_priority .*opensm_priority"):
        wanted(options={"master_sm_priority": 14})


def test_a_vendors_master_that_announces_another_priority_is_restarted() -> None:
    found = Found(running=(only(wanted()).unit,), template=VENDOR)
    files = {change.subject: change.after for change in plan(wanted(), found).about(Kind.FILE)}
    assert started(plan(wanted(), found._replace(files=files))) == []
    files = {path: text.replace("master_sm_priority 0", "master_sm_priority 14") for path, text in files.items()}
    assert started(plan(wanted(), found._replace(files=files))) == [only(wanted()).unit]


def test_what_is_not_declared_stays_as_generated() -> None:
    empty = only(wanted(routing_engine=[], root_guids=[], qos_policy="", sm_key="", options={}, secret_options={}))
    assert empty.options == {} and empty.root_guids == empty.qos_policy == ""
    assert only(wanted(qos=False, log_max_size=0)).options == {"qos": False, "log_max_size": 0}


def test_what_the_installed_opensm_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"opensm_options\.sweep_intervall is 20; allowed: sweep_interval"):
        only(wanted(options={"sweep_intervall": 20})).conf(TEMPLATE)


@pytest.mark.parametrize(("options", "restarts"), [({"sweep_interval": 20}, False), ({"lmc": 1}, True)])
def test_a_key_is_applied_with_as_little_as_it_takes(options: dict[str, t.Any], restarts: bool) -> None:
    before = wanted()
    found = Found(running=(only(before).unit,), template=TEMPLATE)
    found = found._replace(files={change.subject: change.after for change in plan(before, found).about(Kind.FILE)})
    new = plan(wanted(options=options), found)
    assert bool(started(new)) == restarts


def test_no_second_master_by_another_key() -> None:
    old, new = only(wanted()), only(wanted(sm_key="0x00000000cafe0001"))
    found = Found(running=(old.unit,), files=old.files(TEMPLATE), template=TEMPLATE)
    with pytest.raises(Refused, match="opensm_sm_key of fabric ib differs from the one in use, so node2 would not recognise this host"):
        require_one_key(Bound(new, PORT), fabric(PORT.port_guid, "0x0002c90300001011"), found)
    require_one_key(Bound(new, PORT), fabric(PORT.port_guid), found)
    require_one_key(Bound(old, PORT), fabric("0x0002c90300001011"), found)
    shown = result(plan(Wanted((new,)), found))
    assert "cafe0001" not in str(shown) and "hidden" in str(shown["diff"])


def test_names_of_hosts_that_are_not_known_stay() -> None:
    names = {"hosts": {"node1": {"mlx5_0": "0x0002c90300001000"}, "node2": None}, "names": {"0x0002c90300f00010": "leaf 1"}}
    text = named(wanted(node_names=names), "")
    assert '0x0002c90300001000 "node1 mlx5_0"' in text and '"leaf 1"' in text
    assert '"node1 mlx5_0"' in named(wanted(node_names={"hosts": {"node1": None}, "names": {}}), text)
    assert named(wanted(), "x") == "x"


def named(state: Wanted, before: str) -> str:
    """Return the node name file after the plan."""
    changes = [change for change in plan(state, Found(node_names=before)).about(Kind.FILE) if change.subject == DEFAULT_PATH]
    return changes[0].after if changes else before


def test_partitions_name_hosts() -> None:
    ports = [{"name": "mlx5_0/1", "link_layer": "InfiniBand", "port_guid": "0x0002c90300001001"}]
    hcas = [{"name": "mlx5_0", "node_guid": "0x0002c90300001000"}]
    facts = {"rdma": marked({"ports": [{**port, "device": "mlx5_0"} for port in ports], "hcas": hcas})}
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {"ansible_facts": facts}, "node2": {"fabric": "storage"}}
    groups = {"all": ["node1", "node2"], "rdma": ["node1", "node2"]}
    default = {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]}
    partitions = [default, {"name": "jobs", "pkey": "0x0001", "members": [{"host": "node1"}]}]
    data = opensm_data(
        groups,
        hostvars,
        ["ib", "storage"],
        hosts=["node1", "node2"],
        variables={"opensm_partitions": partitions, "opensm_fabrics": {"storage": {"partitions": []}}},
    )
    assert "0x0002c90300001001=full" in data["partitions"]["ib"] and data["partitions"]["storage"] == ""
    assert data["node_names"] == {"node1": {"mlx5_0": "0x0002c90300001000"}, "node2": None}
    # Facts in a fact cache are from another run.
    facts["rdma"]["run"] = "ansible-local-yesterday"
    data = opensm_data(groups, hostvars, ["ib"], hosts=["node1", "node2"], variables={"opensm_partitions": partitions})
    assert "0x0002c90300001001" not in str(data) and data["node_names"] == {"node1": None, "node2": None}
    assert [absent["host"] for absent in data["absent_members"]] == ["node1"]
