# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module third_party_modules, and show the progress of its job as driver_stack.py does. The documentation is in the module."""

from __future__ import annotations

from .driver_stack import ActionModule as JobAction


class ActionModule(JobAction):
    """Works like the action plugin of driver_stack, for another module."""

    module = "third_party_modules"
