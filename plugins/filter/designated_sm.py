# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host that runs the subnet manager of a fabric, from the inventory alone."""

from __future__ import annotations

DOCUMENTATION = r"""
name: designated_sm
short_description: The host that runs the subnet manager of a fabric by inventory
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns the designated host of a fabric. Of the hosts in group C(opensm) that are on the fabric, by C(fabric) or C(rdma_fabrics),
    it is the one with the lowest C(opensm_rank). Hosts without a rank come after those with one, in the order of the group.
  - The answer comes from inventory alone, so it is the same on all hosts, in all runs, with C(--limit) and with C(serial).
  - Only variables of the hosts of group C(opensm) are read.
positional: _input, hostvars, fabric
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  fabric:
    description: Name of the fabric.
    type: str
    default: ib
"""

EXAMPLES = r"""
- name: Show the host
  ansible.builtin.debug:
    msg: "{{ groups | rdma.ofed.designated_sm(hostvars, 'ib') }}"
"""

RETURN = r"""
_value:
  description: Name of the host.
  type: str
"""

from ..module_utils._errors import InvalidInput, Problem
from ..module_utils._opensm._fabrics import DEFAULT_FABRIC
from ..module_utils._opensm._placement import Groups, Hostvars, elect, members_for
from ..plugin_utils._filters import module_of


def designated_sm(groups: Groups, hostvars: Hostvars, fabric: str = DEFAULT_FABRIC) -> str:
    """The designated host of `fabric`. A fabric without a designated host, or with two, is an error."""
    if not isinstance(fabric, str):
        raise InvalidInput([Problem("fabric", fabric, "the name of a fabric")])
    return elect(members_for([fabric], groups, hostvars, host="this host")).designated[fabric]


FilterModule = module_of(designated_sm)
