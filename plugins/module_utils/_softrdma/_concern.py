# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Software RDMA links before the first change. Pure."""

from __future__ import annotations

from .._concern import Concern, judged
from .._schema._soft_rdma import VARIABLES
from ._input import problems

CONCERN = Concern("soft_rdma", VARIABLES, needs=("ofed", "kernel_modules"), problems=judged(problems))
