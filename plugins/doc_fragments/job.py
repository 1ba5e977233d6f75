# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options of modules that work through a job and may need a bundle from the controller."""

from __future__ import annotations


class ModuleDocFragment:
    """What a module itself documents about an option has precedence."""

    DOCUMENTATION = r"""
options:
  bundle_on:
    description: Where the path O(bundle) is. From the V(controller), it is transferred to a node that needs it and does not have it.
    type: str
    choices: [node, controller]
    default: node
  bundle_checksum:
    description: The checksum of the bundle, V(sha256:) and 64 hexadecimal digits. A URL needs it.
    type: str
  timeout:
    description: The time limit of a build, download included, in seconds.
    type: int
    default: 3600
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
