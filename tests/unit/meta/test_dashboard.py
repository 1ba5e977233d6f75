# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The dashboard of the role fabric_monitor against Grafana's schema."""

from __future__ import annotations

import json
import pathlib
import typing as t

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

DASHBOARD = pathlib.Path(__file__).resolve().parents[3] / "roles/fabric_monitor/files/rdma_fabric.dashboard.json"


def _lost(given: t.Any, kept: t.Any, where: str = "") -> list[str]:
    """Return what is missing or different in the second document."""
    if isinstance(given, dict) and isinstance(kept, dict):
        pairs = [(key, value, kept.get(key)) for key, value in given.items()]
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        pairs = [(str(index), *both) for index, both in enumerate(zip(given, kept))]
    else:
        return [] if given == kept else [where]
    return [lost for key, one, other in pairs for lost in _lost(one, other, "%s/%s" % (where, key))]


def test_grafana_has_a_place_for_all_of_the_dashboard() -> None:
    """The dashboard is read and written with the types that Grafana generates from its schema. Those types do not cover the queries of annotations."""
    register_default_plugins()
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    again = json.loads(JSONEncoder().encode(Dashboard.from_json(board)))
    assert _lost(board, again) == ["/annotations/list/0/titleFormat"]
