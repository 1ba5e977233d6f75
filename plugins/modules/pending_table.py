#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/pending_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: pending_table
short_description: Prints what waits for a reset or reboot on all hosts as one table
version_added: 1.0.0
description:
  - The roles of the collection remember in the fact C(rdma_pending) what they changed that is not in effect yet. This prints
    it for all hosts of the play, with hosts that wait for the same on one line.
  - Prints nothing when nothing is pending.
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
author:
  - The rdma.ofed engineers (@rdma-ofed)
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.action
options: {}
seealso:
  - module: rdma.ofed.mlxfwreset
"""

EXAMPLES = r"""
- name: Say what is pending
  rdma.ofed.pending_table:
  run_once: true
"""

RETURN = r"""
pending:
  description: What is pending, in words, by host. A host with nothing pending is not in it.
  returned: success
  type: dict
  sample:
    node2: ["0000:03:00.0 NUM_OF_VFS: 0 -> 16 (needs reboot)"]
"""
