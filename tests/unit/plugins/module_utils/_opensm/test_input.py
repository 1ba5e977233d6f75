# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._codes import normal_guid
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _options
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._input import RESERVED, port_problems, problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import Instance
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._wanted import bind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

VENDOR = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/mlnx_5_6_0.conf").read_text(encoding="utf-8")
TEMPLATE = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")

EVERYTHING: dict[str, t.Any] = {
    "opensm_routing_engine": ["ftree", "updn"],
    "opensm_root_guids": ["0x0002c90300f00030", "0002C90300F00040"],
    "opensm_qos": True,
    "opensm_qos_policy": "qos-ulps\n  default : 0\nend-qos-ulps",
    "opensm_sm_key": "0x00000000cafe0001",
    "opensm_log_max_size": 128,
    "opensm_log_flags": 3,
    "opensm_partitions": [{"name": "Default", "pkey": "0x7fff", "members": [{"keyword": "ALL"}]}],
    "opensm_options": {"sweep_interval": 20},
    "opensm_secret_options": {"m_key": "0x1"},
}

ETHERNET = {"name": "mlx5_0/1", "port_guid": "0x0000000000000aaa", "link_layer": "Ethernet"}
FIRST = {"name": "mlx5_1/1", "port_guid": "0x0c42a10300000011", "link_layer": "InfiniBand"}
SECOND = {"name": "mlx5_1/2", "port_guid": "0x0c42a10300000012", "link_layer": "InfiniBand"}
PORTS = [ETHERNET, FIRST, SECOND]

NAMES = (
    "fabric",
    "rdma_fabrics",
    "opensm_fabrics",
    "opensm_standby",
    "opensm_state",
    "opensm_rank",
    "opensm_port",
    "opensm_port_guid",
    "opensm_priority",
    "opensm_wait_timeout",
    "opensm_allow_foreign_master",
    "opensm_log_file",
)

anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)


# The first text on a fresh machine builds a Unicode table, which takes a second.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), anything))
def test_any_value_is_answered_with_problems_at_most(variables: dict[str, t.Any]) -> None:
    for problem in problems(variables, {"ports": PORTS}, manages=True):
        assert problem.variable.startswith(NAMES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fabric", "a b"),
        ("fabric", "../x"),
        ("fabric", "x\n"),
        ("opensm_state", "running"),
        ("opensm_rank", -1),
        ("opensm_port", "mlx5_0"),
        ("opensm_port", "mlx5_0/0"),
        ("opensm_port_guid", "0x"),
        ("opensm_port_guid", "0x0"),
        ("opensm_priority", 16),
        ("opensm_priority", "high"),
        ("opensm_wait_timeout", 0),
        ("opensm_wait_timeout", "1m"),
        ("opensm_allow_foreign_master", "maybe"),
        ("opensm_log_file", "opensm.log"),
        ("opensm_log_file", "/var/log/a b"),
        # Null and empty text would reach the module instead of the default.
        ("fabric", None),
        ("fabric", ""),
        ("opensm_state", None),
        ("opensm_rank", ""),
        ("opensm_priority", None),
        ("opensm_priority", ""),
        ("opensm_wait_timeout", None),
        ("opensm_allow_foreign_master", None),
    ],
)
def test_a_bad_value_is_named(name: str, value: t.Any) -> None:
    (problem,) = problems({name: value})
    assert (problem.variable, problem.value) == (name, value)


def test_a_guid_that_yaml_made_a_number_of() -> None:
    assert "quote it" in str(problems({"opensm_port_guid": 0x0C42A10300000011})[0])


def test_good_values() -> None:
    variables = {"fabric": "ib", "opensm_rank": "2", "opensm_port": "mlx5_1/2", "opensm_port_guid": "0C42A10300000012", "opensm_priority": 0}
    assert problems(variables, {"ports": PORTS}, manages=True) == []
    assert normal_guid("0C42A10300000012") == "0x0c42a10300000012"


@pytest.mark.parametrize(
    ("name", "guid", "index"),
    [("", "", 1), ("mlx5_1/2", "", 2), ("", "0xc42a10300000012", 2)],
)
def test_the_port(name: str, guid: str, index: int) -> None:
    ports = [Port(device="mlx5_0", port=1, **port) for port in PORTS]
    assert [bound.port for bound in bind([Instance("ib", guid, 0, port=name)], ports)] == [ports[index]]
    assert port_problems(name, guid, PORTS) == []


@pytest.mark.parametrize(
    ("variables", "ports", "text"),
    [
        ({"opensm_port": "mlx5_0/1"}, PORTS, "its link layer is Ethernet"),
        ({"opensm_port": "mlx5_9/1"}, PORTS, "mlx5_1/1 (port GUID 0x0c42a10300000011), mlx5_1/2"),
        ({"opensm_port_guid": "0x1"}, PORTS, "not the node GUID"),
        ({"opensm_port": "mlx5_1/1", "opensm_port_guid": "0x0c42a10300000012"}, PORTS, "names another port"),
        ({"opensm_port": "mlx5_1/1"}, [], "no InfiniBand port"),
        ({}, [ETHERNET], "needs an InfiniBand port"),
    ],
)
def test_a_port_that_is_not_there(variables: dict[str, t.Any], ports: list[dict[str, t.Any]], text: str) -> None:
    assert text in str(problems(variables, {"ports": ports}, manages=True)[0])
    # A host that does not run the subnet manager needs no such port.
    assert problems(variables, {"ports": ports}) == []


OF_GUEST = [{**port, "device": "first" if index == 1 else "second"} for index, port in enumerate(PORTS)]


@pytest.mark.parametrize(
    ("hcas", "variables", "refused"),
    [
        ([{"name": "first", "type": "MT4124"}, {"name": "second", "type": "MT4124"}], {}, True),
        ([{"name": "first", "virtual": True}, {"name": "second", "virtual": True}], {}, True),
        ([{"name": "first", "type": "MT4124"}, {"name": "second", "type": "MT4123"}], {}, False),
        ([{"name": "first", "type": "MT4124"}], {"opensm_port": "mlx5_1/1"}, True),
        ([{"name": "first", "type": "MT4124"}], {"opensm_port": "mlx5_1/2"}, False),
        ([{"name": "first", "type": "MT4123", "driver": "mlx4_core"}, {"name": "second", "type": "MT4100", "driver": "mlx4_core"}], {}, False),
    ],
)
def test_a_virtual_function_manages_no_fabric(hcas: list[dict[str, t.Any]], variables: dict[str, t.Any], refused: bool) -> None:
    facts = {"ports": OF_GUEST, "hcas": [{"driver": "mlx5_core", **hca} for hca in hcas]}
    found = problems(variables, facts, manages=True)
    assert ["may send no management datagrams: take the host out of the group opensm" in str(problem) for problem in found] == [True] * refused
    assert problems(variables, facts) == []


def test_what_may_be_empty() -> None:
    assert problems({"opensm_rank": None, "opensm_port": None, "opensm_port_guid": "", "opensm_log_file": ""}) == []


any_option = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(st.text(), st.integers(), st.sampled_from(["guid", "m_key"])), inner, max_size=3)
    ),
    max_leaves=5,
)


def test_what_is_declared_and_what_is_empty_have_no_problems() -> None:
    assert problems(EVERYTHING) == []
    assert problems({name: type(value)() for name, value in EVERYTHING.items() if isinstance(value, (str, list, dict))}) == []


@given(st.dictionaries(st.sampled_from([*EVERYTHING]), any_option))
def test_any_value_of_an_option_is_answered_with_problems_at_most(variables: dict[str, t.Any]) -> None:
    for problem in problems(variables):
        assert problem.variable.startswith("opensm_")
        assert str(problem)


@pytest.mark.parametrize("key", RESERVED)
def test_what_has_a_variable_or_a_reason_is_no_option(key: str) -> None:
    for name in ("opensm_options", "opensm_secret_options"):
        (problem,) = problems({name: {key: 1}})
        assert problem.variable == "%s.%s" % (name, key)
        assert problem.allowed == RESERVED[key]


def test_reserved_keys_exist() -> None:
    assert set(RESERVED) <= {*_options.parse_template(TEMPLATE), *_options.parse_template(VENDOR)}
    assert set(_options.FIRST_CLASS) <= set(RESERVED)


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"opensm_root_guids": "0x1", "opensm_routing_engine": "updn"}, "opensm_root_guids"),
        ({"opensm_root_guids": [5], "opensm_routing_engine": "updn"}, "opensm_root_guids[0]"),
        ({"opensm_root_guids": ["0x0"], "opensm_routing_engine": "updn"}, "opensm_root_guids[0]"),
        ({"opensm_root_guids": ["0x5"]}, "opensm_routing_engine"),
        ({"opensm_root_guids": ["0x5"], "opensm_routing_engine": "minhop, dor"}, "opensm_routing_engine"),
        ({"opensm_qos": "perhaps"}, "opensm_qos"),
        ({"opensm_qos_policy": "x"}, "opensm_qos"),
        ({"opensm_qos_policy": 3, "opensm_qos": True}, "opensm_qos_policy"),
        ({"opensm_log_flags": 256}, "opensm_log_flags"),
        ({"opensm_log_max_size": "1G"}, "opensm_log_max_size"),
        ({"opensm_sm_key": "secret"}, "opensm_sm_key"),
        ({"opensm_sm_key": 1 << 64}, "opensm_sm_key"),
        ({"opensm_options": ["lmc"]}, "opensm_options"),
        ({"opensm_options": {"m_key": 1}}, "opensm_options.m_key"),
        ({"opensm_secret_options": {"lmc": 1}}, "opensm_secret_options.lmc"),
    ],
)
def test_each_mistake_is_named(variables: dict[str, t.Any], name: str) -> None:
    (problem,) = problems(variables)
    assert problem.variable == name


@pytest.mark.parametrize("key", ["0x00000000cafe0001", 0xCAFE0001, "3405643777"])
def test_a_key_with_and_without_quotes(key: t.Any) -> None:
    assert problems({"opensm_sm_key": key}) == []
    assert "\nsm_key 0x00000000cafe0001\n" in _options.render(TEMPLATE, {"sm_key": key})


def test_a_vendors_engine_may_have_roots() -> None:
    assert problems({"opensm_root_guids": ["0x5"], "opensm_routing_engine": "ar_updn"}) == []


def test_no_secret_is_shown() -> None:
    wrong: dict[str, t.Any] = {
        "opensm_sm_key": "hunter2",
        "opensm_options": {"m_key": "hunter2"},
        "opensm_secret_options": {"lmc": "hunter2", "sm_key": "hunter2"},
    }
    found = problems(wrong)
    assert len(found) == 4
    assert "hunter2" not in " ".join(map(str, found))
    assert "hunter2" not in " ".join(map(str, problems({"opensm_secret_options": "hunter2"})))


def test_a_problem_of_a_value_names_the_variable() -> None:
    found = _options.problems({"routing_engine": "best", "m_key": "x", "lmc": 99}, _options.parse_template(TEMPLATE))
    assert [problem.variable for problem in found] == ["opensm_routing_engine", "opensm_secret_options.m_key", "opensm_options.lmc"]
