# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results of `node_check` on several hosts, and the page generated from them."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._fleet import survey
from ansible_collections.rdma.ofed.plugins.module_utils._check._table import differences_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._document import explanations
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._nodes_page import nodes_page


def deviation(code: str = "link_down", **fields: t.Any) -> dict[str, t.Any]:
    row = {"severity": "error", "code": code, "kind": "port", "subject": "mlx5_0/1", "aspect": "", "object": "port mlx5_0/1"}
    row.update(found="DOWN", expected="ACTIVE and LinkUp", cause="", next_step="look at the cable")
    return {**row, **fields}


def outcome(*deviations: t.Any, **fields: t.Any) -> dict[str, t.Any]:
    row = {"port": "mlx5_0/1", "state": "ACTIVE", "result": "BAD" if deviations else "OK"}
    return {"deviations": list(deviations), "rows": [row], "fabric": "ib", "master_guid": "0x1", **fields}


def page(results: t.Mapping[str, t.Any]) -> str:
    return nodes_page(results, survey(results), differences_of(results), time="2026-11-27T10:00:00Z", explanations=explanations())


ACCEPTED = deviation(object="port mlx5_1/1", accepted={"until": "2026-12-31", "reason": "cable is ordered", "expired": False})
FLEET: dict[str, t.Any] = {
    "node1": outcome(),
    "node2": outcome(deviation()),
    "node3": outcome(deviation()),
    "node4": outcome(ACCEPTED),
    "node5": {"unreachable": True, "msg": "no route to host"},
    "node6": outcome(deviation("low_limit", severity="warning", object="memlock", kind="limit")),
}


def hostile(text: str) -> dict[str, t.Any]:
    fields = dict.fromkeys(("severity", "code", "kind", "subject", "aspect", "object", "found", "expected", "cause", "next_step"), text)
    card = [{"psid": text, "firmware": "1"}]
    return {
        "node1": {
            **outcome(fields, {**fields, "accepted": {"reason": text, "until": "", "expired": False}}),
            "rows": [{"port": text, "result": text}],
            "adapters": card,
        },
        "node2": {**outcome({**fields, "severity": "error", "code": "differs"}), "adapters": [{"psid": text, "firmware": text}]},
        "node3": {"unreachable": True, "msg": text},
    }
