# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the module soft_rdma where there are links to make or to remove. The documentation is in the module of the same name."""

from __future__ import annotations

from ..module_utils._schema._soft_rdma import OPTIONS
from ..module_utils._softrdma._concern import CONCERN
from ..plugin_utils._actions import FactsAction


class ActionModule(FactsAction):
    """No module execution on a node that has nothing for it."""

    concern = CONCERN
    options = OPTIONS
