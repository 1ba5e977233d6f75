# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options between a module that works through a job, and its action plugin."""

from __future__ import annotations


class ModuleDocFragment:
    """For the modules that may need a bundle from the controller, and wait for a job."""

    DOCUMENTATION = r"""
options:
  poll:
    description: How long one execution of the module waits for the job, in seconds.
    type: int
    default: 20
  attach:
    description: The job to wait for. For the module's own use.
    type: str
    default: ""
  staged:
    description: Where a bundle from the controller has arrived. For the module's own use.
    type: str
    default: ""
  digest:
    description: The checksum of a bundle from the controller. For the module's own use.
    type: str
    default: ""
"""
