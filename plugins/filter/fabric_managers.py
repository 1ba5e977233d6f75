# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The managers of a host's fabrics, for the check of that host."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric_managers
short_description: The subnet managers that a host must see on its fabrics
version_added: 2.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns, for each fabric that the ports of a host are on, which host must be master of it, which hosts stand by, and how they are recognised.
  - Hosts come only from the inventory. Their port GUIDs come from C(opensm_port_guids), else from the facts of this run, where these are known.
positional: _input, hostvars, host, variables
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  host:
    description: Name of the host.
    type: str
    required: true
  variables:
    description: The host's own C(fabric), C(rdma_fabrics) and C(opensm_standby), where they are set.
    type: dict
    required: true
  known:
    description: The hosts by fabric, such as RV(rdma.ofed.validate_site#module:managers). Fabrics that it lacks are looked up in the inventory.
    type: dict
    default: {}
  run:
    description: The hosts of the run. A designated host that is not one of them may be the cause of what others see. Without it, all of the inventory.
    type: list
    elements: str
    default: []
  names:
    description: Names of designated hosts, beside that in the inventory and C(ansible_host).
    type: list
    elements: str
    default: []
  managed:
    description: Whether the site manages its fabrics. Otherwise any host or switch may be master.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Show the designated host of each fabric of this host
  ansible.builtin.debug:
    msg: "{{ groups | rdma.ofed.fabric_managers(hostvars, inventory_hostname, {'fabric': 'ib'}) | map(attribute='designated_host') }}"
"""

RETURN = r"""
_value:
  description: The option O(rdma.ofed.node_check#module:fabrics).
  type: list
  elements: dict
"""

import typing as t

from ..module_utils._foreign import is_true
from ..module_utils._opensm._data import guids_of
from ..module_utils._opensm._fabrics import fabrics_of
from ..module_utils._opensm._placement import Groups, Hostvars, elect, members_for
from ..plugin_utils._facts_of_run import facts_by_host
from ..plugin_utils._filters import module_of


def _is_in_line(host: str, line: t.Sequence[str], standby: bool) -> bool:
    """Whether the host is at its place in a line of hosts, whose first is the designated one."""
    return host == line[0] or standby == (host in line)


def fabric_managers(
    groups: Groups,
    hostvars: Hostvars,
    host: str,
    variables: t.Mapping[str, t.Any],
    known: t.Mapping[str, t.Sequence[str]] | None = None,
    run: t.Collection[str] = (),
    names: t.Sequence[str] = (),
    managed: bool = True,
) -> list[dict[str, t.Any]]:
    """The fabrics of `host`, in declared order. A fabric without a designated host, or with two, is an error."""
    fabrics = fabrics_of(variables)
    lines: dict[str, t.Sequence[str]] = dict.fromkeys(fabrics, ())
    if managed:
        lines.update({fabric: hosts for fabric, hosts in (known or {}).items() if fabric in fabrics})
        standby = is_true(variables.get("opensm_standby", False))
        # A role may be called with variables that differ from those that the site was validated with.
        member = host in groups.get("opensm", ())
        missing = {fabric: ports for fabric, ports in fabrics.items() if not lines[fabric] or (member and not _is_in_line(host, lines[fabric], standby))}
        if missing:
            members = members_for(missing, groups, hostvars, host=host)
            own = "opensm_standby" in variables
            positions = elect(each._replace(standby=standby) if own and each.host == host else each for each in members).positions
            lines.update({fabric: tuple(positions[fabric]) for fabric in missing})
    facts = facts_by_host(hostvars)

    def guids(fabric: str, other: str) -> list[str]:
        declared = [str(guid) for guid in hostvars[other].get("opensm_port_guids") or ()]
        # Declared GUIDs include all ports of the host, on any fabric.
        own = guids_of(fabric, other, hostvars, facts=facts) if not declared or fabrics_of(hostvars[other]).get(fabric) else []
        return own or declared

    def names_of(other: str) -> list[str]:
        return [str(hostvars[other]["ansible_host"])] if other and hostvars[other].get("ansible_host") else []

    found = []
    for fabric, ports in fabrics.items():
        first, *others = [str(other) for other in lines[fabric]] or [""]
        found.append(
            {
                "fabric": fabric,
                "ports": list(ports),
                "designated_host": first,
                "designated": bool(first) and first == host,
                "standby": host in others,
                "designated_absent": bool(first and run) and first not in run,
                "designated_names": [*names_of(first), *map(str, names)],
                "designated_guids": guids(fabric, first) if first else [],
                "standbys": {other: guids(fabric, other) + names_of(other) for other in others if other != host},
            }
        )
    return found


FilterModule = module_of(fabric_managers)
