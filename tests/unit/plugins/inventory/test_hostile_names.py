# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names that the fabric and nodes have chosen stay text in real playbooks: in inventory, in the results of filters and actions, and in what is made of them."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._fabric._baseline import Node, Pace, Picture, cable, written
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending
from ansible_collections.rdma.ofed.plugins.plugin_utils._fabric_hosts import is_host_name
from support.hostile import MARK, NAMES, TEMPLATES

ROOT = pathlib.Path(__file__).resolve().parents[4]
GOOD = "good1"


def at(folder: pathlib.Path, texts: t.Sequence[str]) -> tuple[list[str], pathlib.Path]:
    """The hostile names, which make a file of this folder where they are run, and that file."""
    mark = folder / "mark"
    # ansible-core refuses half of a character pair itself.
    return [text.replace(MARK, str(mark)) for text in texts if "\udcff" not in text], mark


def fabric_of(names: t.Sequence[str]) -> Picture:
    """A host with each name, on a switch with each name."""
    nodes, cables = {}, {}
    for number, name in enumerate(names, 1):
        switch, host = ("0x%016x" % (kind + number) for kind in (0x1000, 0x2000))
        nodes[switch] = Node(switch, "switch", name, name, 36, psid=name, firmware=name)
        nodes[host] = Node(host, "ca", name, name, 1, device_id="0x1017", psid=name, firmware=name)
        cables[cable((switch, 1), (host, 1))] = Pace("4X", "EDR")
    return Picture(nodes, cables)


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    namespace = tmp_path / "collections/ansible_collections/rdma"
    namespace.mkdir(parents=True)
    (namespace / "ofed").symlink_to(ROOT)
    return tmp_path


def ansible(folder: pathlib.Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(folder / "collections"), "COLUMNS": "10000", "ANSIBLE_LOCAL_TEMP": str(folder / "tmp")}
    done = subprocess.run(
        [sys.executable, "-m", "ansible", program, *arguments, "-e", "ansible_python_interpreter=" + sys.executable],
        cwd=str(folder),
        env={**env, "ANSIBLE_HOME": str(folder / "home"), "ANSIBLE_NOCOLOR": "true"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in done.stderr and "fault in the" not in done.stdout, done.stdout + done.stderr
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
def test_inventory_from_a_hostile_fabric_runs_nothing(folder: pathlib.Path, adds: bool) -> None:
    names, mark = at(folder, NAMES)
    # The hosts are those of inventory; their switches, PSIDs and firmware have the hostile names.
    picture = fabric_of(names)
    # A host of inventory is plugged into all switches.
    good = Node("0x1", "ca", GOOD, GOOD, len(names), psid=names[0], firmware=names[1])
    switches = [guid for guid, node in picture.nodes.items() if node.type == "switch"]
    cables = {cable(("0x1", number), (guid, 2)): Pace("4X", "EDR") for number, guid in enumerate(switches, 1)}
    picture = Picture({**picture.nodes, "0x1": good}, {**picture.cables, **cables})
    (folder / "hosts.ini").write_text(GOOD + "\n", encoding="utf-8")
    (folder / "fabric-ib.json").write_text(written(picture, "2026-11-24T12:00:00Z"), encoding="utf-8")
    compose = ["compose:", "  one: fabric_leaves | first", "keyed_groups:", "  - {prefix: x, key: fabric_leaves | first}"]
    (folder / "fabric.yml").write_text("\n".join(["plugin: rdma.ofed.fabric", "add_hosts: %s" % str(adds).lower(), *compose, ""]), encoding="utf-8")
    (folder / "play.yml").write_text(TASKS, encoding="utf-8")
    sources = ["-i", "fabric.yml"] if adds else ["-i", "hosts.ini", "-i", "fabric.yml"]
    listed = ansible(folder, "inventory", "--list", *sources)
    inventory = json.loads(listed.stdout)
    assert all(name.isidentifier() for name in inventory if name != "_meta")
    if adds:
        found = {host for group in inventory.values() for host in group.get("hosts", ())}
        assert GOOD in found and all(map(is_host_name, found)), found
        assert "not added" in listed.stderr
    done = ansible(folder, "playbook", "play.yml", *sources)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not mark.exists()
    assert "\x1b" not in done.stdout + done.stderr and "\u202e" not in done.stdout
    # The default callback writes JSON, which doubles the backslash.
    assert "x7b{ lookup(" in done.stdout


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


def test_results_of_filters_and_actions_run_nothing(folder: pathlib.Path) -> None:
    names, mark = at(folder, NAMES)
    entries = [Pending(Change(Kind.PARAMETER, name, name, name, name, "reboot"), (name,)).result() for name in names]
    ends = {name: {"fabric": "ib", "tests": [name]} for name in at(folder, TEMPLATES)[0]}
    (folder / "ends.json").write_text(json.dumps(ends), encoding="utf-8")
    (folder / "pending.json").write_text(json.dumps(entries), encoding="utf-8")
    (folder / "fabric-ib.json").write_text(written(fabric_of(names), "2026-11-24T12:00:00Z"), encoding="utf-8")
    (folder / "play.yml").write_text(OTHERS, encoding="utf-8")
    done = ansible(folder, "playbook", "-i", "localhost,", "play.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not mark.exists()
    assert "\x1b" not in done.stdout + done.stderr
    assert "{{ lookup(" in done.stdout
