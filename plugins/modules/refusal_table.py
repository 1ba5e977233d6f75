#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/refusal_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: refusal_table
short_description: Ends the run where the input is wrong, and tells which hosts are left out of what
version_added: 1.0.0
description:
  - Fails if M(rdma.ofed.validate_site) has found wrong input on any host of the play, if two hosts of the play declare one address in the same
    network, or if two of them are one machine.
  - What is wrong with a host alone, and what a role would refuse to do there, fails nothing, unless O(strict) is set. The playbooks leave
    the host out of the roles in RV(left_out).
  - Prints one list for all hosts, which has each problem once, with its hosts. Where the list is long, problems that differ in values alone are one.
  - Runs on the controller. Use it with C(run_once), C(any_errors_fatal) and the C(linear) strategy, before the first change.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
options:
  variable:
    description: The variable in which each host has the result of M(rdma.ofed.validate_site).
    type: str
    default: rdma_site
  role:
    description:
      - The role whose refusals are in O(variable), as its entry point C(refusals) publishes them. The default is that the variable has the result
        of M(rdma.ofed.validate_site).
    type: str
    default: ""
  strict:
    description: Whether to fail, before the first change on any host, also for what is wrong with one host alone. It is C(rdma_strict) of the playbooks.
    type: bool
    default: false
  keep_looks:
    description:
      - Whether the roles that follow may plan on what the look has found. Playbooks that reboot nodes or reload the driver before that set
        it to V(false).
    type: bool
    default: true
seealso:
  - module: rdma.ofed.validate_site
"""

EXAMPLES = r"""
- name: Look at the node
  rdma.ofed.rdma_facts:
    keep_look: true

- name: Validate the input for the node, and foresee what would be refused
  rdma.ofed.validate_site:
    foresee: true
    fail: false
  register: rdma_site

- name: End the run for all hosts where the input of any is wrong
  rdma.ofed.refusal_table:
  run_once: true
  any_errors_fatal: true
"""

RETURN = r"""
wrong:
  description: The input that is wrong, by host. Hosts without are left out. Where there is any, the task fails with it in its message instead.
  returned: success
  type: dict
  sample: {}
left_out:
  description: By host, the roles that it is left out of, with the reasons. Hosts that take part in all are not in it.
  returned: success
  type: dict
  sample:
    node2:
      ipoib:
        - >-
          /etc/network/interfaces.d/ib configures ib0; take the interface out of the file, or remove the file, or do not declare the interface
"""
