# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module kernel_modules where something is to be done. The documentation is in the module of the same name."""

from __future__ import annotations

from ..module_utils._kmod._concern import CONCERN
from ..plugin_utils._actions import PlannedAction


class ActionModule(PlannedAction):
    """Executes no module on a node that has all modules and files."""

    concern = CONCERN
