#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm_info
short_description: Show which subnet managers manage the fabrics of a node
version_added: 1.0.0
description:
  - Asks through each InfiniBand port which subnet manager is master, which others the master knows, and whether it is alive.
  - Lists the subnet managers that run on this node, started by this collection or not.
  - Where a port can't be used to ask, because the tools are missing or the link is down, RV(fabrics) has the reason. That is not a failure.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
options:
  ports:
    description:
      - The ports to query through, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and number, such as
        V(mlx5_0/1). The default is all InfiniBand ports.
    type: list
    elements: str
    default: []
  known_hosts:
    description:
      - The names of the hosts of the inventory, as C(host) of their managers. A host that is not in O(known_guids) is recognised by its node
        description.
    type: list
    elements: str
    default: []
  known_guids:
    description: Port GUIDs of hosts of the inventory, as a mapping of hosts to lists. They decide whatever the node description is.
    type: dict
    default: {}
requirements:
  - infiniband-diags, to ask the fabric
notes:
  - A fabric that is split in two can have a second master, which the first half does not see.
seealso:
  - module: rdma.ofed.opensm
"""

EXAMPLES = r"""
- name: Look at the subnet managers
  rdma.ofed.opensm_info:
    known_hosts: "{{ groups['rdma'] }}"
  register: managers

- name: Name the master of the first port
  ansible.builtin.debug:
    msg: "{{ managers.fabrics[0].master.node_description }}"
"""

RETURN = r"""
fabrics:
  description: What each port sees.
  returned: success
  type: list
  elements: dict
  contains:
    port:
      description: The port.
      type: str
    port_guid:
      description: Its port GUID.
      type: str
    fabric:
      description: Name of the fabric, where an instance of M(rdma.ofed.opensm) is bound to this port, else empty.
      type: str
    state:
      description: Of the port, such as V(ACTIVE).
      type: str
    phys_state:
      description: Of its link, such as V(LinkUp).
      type: str
    lid:
      description: LID of the port.
      type: int
    sm_lid:
      description: LID of the subnet manager that configured it; V(0) where none did.
      type: int
    subnet_prefix:
      description: Upper half of its GIDs.
      type: str
    master:
      description:
        - The master, with C(port_guid), C(lid), C(priority), C(state), C(activity), C(node_description), C(host) and C(here).
        - None where no subnet manager answers.
      type: dict
    alive:
      description: Whether the activity count of the master rose between two queries.
      type: bool
    managers:
      description: All subnet managers that the master knows, itself included, in the same form.
      type: list
      elements: dict
    problem:
      description: What keeps the fabric from having exactly one master that is alive, in words; empty where it has one.
      type: str
  sample:
    - port: mlx5_0/1
      port_guid: "0x7cfe90030016aef1"
      fabric: ib
      state: ACTIVE
      phys_state: LinkUp
      lid: 1
      sm_lid: 1
      subnet_prefix: "0xfe80000000000000"
      alive: true
      problem: ""
      master: {port_guid: "0x7cfe90030016aef1", lid: 1, priority: 14, state: MASTER, activity: 4711, node_description: node1 mlx5_0, host: node1, here: true}
      managers:
        - {port_guid: "0x7cfe90030016aef1", lid: 1, priority: 14, state: MASTER, activity: 4711, node_description: node1 mlx5_0, host: node1, here: true}
        - {port_guid: "0x7cfe90030016aef9", lid: 3, priority: 13, state: STANDBY, activity: 81, node_description: node2 mlx5_0, host: node2, here: false}
instances:
  description: The subnet managers of this node. A process that no unit started has no C(unit).
  returned: success
  type: list
  elements: dict
  sample:
    - unit: rdma-opensm@ib.service
      fabric: ib
      active: active
      enabled: true
      pid: 811
      port_guid: "0x7cfe90030016aef1"
      priority: 14
      log_file: /var/log/opensm/ib/opensm.log
masked:
  description: The units of packages that are masked.
  returned: success
  type: list
  elements: str
  sample: [opensm.service, opensm@.service, opensmd.service]
seconds:
  description: How long it took.
  returned: success
  type: float
  sample: 0.11
"""

from ..module_utils._host._answer import answer
from ..module_utils._opensm._master import known_of
from ..module_utils._opensm._report import report
from ..module_utils._schema._opensm_info import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: report(run, names=module.params["ports"], inventory=known_of(module.params)))


if __name__ == "__main__":
    main()
