#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/pending_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: pending_table
short_description: Print what waits for a reload, reset or reboot on all hosts as one table
version_added: 1.0.0
description:
  - The roles of the collection keep in the fact C(rdma_pending) what they changed and what is not effective yet. This module prints
    it for all hosts of the play, with hosts that wait for the same change on one line.
  - It prints nothing when nothing is pending.
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
options: {}
seealso:
  - module: rdma.ofed.mlxfwreset
"""

EXAMPLES = r"""
- name: Show what is pending
  rdma.ofed.pending_table:
  run_once: true
"""

RETURN = r"""
pending:
  description:
    - What is pending, by host, as the modules return it in C(pending). Hosts with nothing pending are left out.
  returned: success
  type: dict
  sample:
    node2:
      - kind: firmware_parameter
        subject: "0000:03:00.0"
        aspect: NUM_OF_VFS
        before: "0"
        after: "16"
        needs: reboot
        why: []
"""
