# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names chosen by the fabric or by nodes stay plain text in real playbooks: in inventory, in results of filters and actions, and in generated files."""

from __future__ import annotations

import json
import pathlib
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Node, Pace, Picture, cable, written
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.plugin_utils._fabric_hosts import is_host_name
from support import playbook_runs
from support.hostile import MARK, NAMES, TEMPLATES

GOOD = "good1"


def at(folder: pathlib.Path, texts: t.Sequence[str]) -> tuple[list[str], pathlib.Path]:
    """Return the hostile names, which would create a file in this tmp_path if executed, and that file."""
    mark = folder / "mark"
    # ansible-core itself refuses a lone surrogate.
    return [text.replace(MARK, str(mark)) for text in texts if "\udcff" not in text], mark


def fabric_of(names: t.Sequence[str]) -> Picture:
    """Return a fabric with a host for each name, on a switch for each name."""
    nodes, cables = {}, {}
    for number, name in enumerate(names, 1):
        switch, host = ("0x%016x" % (kind + number) for kind in (0x1000, 0x2000))
        nodes[switch] = Node(switch, "switch", name, name, 36, psid=name, firmware=name)
        nodes[host] = Node(host, "ca", name, name, 1, device_id="0x1017", psid=name, firmware=name)
        cables[cable((switch, 1), (host, 1))] = Pace("4X", "EDR")
    return Picture(nodes, cables)


def ansible(folder: pathlib.Path, program: str, *arguments: str) -> playbook_runs.Done:
    done = playbook_runs.run(program, *arguments, "-e", "ansible_python_interpreter=" + sys.executable, folder=folder, COLUMNS="10000")
    assert "Traceback" not in done.errors and "bug in the" not in done.shown, done.output
    return done


TASKS = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.debug:
        msg: "{{ inventory_hostname }} {{ fabric_leaves }} {{ fabric_leaves | first }} {{ group_names }} {{ one | default('') }}"
    - ansible.builtin.set_fact:
        kept: "{{ hostvars[inventory_hostname].fabric_leaves | join(' ') }}"
    - ansible.builtin.debug:
        msg: "{{ kept }}"
    - ansible.builtin.command:
        argv: [echo, "{{ fabric_leaves | first }}"]
      register: said
    - ansible.builtin.debug:
        msg: "{{ said.stdout }} {{ said }}"
"""


@pytest.mark.parametrize("adds", [False, True])
def test_inventory_from_a_hostile_fabric_runs_nothing(tmp_path: pathlib.Path, adds: bool) -> None:
    names, mark = at(tmp_path, NAMES)
    # The hosts are those of the inventory; their switches, PSIDs and firmware have the hostile names.
    picture = fabric_of(names)
    # An inventory host is connected to all switches.
    good = Node("0x1", "ca", GOOD, GOOD, len(names), psid=names[0], firmware=names[1])
    switches = [guid for guid, node in picture.nodes.items() if node.type == "switch"]
    cables = {cable(("0x1", number), (guid, 2)): Pace("4X", "EDR") for number, guid in enumerate(switches, 1)}
    picture = Picture({**picture.nodes, "0x1": good}, {**picture.cables, **cables})
    (tmp_path / "hosts.ini").write_text(GOOD + "\n", encoding="utf-8")
    (tmp_path / "fabric-ib.json").write_text(written(picture, "2026-11-24T12:00:00Z"), encoding="utf-8")
    compose = ["compose:", "  one: fabric_leaves | first", "keyed_groups:", "  - {prefix: x, key: fabric_leaves | first}"]
    (tmp_path / "fabric.yml").write_text("\n".join(["plugin: rdma.ofed.fabric", "add_hosts: %s" % str(adds).lower(), *compose, ""]), encoding="utf-8")
    (tmp_path / "play.yml").write_text(TASKS, encoding="utf-8")
    sources = ["-i", "fabric.yml"] if adds else ["-i", "hosts.ini", "-i", "fabric.yml"]
    listed = ansible(tmp_path, "inventory", "--list", *sources)
    inventory = json.loads(listed.shown)
    assert all(name.isidentifier() for name in inventory if name != "_meta")
    if adds:
        found = {host for group in inventory.values() for host in group.get("hosts", ())}
        assert GOOD in found and all(map(is_host_name, found)), found
        assert "not added" in listed.errors
    done = ansible(tmp_path, "playbook", "play.yml", *sources)
    assert done.status == 0, done.output
    assert not mark.exists()
    assert "\x1b" not in done.output and "\u202e" not in done.shown
    # The default callback writes JSON, which doubles the backslash.
    assert "x7b{ lookup(" in done.shown


OTHERS = """
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.set_fact:
        ends: "{{ lookup('ansible.builtin.file', 'ends.json') | from_json }}"
        rdma_pending: "{{ lookup('ansible.builtin.file', 'pending.json') | from_json }}"
        baseline: "{{ lookup('ansible.builtin.file', 'fabric-ib.json') }}"
    - rdma.ofed.arrange: {kind: pairs, ends: "{{ ends }}"}
      register: round
    - ansible.builtin.set_fact:
        words: "{{ hostvars['localhost'].rdma_pending | rdma.ofed.pending_words }}"
        merged: "{{ hostvars['localhost'].rdma_pending | rdma.ofed.merge_pending(hostvars['localhost'].rdma_pending) }}"
        first: "{{ (hostvars['localhost'].rdma_pending | rdma.ofed.merge_pending)[0].subject }}"
        topology: "{{ hostvars['localhost'].baseline | rdma.ofed.slurm_topology }}"
    - ansible.builtin.debug:
        msg: "{{ round }} {{ words }} {{ words | first }} {{ merged }} {{ first }} {{ topology }} {{ hostvars['localhost'].words }}"
    - rdma.ofed.report: {kind: pending}
      register: table
    - ansible.builtin.debug:
        msg: "{{ table }} {{ table.pending.localhost[0].subject }} {{ hostvars['localhost'].table.pending }}"
    - ansible.builtin.fail:
        msg: "{{ table.pending.localhost | rdma.ofed.pending_words | join(', ') }}"
      ignore_errors: true
"""


def test_results_of_filters_and_actions_run_nothing(tmp_path: pathlib.Path) -> None:
    names, mark = at(tmp_path, NAMES)
    entries = [Pending(Change(Kind.PARAMETER, name, name, name, name, "reboot"), (name,)).result() for name in names]
    ends = {name: {"fabric": "ib", "tests": [name]} for name in at(tmp_path, TEMPLATES)[0]}
    (tmp_path / "ends.json").write_text(json.dumps(ends), encoding="utf-8")
    (tmp_path / "pending.json").write_text(json.dumps(entries), encoding="utf-8")
    (tmp_path / "fabric-ib.json").write_text(written(fabric_of(names), "2026-11-24T12:00:00Z"), encoding="utf-8")
    (tmp_path / "play.yml").write_text(OTHERS, encoding="utf-8")
    done = ansible(tmp_path, "playbook", "-i", "localhost,", "play.yml")
    assert done.status == 0, done.output
    assert not mark.exists()
    assert "\x1b" not in done.output
    assert "{{ lookup(" in done.shown
