#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/rolling_batches.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: rolling_batches
short_description: Makes the batches of a rolling run
version_added: 1.0.0
description:
  - Puts the hosts of the play that have work to do into batches, group by group. No batch has hosts of two groups.
  - Hosts of group C(opensm) come last, each in a batch of its own. Those that are designated to run the subnet manager of a
    fabric come after those that are not.
  - Prints the batches. Returns their hosts in order and their sizes, for C(hosts) and C(serial) of the next play.
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
options:
  due:
    description: The name of the variable that is true on the hosts that have something to do.
    type: str
    required: true
  groups:
    description:
      - The groups, in their order. A host in several groups belongs to the first. Every host of the play must be in one of them,
        or in group C(opensm).
      - The default is one group with all hosts.
    type: list
    elements: str
    default: []
  serial:
    description:
      - How many hosts of a group are in a batch, as in C(serial) of a play. It is a number, a percentage of the hosts of the
        group that have something to do, or a list of these.
    type: raw
    default: 1
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
"""

EXAMPLES = r"""
- name: Make the batches
  rdma.ofed.rolling_batches:
    due: upgrade_is_due
    groups: [compute, storage]
    serial: "10%"
  register: rolling
  run_once: true
"""

RETURN = r"""
batches:
  description: The batches in their order.
  returned: success
  type: list
  elements: dict
  contains:
    number:
      description: Its number, from 1 on.
      type: int
    of:
      description: The number of batches.
      type: int
    label:
      description: Its group, or C(subnet manager).
      type: str
    hosts:
      description: Its hosts.
      type: list
      elements: str
hosts:
  description: All hosts with work to do, in the order of the batches.
  returned: success
  type: list
  elements: str
sizes:
  description: The sizes of the batches.
  returned: success
  type: list
  elements: int
"""
