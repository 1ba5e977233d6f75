# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concern of the fabric monitor, for decisions on the controller before the first change. Pure."""

from __future__ import annotations

from .._concern import Concern
from .._schema._fabric_monitor import VARIABLES
from ._discovery import DISCOVERY
from ._input import role_problems

CONCERN = Concern("fabric_monitor", VARIABLES, problems=lambda subject: role_problems(subject.variables), discovery=DISCOVERY)
