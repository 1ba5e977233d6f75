# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The concern of firmware, for decisions on the controller before the first change. Pure: only the module knows the state of the adapters."""

from __future__ import annotations

from .._concern import Concern, judged
from .._schema._hca_firmware import VARIABLES
from ._discovery import DISCOVERY
from ._input import problems

CONCERN = Concern("hca_firmware", VARIABLES, problems=judged(problems), discovery=DISCOVERY)
