# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.filter.opensm_data import opensm_data
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _configure
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import parse_conf
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabric import Known
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._look import Found
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._plan import plan_present, started
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind

TEMPLATE = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
INSTANCE = Instance("ib", "0x0002c90300001001", 14)
PORT = Port("mlx5_0/1", "mlx5_0", 1, port_guid="0x0002c90300001001")
RECORD = "SMInfoRecord dump:\n\t\tLID...1\n\t\tGUID...%s\n\t\tActCount...1\n\t\tPriority...14\n\t\tSMState...2\n"


def fabric(*guids: str) -> t.Any:
    records, description = "".join(RECORD % guid for guid in guids), "Node Description:..node2 mlx5_0\n"
    return lambda argv, ok=(0,), timeout=60: Output(0, description if argv[0] == "smpquery" else records, "")


def test_the_declared_keys_are_set_in_the_template() -> None:
    params = {"routing_engine": ["updn"], "root_guids": ["0x0002C90300F00030"], "options": {"sweep_interval": 20}, "log_max_size": 64, "qos": False}
    instance = _configure.configured(INSTANCE, params, TEMPLATE)
    conf = parse_conf(instance.conf())
    wanted = {
        "guid": "0x0002c90300001001",
        "sm_priority": "14",
        "routing_engine": "updn",
        "root_guid_file": "/etc/rdma-ofed/opensm/ib/root-guids.conf",
        "sweep_interval": "20",
        "log_max_size": "64",
        "log_file": "/var/log/opensm/ib/opensm.log",
        "partition_config_file": "/etc/rdma-ofed/opensm/ib/partitions.conf",
        "node_name_map_name": "/etc/rdma/ib-node-name-map",
        "daemon": "FALSE",
    }
    assert {key: conf[key] for key in wanted} == wanted
    assert instance.files()["/etc/rdma-ofed/opensm/ib/root-guids.conf"].endswith("0x0002c90300f00030\n")


def test_what_the_installed_opensm_does_not_have_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"opensm_options\.sweep_intervall is 20; allowed: sweep_interval"):
        _configure.configured(INSTANCE, {"options": {"sweep_intervall": 20}}, TEMPLATE).conf()


@pytest.mark.parametrize(("options", "restarts"), [({"sweep_interval": 20}, False), ({"lmc": 1}, True)])
def test_a_key_is_applied_with_as_little_as_it_takes(options: dict[str, t.Any], restarts: bool) -> None:
    before = _configure.configured(INSTANCE, {}, TEMPLATE)
    found = Found(running=(before.unit,), files={path: text for path, text in before.files().items() if text})
    found = found._replace(files={**found.files, **{change.subject: change.after for change in plan_present(found, [before]).about(Kind.FILE)}})
    plan = plan_present(found, [_configure.configured(INSTANCE, {"options": options}, TEMPLATE)])
    assert bool(started(plan)) == restarts


def test_no_second_master_by_another_key() -> None:
    old = _configure.configured(INSTANCE, {}, TEMPLATE)
    new = _configure.configured(INSTANCE, {"sm_key": "0x00000000cafe0001"}, TEMPLATE)
    found = Found(running=(old.unit,), files=old.files())
    with pytest.raises(Refused, match="opensm_sm_key of fabric ib is another one, and node2 would not know this host"):
        _configure.require_one_key(fabric(INSTANCE.guid, "0x0002c90300001011"), new, PORT, found, Known(hosts=("node2",)))
    _configure.require_one_key(fabric(INSTANCE.guid), new, PORT, found, Known())
    _configure.require_one_key(fabric("0x0002c90300001011"), old, PORT, found, Known())
    shown = _configure.without_secrets(plan_present(found, [new]).result(), [new], found)
    assert "cafe0001" not in str(shown) and "hidden" in str(shown["diff"])


def test_names_of_hosts_that_are_not_known_stay() -> None:
    given = {"node_names": {"hosts": {"node1": {"mlx5_0": "0x0002c90300001000"}, "node2": None}, "names": {"0x0002c90300f00010": "leaf 1"}}}
    text = _configure.named_nodes(given, Found())
    assert text is not None and '0x0002c90300001000 "node1 mlx5_0"' in text and '"leaf 1"' in text
    assert _configure.named_nodes({"node_names": {"hosts": {"node1": None}, "names": {}}}, Found(node_names=text)) is not None
    assert _configure.named_nodes({}, Found(node_names="x")) == "x"


def test_partitions_name_hosts() -> None:
    ports = [{"name": "mlx5_0/1", "link_layer": "InfiniBand", "port_guid": "0x0002c90300001001"}]
    hcas = [{"name": "mlx5_0", "node_guid": "0x0002c90300001000"}]
    facts = {"rdma": {"ports": [{**port, "device": "mlx5_0"} for port in ports], "hcas": hcas}}
    hostvars: dict[str, dict[str, t.Any]] = {"node1": {"ansible_facts": facts}, "node2": {"fabric": "storage"}}
    groups = {"all": ["node1", "node2"], "rdma": ["node1", "node2"]}
    default = {"name": "Default", "pkey": "0x7fff", "ipoib": True, "members": [{"keyword": "ALL"}]}
    partitions = [default, {"name": "jobs", "pkey": "0x0001", "members": [{"host": "node1"}]}]
    data = opensm_data(
        groups, hostvars, ["ib", "storage"], ["node1", "node2"], {"opensm_partitions": partitions, "opensm_fabrics": {"storage": {"partitions": []}}}
    )
    assert "0x0002c90300001001=full" in data["partitions"]["ib"] and data["partitions"]["storage"] == ""
    assert data["node_names"] == {"node1": {"mlx5_0": "0x0002c90300001000"}, "node2": None}
