# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Found states as the controller reads them: its Python evaluates annotations that those of nodes may not know."""

from __future__ import annotations

import json

from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as Managers
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode


def test_a_plan_survives() -> None:
    plan = Plan((Change(Kind.FILE, "/a", "", "", "x"),))
    found = decode(Plan, json.loads(json.dumps(encode(plan))))
    assert found == plan
    assert found.changes[0].kind is Kind.FILE


def test_subnet_managers_survive() -> None:
    managers = Managers(("opensm.service",), ("a.service",), (), ("a.service",), (7,), {"/etc/x": "y"}, "names", "template", ("opensmd.service",))
    for found in (managers, managers.public(), Managers()):
        assert decode(Managers, json.loads(json.dumps(encode(found)))) == found
