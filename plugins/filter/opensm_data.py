# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions and names of nodes for a subnet manager, from inventory and facts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: opensm_data
short_description: Partitions and names of nodes for a subnet manager
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Resolves hosts and groups in declared partitions to port GUIDs, and lists the node GUIDs of hosts, for the options
    O(rdma.ofed.opensm#module:partitions) and O(rdma.ofed.opensm#module:node_names).
  - It reads variables and facts of all hosts. Use it only for hosts that run a subnet manager.
positional: _input, hostvars, fabrics, hosts, variables
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  fabrics:
    description: Names of fabrics.
    type: list
    elements: str
    required: true
  hosts:
    description: The hosts to name.
    type: list
    elements: str
    required: true
  variables:
    description: C(opensm_partitions), C(opensm_fabrics), C(opensm_qos) and C(opensm_options).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the partitions of the fabric
  ansible.builtin.debug:
    msg: "{{ (groups | rdma.ofed.opensm_data(hostvars, ['ib'], groups['rdma'], {'opensm_partitions': opensm_partitions})).partitions.ib }}"
"""

RETURN = r"""
_value:
  description:
    - C(partitions) has the text of a file for each fabric, C(absent_members) the members whose ports are not known, which it lacks.
    - C(node_names) has the HCAs of each host, C(port_guids) its port GUIDs.
  type: dict
"""

import typing as t

from ..module_utils._opensm._data import names_of, partitions_of, port_guids_of
from ..module_utils._opensm._placement import Groups, Hostvars
from ..module_utils._plain import plain
from ..plugin_utils._facts_of_run import facts_by_host
from ..plugin_utils._filters import module_of


def opensm_data(groups: Groups, hostvars: Hostvars, fabrics: t.Sequence[str], hosts: t.Sequence[str], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Partitions and names for the subnet managers of `fabrics`; invalid partitions are an error."""
    facts = facts_by_host(hostvars)
    own = plain(dict(variables))
    found = {str(fabric): partitions_of(str(fabric), groups=groups, hostvars=hostvars, facts=facts, variables=own) for fabric in fabrics}
    return {
        "partitions": {fabric: text for fabric, (text, _absentees) in found.items()},
        "absent_members": [{"fabric": fabric, **absentee._asdict()} for fabric, (_text, absentees) in found.items() for absentee in absentees],
        "node_names": names_of(hosts, hostvars, facts),
        "port_guids": port_guids_of({*hosts, *groups.get("opensm", ())}, facts),
    }


FilterModule = module_of(opensm_data)
