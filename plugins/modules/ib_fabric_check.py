#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/ib_fabric_check.py: it judges on the controller what ib_fabric_info returns from the host.

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_fabric_check
short_description: Judges an InfiniBand fabric, and compares it with a saved baseline
version_added: 1.0.0
description:
  - Looks at the whole subnet of this host with M(rdma.ofed.ib_fabric_info), and returns what is wrong with it. Run it on one host per fabric.
  - Links are judged by what both of their ends can do. Subnet managers, names and GUIDs of nodes, and the firmware of equal switches are judged
    by each other. Hosts, subnet managers, partitions and links can be declared.
  - With O(baseline), the topology is also compared with the one in that file, so that cables that were moved or swapped, nodes and links that
    vanished or appeared, links that slowed down and cards that were replaced are findings. What one finding explains is not in another one.
  - The codes of findings are explained in C(docs/findings.md).
extends_documentation_fragment:
  - rdma.ofed.attributes.action
  - rdma.ofed.fabric.port
attributes:
  action:
    description: The action plugin runs M(rdma.ofed.ib_fabric_info) on the host. It reads and writes files on the controller.
    support: full
  check_mode:
    description: Does not write O(baseline) and the files in O(report_dir).
    support: full
  platform:
    description: The systems of the host.
    platforms: linux
    support: full
options:
  baseline:
    description:
      - The path of the baseline on the controller. Without it, or while the file is absent, the fabric is judged as it is. A file that is gone since the
        last report in O(report_dir) is an error.
      - It has the node GUIDs of the hosts whose adapters were read when it was saved.
      - It is JSON with a version of its form. A file of another form is an error.
    type: path
    default: ""
  save:
    description:
      - Write the topology to O(baseline), atomically. What differs from the former one is shown first, and no finding.
      - Nothing is written where the topology could not be read as a whole.
    type: bool
    default: false
  name:
    description: The name of the fabric in the table and the reports.
    type: str
    default: ib
  accepted:
    description:
      - Findings that are accepted. They are returned with the key C(accepted), shown apart, and are no errors until they expire.
      - Each entry has the C(code) of a finding and a C(reason), and one or more of C(host), a shell pattern, C(port) and C(link). A port is named by its
        number, its GUID, or as V(mlx5_0/1) where the node tells its device. C(link) is one end of a link, or a list of both, such as V(leaf1/12).
        C(until) is the last day, such as V(2026-12-31).
    type: list
    elements: dict
    default: []
  today:
    description: The date with which C(until) is compared. The default is that of the controller.
    type: str
    default: ""
  hosts:
    description:
      - Hosts that must be in the fabric. A host is known by the GUIDs of its adapters, from the facts of this run and from O(baseline), else by the
        names or the first words of the names of its adapters, with or without a domain.
      - Where no host has a node of its name and no GUIDs are known, that is one finding.
    type: list
    elements: str
    default: []
  subnet_managers:
    description: Hosts and switches on which subnet managers may run, by name likewise. Without any, all may.
    type: list
    elements: str
    default: []
  line:
    description:
      - The hosts that manage the fabric by the inventory, by name likewise, the designated one first. They may run subnet managers, too. A master that is not
        on the first of them but on another is a warning, a fail-over.
    type: list
    elements: str
    default: []
  managed:
    description: Whether the hosts of group C(opensm) manage the fabric. O(line) then comes from the inventory, where it is not given.
    type: bool
    default: false
  partitions:
    description: Port GUIDs that must be members of partitions, by P_Key. Not judged without the right O(sa_key). Quote the GUIDs.
    type: dict
    default: {}
  links:
    description: The width and the speed that links must have, where that is not the greatest that both of their ends can do. The most precise entry counts.
    type: list
    elements: dict
    default: []
    suboptions:
      node:
        description: The node at one end, by name. A node that neither the fabric nor O(baseline) has is an error. Without a node, the entry applies to all
          links.
        type: str
        default: ""
      port:
        description: The number of its port. V(0) stands for all.
        type: int
        default: 0
      width:
        description: Such as V(4X). The default is the greatest that both ends can do.
        type: str
        default: ""
      speed:
        description: Such as V(HDR), likewise.
        type: str
        default: ""
  gather:
    description: What to query in addition to nodes, ports and links, as in M(rdma.ofed.ib_fabric_info).
    type: list
    elements: str
    choices: [subnet_managers, partitions, switch_firmware]
    default: [subnet_managers, partitions, switch_firmware]
  node_name_map:
    description: The file on the host with names of nodes by node GUID. It may be absent.
  sa_key:
    description: The key for trusted queries, as in M(rdma.ofed.ib_fabric_info).
    type: str
    default: ""
  adapters_of:
    description:
      - Hosts whose adapters are known by PSID and firmware from the facts that this run has gathered with M(rdma.ofed.rdma_facts). Equal adapters with
        different firmware are findings, as equal switches are, and O(baseline) has both.
    type: list
    elements: str
    default: []
  report_dir:
    description:
      - A folder on the controller, for the findings as C(NAME-findings.json), as C(NAME-findings.xml) in the form of JUnit, and as C(NAME-findings.html),
        with O(name) as NAME.
      - The HTML file is one page that needs no network. It draws the topology by rank with the health of links, and has tables of findings, nodes and links,
        the difference to O(baseline), and the numbers of findings of the last 60 runs, which the JSON file keeps.
    type: path
    default: ""
  show:
    description: Print the table.
    type: bool
    default: false
  fail:
    description: Fail where there is a finding of severity V(error).
    type: bool
    default: true
seealso:
  - module: rdma.ofed.ib_fabric_info
  - module: rdma.ofed.ib_counters
  - module: rdma.ofed.node_check
"""

EXAMPLES = r"""
- name: Save the topology
  rdma.ofed.ib_fabric_check:
    baseline: "{{ inventory_dir }}/fabric-ib.json"
    save: true
  delegate_to: "{{ groups['opensm'] | first }}"
  run_once: true
  become: true

- name: Compare the fabric with the saved topology
  rdma.ofed.ib_fabric_check:
    baseline: "{{ inventory_dir }}/fabric-ib.json"
    hosts: "{{ groups['rdma'] }}"
    subnet_managers: "{{ groups['opensm'] }}"
    show: true
  delegate_to: "{{ groups['opensm'] | first }}"
  run_once: true
  become: true

- name: Judge the fabric as it is, where the cables to a gateway can do no more
  rdma.ofed.ib_fabric_check:
    links:
      - {node: gateway1, width: 4X, speed: FDR}
    fail: false
  become: true
  register: fabric
"""

RETURN = r"""
findings:
  description: What is wrong, the worst first.
  returned: always
  type: list
  elements: dict
  contains:
    severity:
      description: V(error), V(warning) or V(notice).
      type: str
    code:
      description: What is wrong. Each code has a paragraph in C(docs/findings.md).
      type: str
    object:
      description: The link, node, port, switch or host.
      type: str
    ends:
      description: The nodes and ports that it is about, with C(node_guid), C(name) and C(port), which is V(0) for the node itself.
      type: list
      elements: dict
    found:
      description: What was found, in words.
      type: str
    expected:
      description: What was expected, in words.
      type: str
    cause:
      description: The likely cause.
      type: str
    next_step:
      description: What to do next.
      type: str
    accepted:
      description: Of a finding in O(accepted), C(until), C(reason), and whether it has C(expired).
      type: dict
  sample:
    - severity: error
      code: links_swapped
      object: leaf1 port 5 - leaf2 port 5 and leaf1 port 6 - leaf2 port 6
      ends:
        - {node_guid: "0x506b4b0300820910", name: leaf1, port: 5}
        - {node_guid: "0x506b4b0300820a10", name: leaf2, port: 5}
        - {node_guid: "0x506b4b0300820910", name: leaf1, port: 6}
        - {node_guid: "0x506b4b0300820a10", name: leaf2, port: 6}
      found: leaf1 port 5 - leaf2 port 6 and leaf1 port 6 - leaf2 port 5
      expected: leaf1 port 5 - leaf2 port 5 and leaf1 port 6 - leaf2 port 6
      cause: cables were plugged in differently
      next_step: exchange one end of each; if the change is meant to stay, save a new baseline
compared:
  description: Whether the fabric was compared with a baseline.
  returned: always
  type: bool
saved:
  description: Whether a baseline was to be saved.
  returned: always
  type: bool
differences:
  description: With O(save), what differs from the former baseline, each in the form of RV(findings).
  returned: always
  type: list
  elements: dict
  sample: []
totals:
  description: How many nodes, ports and links the fabric has, as from M(rdma.ofed.ib_fabric_info).
  returned: always
  type: dict
  sample: {switches: 2, cas: 3, routers: 0, ports: 76, links: 5, degraded: 0}
problems:
  description: What could not be found out and was not judged, as from M(rdma.ofed.ib_fabric_info).
  returned: always
  type: list
  elements: dict
  sample: []
verdict:
  description: The first error in one sentence, and how many more there are. Empty without errors.
  returned: always
  type: str
  sample: "fabric ib: node7: found not in the fabric, expected at leaf1 port 7 (node_lost)"
table:
  description: The table, line by line.
  returned: always
  type: list
  elements: str
  sample: ["Fabric ib: 2 switches, 3 adapters, 5 links", "", "No findings."]
"""
