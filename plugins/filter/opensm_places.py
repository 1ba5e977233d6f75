# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The subnet managers that a host runs, from inventory alone."""

from __future__ import annotations

DOCUMENTATION = r"""
name: opensm_places
short_description: The subnet managers that a host runs by inventory
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns the part of one host in the fabrics that its ports are on, and the option O(rdma.ofed.opensm#module:instances) for it.
  - The answer comes from inventory alone, so it is the same in all runs, with C(--limit) and with C(serial). Only the GUIDs of
    other hosts, by which a run recognises them, come from facts, where these are known.
  - Only variables of the host itself and of the hosts of group C(opensm) are read.
positional: _input, hostvars, host, variables
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  host:
    description: Name of the host.
    type: str
    required: true
  variables:
    description:
      - The host's own C(fabric), C(rdma_fabrics), C(opensm_fabrics), C(opensm_standby), C(opensm_port), C(opensm_port_guid),
        C(opensm_priority) and C(opensm_log_file), where they are set.
      - Without this option, its C(fabric), C(rdma_fabrics) and C(opensm_standby) from inventory. They are enough for C(part) and C(designated).
    type: dict
"""

EXAMPLES = r"""
- name: Show which fabrics this host manages
  ansible.builtin.debug:
    msg: "{{ (groups | rdma.ofed.opensm_places(hostvars, inventory_hostname)).instances | map(attribute='fabric') }}"
"""

RETURN = r"""
_value:
  description:
    - C(part) is V(master), V(standby) or V(resting), the foremost of the host's parts.
    - C(designated) has the designated host of each of the host's fabrics.
    - C(instances) is the value of the option of M(rdma.ofed.opensm).
  type: dict
"""

import typing as t

from ..module_utils._opensm._placement import Groups, Hostvars
from ..plugin_utils import _managers
from ..plugin_utils._filters import module_of

OWN = ("fabric", "rdma_fabrics", "opensm_standby")


def opensm_places(groups: Groups, hostvars: Hostvars, host: str, variables: t.Mapping[str, t.Any] | None = None) -> dict[str, t.Any]:
    """What `host` is in its fabrics; a fabric without a designated host, or with two, is an error."""
    own = {name: hostvars[host][name] for name in OWN if name in hostvars[host]} if variables is None else dict(variables)
    return _managers.places(groups, hostvars, host=host, own=own)


FilterModule = module_of(opensm_places)
