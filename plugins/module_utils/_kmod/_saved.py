# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of files of others from which settings were taken over: what they were before, and what was left of them."""

from __future__ import annotations

from .._host._files import HEADER
from .._host._saved import Ledger

LEDGER = Ledger("kernel_modules", lambda _path, text: "" if text.startswith(HEADER) else text)
