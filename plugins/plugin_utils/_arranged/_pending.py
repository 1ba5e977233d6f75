# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pending changes of a host, from all sources."""

from __future__ import annotations

import typing as t

from ...module_utils._site._pending import merge, other_kernel, pending_of
from .._facts_of_run import facts_of


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    found = [*pending_of(arguments["found"], "found"), *other_kernel(facts_of(task_vars) or {})]
    return {"pending": [entry.result() for entry in merge(pending_of(arguments["known"], "known"), found)]}
