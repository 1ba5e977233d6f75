# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.plugin_utils._arranged._rehearsal import answer
from ansible_collections.rdma.ofed.plugins.plugin_utils._inventory import inventory_of
from support.recordings import CORPUS

FABRIC = CORPUS.parent / "lab/topologies/3-nodes.topo"
TEMPLATE = (CORPUS / "opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
HOSTS = ["node1", "node2", "node3"]


class Templar:
    """Evaluates nothing."""

    def template(self, value: t.Any) -> t.Any:
        return value


def arranged(hostvars: dict[str, dict[str, t.Any]] | None = None, *, named: str = "", **given: t.Any) -> dict[str, t.Any]:
    arguments = {"source": str(FABRIC), "template": TEMPLATE, "managers": [], "variables": {}, "restart": False, "patience": 60, **given}
    task_vars = {"groups": {"all": HOSTS, "opensm": ["node1", "node2"]}, "hostvars": {host: (hostvars or {}).get(host, {}) for host in HOSTS}}
    found: dict[str, t.Any] = answer(arguments, {**task_vars, **({"fabric": named} if named else {})}, Templar())
    return found


def test_the_change_is_told_in_words() -> None:
    found = arranged(managers=["node3"], variables={"opensm_qos": True}, restart=True)["summary"]
    assert found["changes"] == [
        "the hosts of group opensm, in their order: node3",
        "opensm_qos",
        "all subnet managers are restarted, one at a time",
    ]
    assert found["title"] == "Rehearsal on the fabric ib of %s, with 1 switches and 3 adapters" % FABRIC


def test_one_of_several_fabrics_is_rehearsed_by_name() -> None:
    two = {"node2": {"fabric": "storage"}}
    assert [each["host"] for each in arranged(two, named="storage")["summary"]["before"]["managers"]] == ["node2"]
    with pytest.raises(RdmaError) as caught:
        arranged(two)
    assert "group opensm manages ib, storage; name the fabric of the file with -e fabric=NAME" in caught.value.msg
    # The only one needs no name.
    assert arranged({host: {"fabric": "storage"} for host in HOSTS})["summary"]["before"]["managers"][0]["host"] == "node1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"managers": ["node4"]}, "rehearse_managers[0] is 'node4'; allowed: node"),
        ({"managers": ["node1", "node1"]}, "each host once"),
        ({"variables": {"opensm_prioritty": 3}}, "rehearse_variables is 'opensm_prioritty'; allowed: opensm_priority"),
        ({"variables": {"opensm_priority": 99}}, "rehearse_variables.opensm_priority is 99"),
        ({"variables": {"opensm_state": "absent"}}, "a rehearsal changes no other variable"),
        ({"source": "/no/such/file"}, "/no/such/file can't be read: No such file or directory. Next: on a host of the fabric, run: ibnetdiscover > FILE"),
    ],
)
def test_wrong_input_is_named(given: dict[str, t.Any], said: str) -> None:
    with pytest.raises(RdmaError) as caught:
        arranged(**given)
    assert said in caught.value.msg


def test_without_a_group_there_is_nothing_to_rehearse() -> None:
    with pytest.raises(RdmaError) as caught:
        answer({"source": str(FABRIC), "managers": [], "variables": {}}, {"groups": {"all": HOSTS}, "hostvars": {host: {} for host in HOSTS}}, Templar())
    assert "group opensm has no host" in caught.value.msg


INVENTORY = """\
all:
  hosts: {node1: , node2: , node3: {role: storage}}
  children:
    opensm:
      hosts: {node3: , node1: }
      vars: {opensm_standby: true, opensm_priority: "{{ 4 + 6 }}"}
"""


def test_an_inventory_with_the_change(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "inventory.yml"
    path.write_text(INVENTORY, encoding="utf-8")
    changed = inventory_of(str(path), DataLoader())
    arguments = {"source": str(FABRIC), "template": TEMPLATE, "managers": [], "variables": {}, "restart": False, "patience": 60, "after": "changed"}
    now = {"groups": {"all": HOSTS, "opensm": ["node1"]}, "hostvars": {host: {} for host in HOSTS}}
    found = answer(arguments, now, Templar(), changed=changed)["summary"]
    assert found["changes"] == ["the inventory becomes changed"]
    assert [(each["host"], each["part"], each["priority"]) for each in found["before"]["managers"]] == [("node1", "master", 13)]
    assert [(each["host"], each["part"], each["priority"]) for each in found["after"]["managers"]] == [("node3", "master", 10), ("node1", "standby", 9)]


@pytest.mark.parametrize("text", [None, "all: {hosts: {}}"])
def test_an_inventory_that_is_none_is_refused(tmp_path: pathlib.Path, text: str | None) -> None:
    path = tmp_path / "inventory.yml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(RdmaError) as caught:
        inventory_of(str(path), DataLoader())
    assert str(path) in caught.value.msg
