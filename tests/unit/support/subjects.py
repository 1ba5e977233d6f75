# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hosts as the site validation sees them."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import MASTER, RESTING, Election, Place
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._survey import Placement
from ansible_collections.rdma.ofed.plugins.module_utils._site import _problems

Variables = t.Mapping[str, t.Any]


def parts(manages: bool) -> dict[str, t.Any]:
    """Return the parts of a host that runs a subnet manager or none."""
    return {"opensm": Placement([Place("ib", MASTER if manages else RESTING, "")], [], [], Election())}


def host_problems(variables: Variables, facts: Variables | None = None, manages: bool = False) -> list[Problem]:
    return _problems.host_problems(Subject("node1", variables, facts), parts(manages))


def node_problems(variables: Variables, facts: Variables, manages: bool) -> dict[str, list[Problem]]:
    return _problems.node_problems(Subject("node1", variables, facts), parts(manages))
