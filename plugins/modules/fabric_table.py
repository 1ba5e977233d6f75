#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/fabric_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_table
short_description: Prints the outcomes of node_check on all hosts as one table
version_added: 1.0.0
description:
  - Prints one table for all hosts of the play, and below it the deviations, each once with its hosts. What explains others comes first.
  - Of many hosts it prints no more than a screen. What is wrong comes first, and the table has the rows of few bad hosts. Deviations that differ in
    objects and values only are one line, with the most frequent of them.
  - What all hosts of a fabric see is one fault of the fabric. The designated host fails for it, or the first host that sees it. The others wait.
  - A host without a result, because it was unreachable or the check itself failed, counts as deviating.
  - Also compares the hosts with each other. This is the only way to find two masters that do not see each other, in a fabric that is split.
  - Different versions are shown, and are no deviation. They are firmware of adapters with one PSID, and releases of one vendor's stack.
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
attributes:
  check_mode:
    description: Does not write the files in O(report_dir).
    support: full
options:
  variable:
    description: The name of the variable in which the result of M(rdma.ofed.node_check) is registered on each host.
    type: str
    required: true
  variables:
    description:
      - The variables in which each host has results with RV(rdma.ofed.validate_site#module:left_out). They tell why a host has no result.
    type: list
    elements: str
    default: [rdma_site]
  failures:
    description: The variables in which a host that failed has what failed, in words.
    type: list
    elements: str
    default: []
  foresee:
    description:
      - Whether to print only the deviations that no role mends, such as a link that is down, and nothing where there are none. It is for check mode,
        which does not fail for them.
    type: bool
    default: false
  full:
    description: Whether to print the whole table and all hosts, however many lines that takes.
    type: bool
    default: false
  quiet:
    description: Whether to print nothing where no host deviates.
    type: bool
    default: false
  report_dir:
    description:
      - A folder on the controller, for the findings of all hosts as C(verify-findings.json), as C(verify-findings.xml) in the form of JUnit, and as
        C(verify-findings.html), a page for a browser that needs no network. Each file is replaced.
      - The page has each finding once with its hosts, with cause and next step. Faults of a fabric come first, accepted findings last, and then all hosts,
        deviating nodes first.
      - The XML file has a test case for each finding, and one for each host without any, which passes, or is skipped where the host waits for its fabric.
    type: path
    default: ""
seealso:
  - module: rdma.ofed.node_check
"""

EXAMPLES = r"""
- name: Check the node
  rdma.ofed.node_check:
    ports: ["0000:03:00.0/1"]
    fabrics: "{{ groups | rdma.ofed.fabric_managers(hostvars, inventory_hostname, {'fabric': 'ib'}) }}"
    fail: false
  register: outcome

- name: Print the table
  rdma.ofed.fabric_table:
    variable: outcome
  register: report
  run_once: true

- name: Fail where the node deviates
  ansible.builtin.assert:
    that: inventory_hostname not in report.deviations
"""

RETURN = r"""
deviations:
  description: The deviations in words, by host. A host that is as declared is left out.
  returned: success
  type: dict
  sample:
    node2: ["port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling (look at the cable and the switch port)"]
differences:
  description: Versions that equal adapters, or hosts with one vendor's stack, should share and do not.
  returned: success
  type: list
  elements: dict
  contains:
    what:
      description: V(firmware) or V(stack).
      type: str
      sample: firmware
    of:
      description: The PSID of the adapters, or V(mlnx_ofed) or V(doca).
      type: str
      sample: MT_0000000008
    hosts:
      description: The hosts by version, that of most hosts first.
      type: dict
      sample: {"16.35.4030": [node1, node2], "16.35.2000": [node3]}
"""
