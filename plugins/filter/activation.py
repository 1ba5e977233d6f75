# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action that activates the pending changes of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: activation
short_description: The action that makes the pending changes of a host effective, as far as it is allowed
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Looks at what each entry of the fact C(rdma_pending) needs, and names the one action to take.
  - One reboot makes everything effective. So nothing is reloaded where something needs a reboot that is allowed.
positional: _input
options:
  _input:
    description: The pending changes, as modules return them in C(pending).
    type: list
    elements: dict
    required: true
  allow_reload:
    description: Whether the driver may be reloaded.
    type: bool
    default: false
  allow_reboot:
    description: Whether the node may be rebooted.
    type: bool
    default: false
  prefer_reboot:
    description: Whether to reboot where a reload would do, and both may be.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Show the action
  ansible.builtin.debug:
    msg: "{{ rdma_pending | default([]) | rdma.ofed.activation(allow_reload=true, allow_reboot=true) }}"
"""

RETURN = r"""
_value:
  description: V(reload), V(reboot), or nothing.
  type: str
"""

import typing as t

from ..module_utils._errors import Problem, require_none
from ..module_utils._foreign import BOOLEAN, is_boolean, is_true
from ..module_utils._plain import plain
from ..module_utils._site import _pending
from ..plugin_utils._filters import module_of


def activation(entries: t.Any, allow_reload: t.Any = False, allow_reboot: t.Any = False, prefer_reboot: t.Any = False) -> str:
    """`reload`, `reboot` or ""."""
    allowed = {"allow_reload": allow_reload, "allow_reboot": allow_reboot, "prefer_reboot": prefer_reboot}
    require_none([Problem(name, plain(value), BOOLEAN) for name, value in allowed.items() if not is_boolean(plain(value))])
    needs = {entry.change.needs for entry in _pending.pending_of(entries)}
    return _pending.activation(needs, **{name: is_true(plain(value)) for name, value in allowed.items()})


FilterModule = module_of(activation)
