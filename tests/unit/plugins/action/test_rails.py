# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names of rails on the controller: in the facts, and in what modules get."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleError
from ansible_collections.rdma.ofed.plugins.action import (
    fabric_monitor,
    ib_pair_test,
    ipoib,
    ipoib_network,
    job_test,
    kernel_modules,
    node_check,
    opensm,
    rdma_facts,
    validate_site,
)
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

GUID = "0x0002c90300001001"
PORT = {"device": "mlx5_0", "name": "mlx5_0/1", "port": 1, "link_layer": "InfiniBand", "port_guid": GUID, "pci": "0000:18:00.0", "apart": ""}
FACTS: dict[str, t.Any] = {"ports": [PORT], "hcas": [{"name": "mlx5_0", "node_guid": GUID, "pci": "0000:18:00.0"}], "adapters": []}
NAMED = {**FACTS, "ports": [{**PORT, "rails": ["rdma0", "rdma0/1"]}]}
PLACE = "0000:18:00.0/1"


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def run(plugin: t.Any, arguments: dict[str, t.Any], variables: dict[str, t.Any], answer: t.Any = None, template: t.Any = lambda value: value) -> t.Any:
    """Return the arguments that the module gets, and the result."""
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args=arguments, action="rdma.ofed." + plugin.__name__.rpartition(".")[2])
    connection = mock.Mock()
    connection._shell.tmpdir = None
    action = plugin.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(template=template), mock.Mock())
    action._execute_module = mock.Mock(return_value=answer or {"changed": False})
    groups = {"all": ["node1"], "rdma": ["node1"], "opensm": ["node1"]}
    own = {"ansible_facts": {"rdma": marked(NAMED)}, **variables}
    result = action.run(task_vars={"inventory_hostname": "node1", "groups": groups, "hostvars": {"node1": own}, **own})
    return action._execute_module.call_args.kwargs["module_args"], result


@pytest.mark.parametrize("declared", ["pci_order", {"rdma0": {"pci": "0000:18:00.0"}}, {"rdma0": {"port_guid": GUID}}])
def test_facts_have_the_names(declared: t.Any) -> None:
    answer = {"changed": False, "ansible_facts": {"rdma": FACTS}}
    _arguments, result = run(rdma_facts, {}, {"rdma_rails": declared, "ansible_facts": {}}, answer)
    assert result["ansible_facts"]["rdma"]["ports"] == NAMED["ports"]


@pytest.mark.parametrize("declared", [None, "nonsense", {"mlx5_0": {}}])
def test_without_rails_facts_stay(declared: t.Any) -> None:
    answer = {"changed": False, "ansible_facts": {"rdma": FACTS}}
    _arguments, result = run(rdma_facts, {}, {"rdma_rails": declared, "ansible_facts": {}}, answer)
    assert result["ansible_facts"]["rdma"]["ports"] == FACTS["ports"]


@pytest.mark.parametrize(
    ("plugin", "given", "expected"),
    [
        (ib_pair_test, {"port": "rdma0"}, {"port": PLACE}),
        (job_test, {"port": "rdma0/1"}, {"port": PLACE}),
        (fabric_monitor, {"fabrics": {"ib": ["rdma0"]}, "ports": ["rdma0"]}, {"fabrics": {"ib": [PLACE]}, "ports": [PLACE]}),
    ],
)
def test_modules_get_names_that_the_node_knows(plugin: t.Any, given: dict[str, t.Any], expected: dict[str, t.Any]) -> None:
    assert run(plugin, given, {"rdma_rails": "pci_order"})[0] == expected
    # Without facts, the declaration tells.
    assert run(plugin, given, {"rdma_rails": {"rdma0": {"pci": "18:00.0"}}, "ansible_facts": {}})[0] == expected
    assert run(plugin, given, {})[0] == given

    def broken(_value: t.Any) -> t.Any:
        raise AnsibleError("undefined")

    assert run(plugin, given, {"rdma_rails": "{{ undefined }}"}, template=broken)[0] == given


def test_a_subnet_manager_gets_its_port() -> None:
    one = run(opensm, {"by_inventory": True}, {"rdma_rails": "pci_order", "opensm_port": "rdma0"})[0]
    assert [each["port"] for each in one["instances"]] == [PLACE]
    several = run(opensm, {"by_inventory": True}, {"rdma_rails": "pci_order", "rdma_fabrics": {"compute": ["rdma0"]}})[0]
    assert [(each["fabric"], each["port"]) for each in several["instances"]] == [("compute", PLACE)]


def test_a_node_is_compared_by_ports() -> None:
    names = {"ports": "node_check_ports", "fabrics": "node_check_fabrics"}
    fabrics = [{"fabric": "ib", "ports": ["rdma0"]}]
    variables = {"rdma_rails": "pci_order", "node_check_ports": ["rdma0"], "node_check_fabrics": fabrics, "ansible_play_hosts_all": []}
    with mock.patch.object(node_check.ActionModule, "_looked", return_value=None):
        found = run(node_check, {"from_variables": names}, variables)[0]
    assert found == {"ports": [PLACE], "fabrics": [{"fabric": "ib", "ports": [PLACE]}]}


@pytest.mark.parametrize("plugin", [ipoib, ipoib_network])
def test_interfaces_get_the_ports_and_names_of_rails(plugin: t.Any) -> None:
    given = {"interfaces": [{"rail": "rdma0", "addresses": ["10.20.0.1/24"]}]}
    expected = {"pci": "0000:18:00.0", "name": "ib0", "addresses": ["10.20.0.1/24"]}
    assert run(plugin, given, {"rdma_rails": "pci_order"})[0]["interfaces"] == [expected]
    assert run(plugin, given, {})[0]["interfaces"] == given["interfaces"]


def test_the_module_gets_one_rail_after_the_other() -> None:
    given = {"rails": "pci_order", "load": []}
    assert run(kernel_modules, given, {"rdma_rails": "pci_order"})[0]["rails"] == {"rdma0": {"pci": "0000:18:00.0", "interface": "ib0"}}
    assert run(kernel_modules, given, {"rdma_rails": "pci_order", "ansible_facts": {}})[0] == given


def validated(**variables: t.Any) -> dict[str, t.Any]:
    task = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args={"fail": False}, action="rdma.ofed.validate_site")
    connection = mock.Mock()
    connection._shell.tmpdir = None
    action = validate_site.ActionModule(task, connection, mock.Mock(), mock.Mock(), mock.Mock(template=lambda value: value), mock.Mock())
    own = {"ansible_facts": {"rdma": marked({**NAMED, "netdevs": [], "modules": []})}, **variables}
    groups = {"all": ["node1"], "rdma": ["node1"], "opensm": ["node1"]}
    found: dict[str, t.Any] = action.run(
        task_vars={"inventory_hostname": "node1", "groups": groups, "hostvars": {"node1": own}, "ansible_play_hosts": ["node1"], **own}
    )
    return found


def test_the_validation_knows_the_interfaces() -> None:
    entry = {"rail": "rdma0", "addresses": ["10.20.0.1/24"]}
    good = validated(rdma_rails="pci_order", ipoib_interfaces=[entry], rdma_ports=["rdma0"])
    assert (good["wrong"], good["left_out"].get("ipoib")) == ([], None)
    # That the order gives no such rail is a fault of this host alone, and that a mapping has none is wrong in the inventory.
    lacking = validated(rdma_rails="pci_order", ipoib_interfaces=[{**entry, "rail": "rdma3"}])
    assert lacking["wrong"] == []
    assert "ipoib_interfaces[0].rail is 'rdma3'; allowed: a rail of this host: rdma0" in " ".join(lacking["left_out"]["ipoib"])
    wrong = validated(rdma_rails={"left": {"pci": "0000:18:00.0"}}, ipoib_interfaces=[entry], rdma_ports=["rdma0"])
    twice = {"left": {"pci": "0000:18:00.0"}, "right": {"port_guid": GUID}}
    assert "rdma_rails.right is " in " ".join(validated(rdma_rails=twice)["left_out"]["kernel_modules"])
    assert [text.partition(" is ")[0] for text in wrong["wrong"]] == ["rdma_ports[0]", "ipoib_interfaces[0].rail"]
