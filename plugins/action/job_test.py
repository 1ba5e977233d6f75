# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module job_test, with ports in place of the names of rails. The documentation is in the module of the same name."""

from __future__ import annotations

from ..plugin_utils._actions import PortAction


class ActionModule(PortAction):
    """Executes one module."""
