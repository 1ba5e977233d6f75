# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a host runs subnet managers, from the inventory alone."""

from __future__ import annotations

import typing as t

from .. import _managers
from .._actions import host_of, value_of


def answer(_arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], templar: t.Any) -> dict[str, t.Any]:
    own = {name: value_of(name, task_vars, templar) for name in _managers.PLACING if name in task_vars}
    found = _managers.places(task_vars["groups"], task_vars["hostvars"], host=host_of(task_vars), own=own)
    return {"part": found["part"], "designated": found["designated"]}
