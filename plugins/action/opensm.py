# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module opensm where something is to be done, or where the live fabric has to be asked.

The documentation is in the module of the same name.
"""

from __future__ import annotations

from ..module_utils._opensm._concern import CONCERN
from ..plugin_utils._actions import PlannedAction


class ActionModule(PlannedAction):
    """No module execution on a host where no subnet manager runs, and none is to run."""

    concern = CONCERN
