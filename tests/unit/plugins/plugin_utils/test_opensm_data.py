# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the filter makes of unvalidated variables and facts, and of many hosts."""

from __future__ import annotations

import contextlib
import time
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from ansible_collections.rdma.ofed.plugins.plugin_utils._managers import data as opensm_data
from hypothesis import given
from hypothesis import strategies as st

SCALAR = st.one_of(st.none(), st.booleans(), st.integers(-1, 99), st.floats(), st.sampled_from(["", "ib", "x", "0x1", "²", "9" * 5000, "mlx5_0", "InfiniBand"]))
KEY = st.sampled_from(
    ["ib", "rdma", "ports", "hcas", "name", "device", "port_guid", "link_layer", "node_guid", "partitions", "members", "pkey", "group", "mlx5_0"]
)
VALUE = st.recursive(SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEY, inner, max_size=4)), max_leaves=10)
OF_HOST = st.sampled_from(["ansible_facts", "rdma_fabrics", "fabric", "opensm_port_guids", "opensm_node_guids"])
GIVEN = st.sampled_from(["opensm_partitions", "opensm_fabrics", "opensm_qos", "opensm_options"])
PARTITIONS = [
    {"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]},
    {"name": "storage", "pkey": "0x0002", "members": [{"group": "rdma"}]},
]


def call(hostvars: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> None:
    hosts = list(hostvars)
    # The action reports these as inventory errors.
    with contextlib.suppress(RdmaError, TypeError, ValueError, LookupError, AttributeError):
        opensm_data({"all": hosts, "rdma": hosts, "opensm": hosts}, hostvars, ["ib"], hosts=hosts, variables=variables)


@given(st.dictionaries(OF_HOST, VALUE), st.dictionaries(GIVEN, VALUE))
def test_any_type(of_host: dict[str, t.Any], variables: dict[str, t.Any]) -> None:
    call({"node1": of_host}, variables)
    call({"node1": of_host, "node2": {}}, {**variables, "opensm_partitions": PARTITIONS})


@given(VALUE, VALUE)
def test_any_fact(ports: t.Any, hcas: t.Any) -> None:
    call({"node1": {"ansible_facts": {"rdma": marked({"ports": ports, "hcas": hcas})}}}, {"opensm_partitions": PARTITIONS})


@pytest.mark.parametrize("partitions", ["x", {"ib": 1}, [1], [{"name": 1, "members": 1}], [{"members": [1]}]])
def test_wrong_partitions_are_named(partitions: t.Any) -> None:
    with pytest.raises(RdmaError, match="opensm_partitions"):
        opensm_data({"all": ["node1"]}, {"node1": {}}, ["ib"], hosts=["node1"], variables={"opensm_partitions": partitions})


def seconds(count: int) -> float:
    """Return the time for hosts of which half are on both fabrics and all may run a subnet manager."""
    hosts = ["node%d" % number for number in range(count)]
    one, both = {"ib": ["mlx5_0/1"]}, {"ib": ["mlx5_0/1"], "storage": ["mlx5_1/1"]}

    def ports(number: int) -> list[dict[str, t.Any]]:
        rows = [("mlx5_%d" % at, "0x%016x" % (2 * number + at + 1)) for at in range(2)]
        return [{"device": device, "name": device + "/1", "link_layer": "InfiniBand", "port_guid": guid} for device, guid in rows]

    hostvars = {
        host: {"rdma_fabrics": both if number % 2 else one, "ansible_facts": {"rdma": marked({"ports": ports(number), "hcas": []})}}
        for number, host in enumerate(hosts)
    }
    groups = {"all": hosts, "rdma": hosts, "opensm": hosts}
    begun = time.process_time()
    opensm_data(groups, hostvars, ["ib", "storage"], hosts=hosts, variables={"opensm_partitions": PARTITIONS})
    return time.process_time() - begun


def test_its_time_grows_with_the_hosts() -> None:
    # With quadratic growth, it would take sixty-four times as long.
    assert any(seconds(4000) < 24 * min(seconds(500) for _count in range(3)) for _attempt in range(5))
