# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module kernel_policy in the same way as driver_stack.py: both modules run a job and use a bundle. The documentation is in the module."""

from __future__ import annotations

from .driver_stack import ActionModule as JobAction


class ActionModule(JobAction):
    """Works like the action plugin of driver_stack, for another module."""

    module = "kernel_policy"
