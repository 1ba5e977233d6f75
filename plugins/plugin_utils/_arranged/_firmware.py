# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action that activates the pending changes of a host's adapters."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import Problem, require_none
from ...module_utils._firmware._reset._activation import Consents, activation, adapters_of


def answer(arguments: t.Mapping[str, t.Any], _task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    entries = arguments["adapters"]
    allowed = "an adapter as rdma.ofed.mlxfwreset returns it in adapters"
    require_none([Problem("adapters[%d]" % number, entry, allowed) for number, entry in enumerate(entries) if "needs" not in entry])
    found = adapters_of(entries)
    consents = Consents(arguments["allow_reset"], arguments["allow_reboot"], drains=arguments["drains"], cycles=arguments["cycles"])
    return {"needs": sorted(found.needs), "unknown": found.unknown, **activation(found, consents)._asdict()}
