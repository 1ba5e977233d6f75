#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/run_summary.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: run_summary
short_description: Prints how a run has ended on all hosts of the play, on one screen
version_added: 1.0.0
description:
  - Tells how many hosts are done and how many were changed, which were left out, failed or could not be reached, why, and what to do next.
    Hosts with the same cause are on one line.
  - The causes are those that modules of the collection have met in this run. A host that failed in another task is listed without one.
  - Runs on the controller. Use it with C(run_once), in the last play of a playbook.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
options:
  variables:
    description: The variables in which each host has results with RV(rdma.ofed.validate_site#module:left_out).
    type: list
    elements: str
    default: [rdma_site]
  failures:
    description:
      - The variables in which a host that failed has what failed, in words. They tell the cause where another task than one of the collection failed,
        and that the host failed where it is still in the play.
    type: list
    elements: str
    default: []
  hosts:
    description: The hosts of the run, where those of the play are not all of them. By default, they are all hosts of the play.
    type: list
    elements: str
    default: []
  alive:
    description: Those that neither failed nor were unreachable. By default, they are the hosts that are still in the play.
    type: list
    elements: str
    default: []
  untouched:
    description: Those to which the run does not come, since it ends before their batch.
    type: list
    elements: str
    default: []
  deviations:
    description:
      - The hosts that a table has named already. The summary repeats the first deviation of each where it is given
        RV(rdma.ofed.fabric_table#module:deviations), and refers to the table where it is given a list of hosts.
    type: raw
    default: []
seealso:
  - module: rdma.ofed.validate_site
  - module: rdma.ofed.pending_table
"""

EXAMPLES = r"""
- name: Print the summary of the run
  rdma.ofed.run_summary:
  run_once: true
"""

RETURN = r"""
done:
  description: The hosts that are done.
  returned: always
  type: list
  elements: str
  sample: [node1, node2]
reasons:
  description: Why each of the others is not.
  returned: always
  type: dict
  sample:
    node3: ["unreachable: Connection timed out"]
"""
