# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What makes pending changes of a host effective."""

from __future__ import annotations

DOCUMENTATION = r"""
name: activation
short_description: What makes pending changes of a host effective, as far as that is allowed
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Reads the lines of the fact C(rdma_pending), which say what each of them needs, and names the one thing to do.
  - One reboot makes everything effective. So nothing is reloaded where something needs a reboot that is allowed.
positional: _input
options:
  _input:
    description: The lines.
    type: list
    elements: str
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
- name: Say what would be done
  ansible.builtin.debug:
    msg: "{{ rdma_pending | default([]) | rdma.ofed.activation(allow_reload=true, allow_reboot=true) }}"
"""

RETURN = r"""
_value:
  description: V(reload), V(reboot), or nothing.
  type: str
"""

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.rdma.ofed.plugins.module_utils._site._activation import activation as judge


def activation(lines: t.Any, allow_reload: t.Any = False, allow_reboot: t.Any = False, prefer_reboot: t.Any = False) -> str:
    """C(reload), C(reboot) or nothing."""
    if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise AnsibleFilterError("the pending changes are %r; allowed: a list of texts" % (lines,))
    flags = [bool(flag) for flag in (allow_reload, allow_reboot, prefer_reboot)]
    return judge(lines, *flags)


class FilterModule:
    """Registers the filter."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"activation": activation}
