# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts of this run, as opposed to those of a fact cache."""

from __future__ import annotations

DOCUMENTATION = r"""
name: of_this_run
short_description: The RDMA facts of a host if this run has gathered them
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns the facts of M(rdma.ofed.rdma_facts) as they are if this run has gathered them, else an empty mapping.
  - A fact cache keeps the facts of earlier runs. The node may be another one by now.
options:
  _input:
    description: The facts.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Decide on what the node has now
  ansible.builtin.debug:
    msg: "{{ (ansible_facts['rdma'] | default({}) | rdma.ofed.of_this_run).get('gpu', 'unknown') }}"
"""

RETURN = r"""
_value:
  description: The facts, or an empty mapping.
  type: dict
"""

import typing as t

from ..plugin_utils import _facts_of_run
from ..plugin_utils._filters import module_of


def of_this_run(facts: t.Any) -> dict[str, t.Any]:
    """The facts; an empty mapping where they are of another run."""
    return _facts_of_run.of_this_run(facts) or {}


FilterModule = module_of(of_this_run)
