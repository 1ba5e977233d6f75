# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module soft_rdma where links are to be created or removed. The documentation is in the module of the same name."""

from __future__ import annotations

from ..module_utils._schema._soft_rdma import OPTIONS
from ..module_utils._softrdma._concern import CONCERN
from ..plugin_utils._actions import FactsAction


class ActionModule(FactsAction):
    """Executes no module on a node where nothing is to be done."""

    concern = CONCERN
    options = OPTIONS
