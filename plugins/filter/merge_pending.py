# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merge pending changes from several sources into one list."""

from __future__ import annotations

DOCUMENTATION = r"""
name: merge_pending
short_description: Merge lists of pending changes
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Merges lists of pending changes, as modules return them in C(pending), into one for the fact C(rdma_pending).
  - Each change is in the result once. Where lists disagree on what a change needs, the last one counts.
positional: _input, more
options:
  _input:
    description: The pending changes that are known already.
    type: list
    elements: dict
    required: true
  more:
    description: Further lists, as further arguments.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Remember what is pending
  ansible.builtin.set_fact:
    rdma_pending: "{{ rdma_pending | default([]) | rdma.ofed.merge_pending(gpudirect_outcome.pending) }}"
"""

RETURN = r"""
_value:
  description: The pending changes, in the order in which they became known.
  type: list
  elements: dict
"""

import typing as t

from ..module_utils._site._pending import merge, pending_of
from ..plugin_utils._filters import module_of


def merge_pending(entries: t.Any, *more: t.Any) -> list[dict[str, t.Any]]:
    """The entries of all lists."""
    return [entry.result() for entry in merge(*(pending_of(one) for one in (entries, *more)))]


FilterModule = module_of(merge_pending)
