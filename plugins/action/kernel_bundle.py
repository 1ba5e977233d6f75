# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module kernel_bundle, whose documentation is there, as driver_stack.py does: both modules run a job and take a bundle."""

from __future__ import annotations

from .driver_stack import ActionModule as JobAction


class ActionModule(JobAction):
    """The same as for driver_stack, for another module."""

    module = "kernel_bundle"
