# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of modules as text."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._plan import Pending


def pending_words(result: t.Mapping[str, t.Any]) -> list[str]:
    """Return the pending changes, one per line."""
    return [Pending.of_result(entry).words() for entry in result["pending"]]
