# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts that do not answer end for themselves: the others get all that they would get without them."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
import records
import sick
import yaml
from cluster import Cluster, Run

LOOK = """\
- hosts: all
  gather_facts: false
  tasks:
    - name: Look
      rdma.ofed.rdma_facts:
      timeout: 6
"""


def test_each_illness_is_to_ansible_what_it_is_called(tmp_path: pathlib.Path) -> None:
    book = tmp_path / "look.yml"
    book.write_text(LOOK, encoding="utf-8")
    inventory = {"all": {"vars": {"ansible_python_interpreter": "/usr/bin/python3"}, "children": {"rdma": {"hosts": {kind: {} for kind in sick.KINDS}}}}}
    with sick.Ward() as ward:
        run = Cluster().play(str(book), inventory=ward.inventory(inventory, {kind: kind for kind in sick.KINDS}))
    found = {event["host"]: event["status"] for event in run.events if event["event"] == "result"}
    assert found == {kind: "unreachable" if kind in sick.UNREACHABLE else "failed" for kind in sick.KINDS}, run.output


def managed(lab: Cluster, *hosts: str, standby: bool) -> dict[str, t.Any]:
    """The inventory of the lab with these hosts in group C(opensm)."""
    inventory: dict[str, t.Any] = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))
    inventory["all"]["children"]["opensm"]["hosts"] = dict.fromkeys(hosts)
    inventory["all"]["vars"].update(opensm_standby=standby)
    return inventory


def ended(run: Run) -> set[str]:
    return {event["host"] for event in records.failures(run.events)}


@pytest.mark.parametrize("kind", [sick.REFUSED, sick.ENDLESS])
def test_a_dead_host_costs_the_others_neither_their_subnet_manager_nor_their_check(lab: Cluster, kind: str) -> None:
    """The master is dead, and the inventory names another host first: seen in a trial, in which the fabric stayed without a subnet manager."""
    with sick.Ward() as ward:
        declared = managed(lab, "node2", "node1", standby=False)
        if kind == sick.ENDLESS:
            # Long enough for a whole host on a busy machine.
            declared["all"]["vars"]["rdma_look_timeout"] = 60
        inventory = ward.inventory(declared, {"node1": kind})
        lab.shell("node1", "systemctl mask --runtime --now rdma-opensm@ib")
        try:
            run = lab.play("site", inventory=inventory)
            assert run.status != 0 and ended(run) == {"node1"}, run.output
            assert "Summary: 2 of 3 hosts done" in run.output, run.output
            assert "0x2c90300001011" in lab.shell("node2", "sminfo").stdout
            again = lab.play("site", inventory=inventory)
            assert ended(again) == {"node1"} and records.changes(again.events) == {}, again.output
            seen = lab.play("verify", inventory=inventory)
            assert ended(seen) == {"node1"}, seen.output
        finally:
            lab.shell("node1", "systemctl unmask --runtime rdma-opensm@ib")
    assert lab.play("site").status == 0
    lab.wait_until_green(120)


def test_the_fabric_is_judged_through_the_next_host_that_answers(lab: Cluster) -> None:
    with sick.Ward() as ward:
        inventory = ward.inventory(managed(lab, "node1", "node2", standby=False), {"node1": sick.REFUSED})
        run = lab.play("fabric", inventory=inventory)
        assert run.status == 0, run.output
        assert "Fabric ib: 1 switch, 3 adapters, 3 links" in run.output
        assert "The fabric was not judged through node1" in run.output
        nobody = ward.inventory(managed(lab, "node1", "node2", standby=False), dict.fromkeys(("node1", "node2", "node3"), sick.REFUSED))
        run = lab.play("fabric", inventory=nobody)
        assert run.status != 0
        assert "It could be asked through none of node1, node2, node3" in " ".join(run.output.split()), run.output
