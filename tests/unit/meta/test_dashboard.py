# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The dashboard of the role fabric_monitor against the schema of Grafana."""

from __future__ import annotations

import json
import pathlib
import typing as t

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

DASHBOARD = pathlib.Path(__file__).resolve().parents[3] / "roles/fabric_monitor/files/rdma_fabric.dashboard.json"


def _lost(given: t.Any, kept: t.Any, where: str = "") -> list[str]:
    """What is in the first document and not, or otherwise, in the second."""
    if isinstance(given, dict) and isinstance(kept, dict):
        pairs = [(key, value, kept.get(key)) for key, value in given.items()]
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        pairs = [(str(index), *both) for index, both in enumerate(zip(given, kept))]
    else:
        return [] if given == kept else [where]
    return [lost for key, one, other in pairs for lost in _lost(one, other, "%s/%s" % (where, key))]


def test_grafana_has_a_place_for_all_of_the_dashboard() -> None:
    """Read and written again with the types that Grafana generates from its schema. What an annotation asks of its data source is not among them."""
    register_default_plugins()
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))
    assert _lost(board, again) == ["/annotations/list/0/titleFormat"]
