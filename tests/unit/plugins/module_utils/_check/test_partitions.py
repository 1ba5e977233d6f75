# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions of a node's ports, as the inventory declares them and as the node has them."""

from __future__ import annotations

import pathlib
import types
import typing as t

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import node_check
from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import wanted_of
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._look import look
from ansible_collections.rdma.ofed.plugins.module_utils._check._live._types import Live, Manager, Master, Query, Scope
from ansible_collections.rdma.ofed.plugins.module_utils._check._partitions import partition_findings
from ansible_collections.rdma.ofed.plugins.module_utils._check._types import Fabric
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Port
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions._input import members_of, memberships
from ansible_collections.rdma.ofed.plugins.modules.node_check import OPTIONS

PORT = Port(name="mlx5_0/1", device="mlx5_0", port=1, link_layer="InfiniBand", state="ACTIVE", phys_state="LinkUp", sm_lid=1)
DECLARED = Fabric(partitions={1: "limited", 2: "full", 3: "both"})
MASTER = Master("0x1", 3)


def live(table: t.Mapping[int, bool], master: Master | None = MASTER, **port: t.Any) -> Live:
    return Live((PORT._replace(**port),), managers=(Manager(master=master, tables={PORT.name: table}),))


def said(found: Live) -> list[str]:
    return [_words.line_of(_words.result(finding)) for finding in partition_findings(found, DECLARED)]


@pytest.mark.parametrize("table", [{1: False, 2: True, 3: True}, {1: False, 2: True, 3: True, 0x7FFF: True, 9: False}])
def test_a_member_of_all_its_partitions(table: dict[int, bool]) -> None:
    assert said(live(table)) == []


def test_a_port_that_the_subnet_manager_does_not_know() -> None:
    found = said(live({0x7FFF: True}))
    assert found[0] == (
        "P_Key table of mlx5_0/1 0x0001: wanted limited member, found no member (opensm_partitions of fabric ib declares it, and the subnet manager may know a "
        "former port GUID of this node: run rdma.ofed.site; with --limit, for this node and the group opensm)"
    )
    assert len(found) == 3


def test_another_membership() -> None:
    assert "0x0002: wanted full member, found limited member" in said(live({1: False, 2: False, 3: True}))[0]


@pytest.mark.parametrize(
    "found",
    [live({0x7FFF: True}, master=None), live({0x7FFF: True}, Master("0x1", 2)), live({}), live({0x7FFF: True}, state="INIT"), Live((PORT,))],
)
def test_where_nothing_assigns_them_nothing_is_compared(found: Live) -> None:
    assert said(found) == []


def test_virtual_functions_have_the_partitions_of_their_host() -> None:
    assert said(live({0x7FFF: True})._replace(virtual=("mlx5_0",))) == []


def test_the_tables_of_a_node(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "sys/class/infiniband/mlx5_0/ports/1/pkeys"
    folder.mkdir(parents=True)
    for index, pkey in enumerate(("0xffff", "0x0001", "0x8002", "0x0000")):
        (folder / str(index)).write_text(pkey + "\n", encoding="utf-8")

    class Nothing:
        def has(self, _tool: str) -> bool:
            return False

    run: t.Any = Nothing()
    tables = [look(run, Scope(queries=[Query(partitions=wanted)]), Live((PORT,)), root=str(tmp_path)).managers[0].tables for wanted in (True, False)]
    assert tables == [{"mlx5_0/1": {0x7FFF: True, 1: False, 2: True}}, {}]


def entry(pkey: int, *members: t.Mapping[str, str]) -> dict[str, t.Any]:
    return {"name": "p%d" % pkey, "pkey": pkey, "members": list(members)}


LIMITED = {"membership": "limited"}
PARTITIONS = [
    entry(0x7FFF, {"keyword": "ALL"}, {"group": "all"}),
    entry(0x8001, {"group": "gpu"}, {"host": "node1", **LIMITED}),
    entry(2, {"group": "gpu", **LIMITED}),
    entry(3, {"host": "node2"}),
    entry(4, {"host": "node1"}, {"port_guid": "0x0002c90300000001", **LIMITED}),
    entry(5, {"host": "node1", **LIMITED}, {"keyword": "SELF"}),
    entry(6, {"keyword": "ALL"}),
]


def test_what_is_declared_for_a_host() -> None:
    groups = {"all", "gpu"}
    assert memberships(members_of(PARTITIONS), "node1", groups) == {0x7FFF: "full", 1: "limited", 2: "limited", 5: "limited"}
    # opensm itself makes the port of a subnet manager a member of these.
    assert memberships(members_of(PARTITIONS), "node1", groups, manages=True) == {1: "limited", 2: "limited"}
    assert memberships(members_of(PARTITIONS), "node2", {"all"}) == {0x7FFF: "full", 3: "full"}


@pytest.mark.parametrize("declared", [None, "", "x", 7, {}, [None, 7, {}, {"name": "a"}], [entry(1, {"host": "", "x": "y"})]])
def test_wrong_declarations_are_reported_elsewhere(declared: t.Any) -> None:
    assert memberships(members_of(declared), "node1", {"all"}) == {}


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def completed(fabric: t.Any, task: str = "1", host: str = "node1", **designated: t.Any) -> t.Any:
    action = node_check.ActionModule.__new__(node_check.ActionModule)
    action._task = types.SimpleNamespace(_uuid=task)
    return action._completed(fabric, {"inventory_hostname": host, "group_names": ["gpu"], "hostvars": {"sm1": designated}})


def test_the_designated_host_declares_them() -> None:
    fabric = {"fabric": "ib", "designated_host": "sm1"}
    found = completed(fabric, opensm_partitions=PARTITIONS[1:3])
    assert found == {**fabric, "partitions": {"0x0001": "limited", "0x0002": "limited"}}
    options = {name: argument.get("default") for name, argument in OPTIONS.items()}
    of_fabric = {name: option.get("default") for name, option in OPTIONS["fabrics"]["options"].items()}
    assert wanted_of({**options, "fabrics": [{**of_fabric, **found}]}).fabrics[0].partitions == {1: "limited", 2: "limited"}
    own = {"ib": {"partitions": PARTITIONS[2:3]}}
    assert completed(fabric, "2", opensm_partitions=PARTITIONS, opensm_fabrics=own)["partitions"] == {"0x0002": "limited"}


def test_the_declaration_is_read_once_for_all_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partition may name each of them, so reading it for each would cost the square."""
    read: list[t.Any] = []
    monkeypatch.setattr(node_check, "members_of", lambda declared: read.append(declared) or members_of(declared))
    fabric = {"fabric": "ib", "designated_host": "sm1"}
    found = {host: completed(fabric, host=host, opensm_partitions=PARTITIONS[3:4])["partitions"] for host in ("node1", "node2", "node3")}
    assert found == {"node1": {}, "node2": {"0x0003": "full"}, "node3": {}}
    assert len(read) == 1


@pytest.mark.parametrize("fabric", [None, 7, {}, {"designated_host": ""}, {"designated_host": "gone"}, {"fabric": "ib"}])
def test_without_a_designated_host_nothing_is_declared(fabric: t.Any) -> None:
    assert completed(fabric) == fabric
