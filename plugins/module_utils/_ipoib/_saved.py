# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of files from which interfaces were taken over: what they were before, and what was left of them."""

from __future__ import annotations

from .._host._saved import Ledger
from . import _registry


def _bare(path: str, text: str) -> str:
    """Files of ours, and lines that include them, may come and go."""
    return "" if _registry.is_ours(path, text) else _registry.bare(path, text)


# The subjects are the interfaces that were taken over. What has them since then is the back-end that configures them.
LEDGER = Ledger("ipoib", _bare)
