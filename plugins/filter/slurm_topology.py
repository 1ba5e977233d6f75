# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Slurm's topology.conf from the saved baseline of a fabric."""

from __future__ import annotations

DOCUMENTATION = r"""
name: slurm_topology
short_description: Slurm's topology.conf from the saved baseline of a fabric
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Returns the text of C(topology.conf) for C(TopologyPlugin=topology/tree), from the baseline that C(rdma.ofed.fabric) saves.
  - Leaf switches have their hosts. Leaves that share all of their spines are one switch C(podN) where there are several such groups. One switch is above
    all, because Slurm's tree has one root and a fat tree has many.
  - A host on several leaf switches counts for the first one, in the order of their names.
positional: _input, hosts
options:
  _input:
    description: The content of the baseline.
    type: raw
    required: true
  hosts:
    description:
      - The nodes of Slurm, by the names that they have there. Others are left out. A host of the fabric is known by the first word of its node
        description, with or without a domain.
      - The default is all hosts of the fabric, without those whose node description begins with no name of a host.
    type: list
    elements: str
  root:
    description: The name of the switch above all.
    type: str
    default: fabric
"""

EXAMPLES = r"""
- name: Tell Slurm which nodes share a leaf switch
  ansible.builtin.copy:
    content: "{{ lookup('ansible.builtin.file', 'fabric-ib.json') | rdma.ofed.slurm_topology(groups['rdma']) }}"
    dest: /etc/slurm/topology.conf
    mode: "0644"
"""

RETURN = r"""
_value:
  description: The text of the file.
  type: str
"""

import json
import typing as t

from ..module_utils._errors import RdmaError, describe
from ..module_utils._fabric._baseline import parse_baseline
from ..module_utils._plain import plain
from ..module_utils._words import some
from ..plugin_utils import _fabric_hosts
from ..plugin_utils._filters import module_of


def slurm_topology(baseline: str | t.Mapping[str, t.Any], hosts: t.Sequence[str] | None = None, root: str = "fabric") -> str:
    """The text of the file. Anything but a baseline is an error."""
    picture = parse_baseline(baseline if isinstance(baseline, str) else json.dumps(plain(baseline), default=str, skipkeys=True))
    if picture is None:
        raise RdmaError(
            "this is not a baseline of a fabric. Next: pass the content of the file that ansible-playbook rdma.ofed.fabric -e fabric_save_baseline=true saves"
        )
    if hosts is not None and (not isinstance(hosts, (list, tuple)) or not all(isinstance(host, str) for host in hosts)):
        raise RdmaError("hosts is %s; allowed: a list of names of hosts" % describe(hosts))
    wrong = [host for host in hosts or () if not _fabric_hosts.is_node_of_slurm(host)]
    if wrong:
        raise RdmaError("hosts has %s; allowed: the names of single nodes, without lists and ranges" % some([describe(host) for host in wrong], 3))
    if not isinstance(root, str) or not _fabric_hosts.is_switch_name(root):
        raise RdmaError("root is %s; allowed: a name of letters, digits, dots, - and _" % describe(root))
    return _fabric_hosts.slurm_topology(picture, hosts, root=root)


FilterModule = module_of(slurm_topology)
