# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hosts that manage a fabric by the inventory, for a judgement of the fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fabric_line
short_description: The hosts that manage a fabric by inventory, the designated one first
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns the designated host of a fabric, and behind it the hosts that stand by for it, in their order.
  - Hosts of group C(opensm) whose variables are wrong are left out. The list is empty where the inventory has no host for the fabric.
  - C(fabric) of a host that has C(rdma_fabrics) is not read, as the command line sets it for all hosts of M(rdma.ofed.ib_fabric_check).
positional: _input, hostvars, fabric
extends_documentation_fragment: [rdma.ofed.inventory]
options:
  fabric:
    description: Name of the fabric.
    type: str
    default: ib
"""

EXAMPLES = r"""
- name: Show the hosts
  ansible.builtin.debug:
    msg: "{{ groups | rdma.ofed.fabric_line(hostvars, 'ib') }}"
"""

RETURN = r"""
_value:
  description: Names of hosts.
  type: list
  elements: str
"""

import collections.abc
import typing as t

from ..module_utils._opensm._fabrics import DEFAULT_FABRIC
from ..module_utils._opensm._placement import GROUP, Groups, Hostvars, elect, read_members
from ..plugin_utils._filters import module_of


class _Own(collections.abc.Mapping[str, t.Any]):
    """Variables of a host, each of them evaluated when it is read, without the fabric that the command line names."""

    def __init__(self, variables: t.Mapping[str, t.Any]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> t.Any:
        if name not in self._variables or (name == "fabric" and "rdma_fabrics" in self._variables):
            raise KeyError(name)
        return self._variables[name]

    def __iter__(self) -> t.Iterator[str]:
        return (name for name in self._variables if name != "fabric" or "rdma_fabrics" not in self._variables)

    def __len__(self) -> int:
        return sum(1 for _name in self)


def fabric_line(groups: Groups, hostvars: Hostvars, fabric: str = DEFAULT_FABRIC) -> list[str]:
    """The designated host of `fabric`, then its standbys."""
    members, _wrong = read_members(groups, {host: _Own(hostvars[host]) for host in groups.get(GROUP, ())})
    return list(elect(members).positions.get(fabric, ()))


FilterModule = module_of(fabric_line)
