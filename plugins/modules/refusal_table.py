#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/refusal_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: refusal_table
short_description: Ends the run where a role would refuse to do its work on any host
version_added: 1.0.0
description:
  - Fails if M(rdma.ofed.validate_site) has foreseen refusals on any host of the play. The message has each of them once, with its hosts.
  - Runs on the controller. Use it with C(run_once), C(any_errors_fatal) and the C(linear) strategy, before the first change.
author:
  - The rdma.ofed engineers (@rdma-ofed)
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.action
options:
  variable:
    description: The variable in which each host has the result of M(rdma.ofed.validate_site).
    type: str
    default: rdma_site
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
  register: rdma_site
  any_errors_fatal: true

- name: End the run for all hosts where any role would refuse its work on any of them
  rdma.ofed.refusal_table:
  run_once: true
  any_errors_fatal: true
"""

RETURN = r"""
refusals:
  description: What would be refused, by host. Hosts with nothing to refuse are left out.
  returned: always
  type: dict
  sample:
    node2:
      - >-
        /etc/network/interfaces.d/ib configures ib0; take the interface out of the file, or remove the file, or do not declare the interface
"""
