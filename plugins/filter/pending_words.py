# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pending changes in words."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pending_words
short_description: Pending changes in words, for people
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Turns each pending change into one line of text, for messages. Decide on the entries themselves.
positional: _input
options:
  _input:
    description: The pending changes, as modules return them in C(pending).
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Show what is pending
  ansible.builtin.debug:
    msg: "{{ rdma_pending | default([]) | rdma.ofed.pending_words }}"
"""

RETURN = r"""
_value:
  description: "Lines such as C(0000:03:00.0 NUM_OF_VFS: 0 -> 16 (needs reboot))."
  type: list
  elements: str
"""

import typing as t

from ..module_utils._site._pending import pending_of
from ..plugin_utils._filters import module_of


def pending_words(entries: t.Any) -> list[str]:
    """One line for each entry."""
    return [entry.words() for entry in pending_of(entries)]


FilterModule = module_of(pending_words)
