# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host is left out of, for one more role."""

from __future__ import annotations

DOCUMENTATION = r"""
name: left_out
short_description: What a host is left out of, where one more role would refuse its work
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Adds a role to what a host is left out of, with its reasons, and the roles that need what it brings.
positional: _input, role
options:
  _input:
    description: What the host is left out of so far, as M(rdma.ofed.validate_site) returns it in RV(rdma.ofed.validate_site#module:left_out).
    type: dict
    required: true
  role:
    description: The role.
    type: str
    required: true
  reasons:
    description: Why it would refuse its work.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Leave the host out of what the stack would refuse
  ansible.builtin.set_fact:
    own_left_out: "{{ rdma_site.left_out | rdma.ofed.left_out('ofed', ofed_foreseen.refusals) }}"
"""

RETURN = r"""
_value:
  description: The reasons by role.
  type: dict
"""

import typing as t

from ..module_utils._errors import Problem, require_none
from ..module_utils._plain import plain
from ..plugin_utils._filters import module_of


def left_out(leaves: t.Any, role: t.Any, reasons: t.Any = ()) -> dict[str, list[str]]:
    """The reasons by role."""
    # It knows all concerns. ansible-core loads all filters with the first that is used, and this one is rare.
    from ..module_utils._site._leaving import ROLES, merged

    leaves, role, reasons = plain(leaves), plain(role), plain(reasons)
    wrong = []
    if not isinstance(leaves, dict) or not all(isinstance(own, list) for own in leaves.values()):
        wrong.append(Problem("the input", leaves, "a mapping of roles to lists of reasons"))
    if role not in ROLES:
        wrong.append(Problem("role", role, ", ".join(ROLES)))
    if not isinstance(reasons, list):
        wrong.append(Problem("reasons", reasons, "a list"))
    require_none(wrong)
    return merged(leaves, role, map(str, reasons))


FilterModule = module_of(left_out)
