#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_ports
short_description: Finds the ports of a fabric that went down during maintenance
version_added: 1.0.0
description:
  - Records the active ports of the whole fabric, as this node sees them, before maintenance of some of its nodes, and reports the missing
    ones afterwards.
  - The record grows with the fabric and stays on this node, in C(/var/lib/rdma.ofed/fabric/ports.json).
  - Where the ports can't be listed, because C(iblinkinfo) is missing or no port is up, it returns the reason and does not fail.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
attributes:
  check_mode:
    description: It writes no record, and compares with the existing one.
options:
  state:
    description: V(remembered) keeps the list of active ports, V(compared) reports what is missing since then.
    type: str
    choices: [remembered, compared]
    required: true
  wait:
    description: How long ports may be missing, in seconds. Ports of nodes that have just booted come back one after the other.
    type: int
    default: 0
requirements:
  - infiniband-diags
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
  - A switch counts as one port, because all of its ports have one GUID.
  - It never reports a change, because the record is not part of the declared state of the node.
seealso:
  - module: rdma.ofed.node_check
"""

EXAMPLES = r"""
- name: Record the active ports of the fabric
  rdma.ofed.fabric_ports:
    state: remembered
  delegate_to: "{{ groups['opensm'] | first }}"

- name: Find those that went down
  rdma.ofed.fabric_ports:
    state: compared
    wait: 60
  delegate_to: "{{ groups['opensm'] | first }}"
  register: fabric
  failed_when: fabric.gone | length > 0
"""

RETURN = r"""
active:
  description: The number of ports that are active now.
  returned: success
  type: int
  sample: 128
gone:
  description: The ports that were active before.
  returned: success
  type: list
  elements: dict
  contains:
    port_guid:
      description: The port GUID.
      type: str
    node_description:
      description: The node description.
      type: str
  sample: [{port_guid: "0x7cfe90030016aef1", node_description: node1 mlx5_0}]
reason:
  description: Why the ports could not be listed or compared; else empty.
  returned: success
  type: str
  sample: iblinkinfo is not installed on this node
"""

from ..module_utils._check._active_ports import compare, remember
from ..module_utils._host._answer import answer
from ..module_utils._schema._fabric_ports import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: remember(module, run) if module.params["state"] == "remembered" else compare(run, module.params["wait"]))


if __name__ == "__main__":
    main()
