# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Problems of the input, and what hosts are left out of, as one list."""

from __future__ import annotations

import itertools
import typing as t

from ...module_utils._concern import Address
from ...module_utils._site._addresses import shared
from ...module_utils._site._groups import grouped, lines
from ...module_utils._site._leaving import causes, leaves_of, words
from ...module_utils._site._machines import same_machines
from .. import _looks
from .._actions import registered, show

_WRONG = "invalid input, nothing was changed. %s"
_STRICT = "rdma_strict is set, and nothing was changed on any host. %s"


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], predicted: bool) -> dict[str, t.Any]:
    outcomes = registered(task_vars, task_vars["ansible_play_hosts"], arguments["variable"] or "rdma_site")
    if not arguments["keep_looks"]:
        _looks.forget(*outcomes)
    claims = {host: [Address(**each) for each in own.get("addresses") or ()] for host, own in outcomes.items()}
    wrong = {host: list(own.get("wrong") or ()) for host, own in outcomes.items()} if not arguments["role"] else {}
    marks = {host: own.get("machine") or () for host, own in outcomes.items()}
    for host, problems in itertools.chain(shared(claims).items(), same_machines(marks).items()):
        wrong.setdefault(host, []).extend(map(str, problems))
    leaves = {host: leaves_of(own, arguments["role"]) for host, own in outcomes.items()}
    of_hosts = {host: [words(*cause) for cause in causes(own)] for host, own in leaves.items()}
    invalid, refused = lines(grouped(wrong)), lines(grouped(of_hosts))
    if len([*invalid, *refused]) > 1 or refused:
        show("Wrong or refused:\n  " + "\n  ".join([*invalid, *refused]))
    found = {"wrong": _without_empty(wrong), "left_out": _without_empty(leaves)}
    msg = _WRONG % "; ".join(invalid) if invalid else _STRICT % "; ".join(refused) if refused and arguments["strict"] else ""
    return {"failed": True, "msg": msg} if msg else found


def _without_empty(found: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {host: own for host, own in found.items() if own}
