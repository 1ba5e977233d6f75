# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is declared for the subnet managers of a host's fabrics, wherever they run."""

from __future__ import annotations

DOCUMENTATION = r"""
name: opensm_declared
short_description: What is declared for the subnet managers of the fabrics of a host
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Tells a host that runs no subnet manager what is declared for those of its fabrics, for the options
    O(rdma.ofed.opensm#module:declared_settings) and O(rdma.ofed.opensm#module:partitions).
  - Only variables of the host itself and of the hosts of group C(opensm) are read, and no values of secrets returned.
positional: _input, hostvars, host, designated
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  host:
    description: Name of the host.
    type: str
    required: true
  designated:
    description:
      - The designated host of each fabric, such as RV(rdma.ofed.validate_site#module:designated_hosts).
      - Where it is left out, the hosts of group C(opensm) are read to find them.
    type: dict
"""

EXAMPLES = r"""
- name: Show which keys of opensm.conf are declared
  ansible.builtin.debug:
    msg: "{{ (groups | rdma.ofed.opensm_declared(hostvars, inventory_hostname))['keys'] }}"
"""

RETURN = r"""
_value:
  description: C(keys) has the declared keys of C(opensm.conf), C(partitions) the declared partitions of each fabric without their members.
  type: dict
"""

import typing as t

from ..module_utils._opensm._data import declared_for
from ..module_utils._opensm._placement import Groups, Hostvars, elect, read_members
from ..module_utils._plain import plain
from ..plugin_utils._filters import module_of


def opensm_declared(groups: Groups, hostvars: Hostvars, host: str, designated: t.Mapping[str, str] | None = None) -> dict[str, t.Any]:
    """The keys and partitions that are declared for the fabrics of `host`."""
    known = elect(read_members(groups, hostvars)[0]).designated if designated is None else designated
    found: dict[str, t.Any] = plain(declared_for(host, hostvars, known))
    return found


FilterModule = module_of(opensm_declared)
