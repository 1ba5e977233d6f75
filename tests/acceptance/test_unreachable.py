# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unreachable hosts fail for themselves only: the others get everything that they would get without them."""

from __future__ import annotations

import json
import pathlib
import typing as t

import pytest
import records
import sick
import yaml
from cluster import Cluster, Run
from proofs import REAL

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
    """Return the lab's inventory with these hosts in group `opensm`."""
    inventory: dict[str, t.Any] = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))
    inventory["all"]["children"]["opensm"]["hosts"] = dict.fromkeys(hosts)
    inventory["all"]["vars"].update(opensm_standby=standby)
    return inventory


def ended(run: Run) -> set[str]:
    return {event["host"] for event in records.failures(run.events)}


@pytest.mark.parametrize("kind", [sick.REFUSED, sick.ENDLESS])
@pytest.mark.proves("fleet", debian12=REAL)
def test_a_dead_host_costs_the_others_neither_their_subnet_manager_nor_their_check(lab: Cluster, kind: str) -> None:
    """The master is down, and the inventory names another host first. A trial had left such a fabric without a subnet manager."""
    with sick.Ward() as ward:
        inventory = ward.inventory(managed(lab, "node2", "node1", standby=False), {"node1": kind})
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


@pytest.mark.proves("fleet", "fabric", debian12=REAL)
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
        assert "It could not be queried through any of node1, node2, node3" in " ".join(run.output.split()), run.output


def with_dead_hosts(lab: Cluster) -> dict[str, t.Any]:
    """Return the lab, and a host for each failure kind, named after it."""
    inventory: dict[str, t.Any] = yaml.safe_load(lab.inventory.read_text(encoding="utf-8"))
    inventory["all"]["children"]["rdma"]["hosts"].update({kind: {} for kind in sick.KINDS})
    return inventory


def of_whole_hosts(run: Run) -> set[tuple[str, str, str]]:
    return {(event["host"], event["task"], event["status"]) for event in run.events if event["event"] == "result" and event["host"].startswith("node")}


# These nodes cannot build a bundle, with or without the dead hosts.
BUNDLE = {"ofed_source": "mlnx_ofed", "ofed_version": "24.10-0.7.0.0", "ofed_bundle": "/nosuch.tgz"}


@pytest.mark.parametrize(
    ("playbook", "variables"),
    [("bootstrap", {}), ("build", BUNDLE), ("pair_test", {"pair_test_tests": ["ibping"], "pair_test_seconds": 1})],
)
@pytest.mark.proves("fleet", debian12=REAL)
def test_dead_hosts_are_named_and_cost_the_others_nothing(lab: Cluster, playbook: str, variables: dict[str, t.Any]) -> None:
    options = ("-e", json.dumps(variables))
    with sick.Ward() as ward:
        run = lab.play(playbook, *options, inventory=ward.inventory(with_dead_hosts(lab), {kind: kind for kind in sick.KINDS}), timeout=600)
    assert run.status != 0 and ended(run) >= set(sick.KINDS), run.output
    alone = lab.play(playbook, *options)
    # Only the summary mentions the other hosts.
    assert of_whole_hosts(run) == of_whole_hosts(alone), run.output + alone.output
    said = run.output.rpartition("Summary: ")[2].partition("\nPLAY RECAP")[0]
    assert all("  %s: " % kind in said for kind in sick.KINDS) and "Next: " in said, run.output


@pytest.mark.parametrize("hosts", [(sick.ENDLESS, "node1"), ("node1", sick.REFUSED)])
@pytest.mark.proves("fleet", debian12=REAL)
def test_a_measurement_with_a_dead_host_names_it(lab: Cluster, hosts: tuple[str, str]) -> None:
    with sick.Ward() as ward:
        inventory = ward.inventory(with_dead_hosts(lab), {kind: kind for kind in sick.KINDS})
        run = lab.play("gpudirect_test", "-e", json.dumps({"gpudirect_test_hosts": hosts}), inventory=inventory, timeout=600)
    (dead,) = set(hosts) - {"node1"}
    assert run.status != 0 and dead in ended(run), run.output
    assert "%s: " % dead in run.output.partition("Wrong or refused:")[2], run.output
    assert "Run the writing end" not in run.output
