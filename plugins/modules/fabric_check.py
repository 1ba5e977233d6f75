#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_check
short_description: Compares an InfiniBand node with its declared state
version_added: 1.0.0
description:
  - Looks at ports, subnet manager, IPoIB interfaces, kernel modules and the way to GPU memory, and reports everything that is not as declared.
  - Changes nothing. It asks the subnet manager with C(sminfo), and reads the rest from the node itself.
author:
  - The rdma.ofed engineers (@rdma-ofed)
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.info
attributes:
  check_mode:
    details: In check mode it looks once and does not wait.
options:
  ports:
    description:
      - The ports that must be C(ACTIVE) and C(LinkUp), in the notation of C(rdma link), such as V(mlx5_0/1).
      - With an empty list, the ports under O(interfaces).
    type: list
    elements: str
    default: []
  interfaces:
    description:
      - The declared IPoIB interfaces, each as in O(rdma.ofed.ipoib#module:interfaces).
    type: list
    elements: dict
    default: []
  modules:
    description: The kernel modules that must be loaded, now and at boot.
    type: list
    elements: str
    default: []
  fabric:
    description: The name of the fabric that the ports are on.
    type: str
    default: ib
  subnet_manager:
    description: Whether to check the subnet manager.
    type: bool
    default: true
  fabric_ports:
    description: The ports that are on O(fabric), for a node on several fabrics. With an empty list, all of its ports.
    type: list
    elements: str
    default: []
  designated:
    description:
      - Whether this node is the designated subnet manager of its fabric.
      - The designated node runs opensm and the only master. A node that is neither designated nor O(standby) must not run or
        enable opensm.
    type: bool
    default: false
  standby:
    description: Whether this node runs a standby subnet manager, or manages another fabric.
    type: bool
    default: false
  designated_host:
    description:
      - The host that must run the master subnet manager.
      - Other nodes recognise it by O(designated_guids) where they are given, else by its node description, which C(rdma-ndd)
        sets to the name of the host.
    type: str
    default: ""
  designated_names:
    description: Other names of O(designated_host) that its node description may contain.
    type: list
    elements: str
    default: []
  designated_guids:
    description: The port GUIDs of O(designated_host), where they are known.
    type: list
    elements: str
    default: []
  gpudirect:
    description:
      - How adapters must reach GPU memory, as in M(rdma.ofed.gpudirect). A node without an NVIDIA GPU conforms to all of these.
        V(none) does not check.
      - The module of the method must be loaded, now and at boot, and be registered with the RDMA stack where the stack shows
        that. What is pending until the installed stack is loaded is no deviation.
    type: str
    choices: [none, auto, nvidia_peermem, nv_peer_mem, dmabuf]
    default: none
  wait:
    description: How long to wait for the declared state, in seconds. V(0) checks once.
    type: int
    default: 0
  fail:
    description: Whether to fail where something deviates.
    type: bool
    default: true
seealso:
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: See that the port is up, and that node1 holds the master
  rdma.ofed.fabric_check:
    ports: [mlx5_0/1]
    designated_host: node1

- name: See that the interface is as declared, and give it half a minute
  rdma.ofed.fabric_check:
    interfaces:
      - name: ib0
        addresses: [10.20.0.2/24]
        mode: datagram
        mtu: 2044
    modules: [ib_ipoib, ib_umad]
    designated_host: node1
    wait: 30

- name: Collect what is wrong, and go on
  rdma.ofed.fabric_check:
    ports: [mlx5_0/1]
    subnet_manager: false
    fail: false
  register: outcome
"""

RETURN = r"""
ok:
  description: Is everything as declared?
  returned: success
  type: bool
  sample: true
deviations:
  description: Everything that is not as declared.
  returned: always
  type: list
  elements: dict
  contains:
    object:
      description: What deviates.
      type: str
      sample: port mlx5_0/1
    wanted:
      description: The declared state.
      type: str
      sample: ACTIVE and LinkUp
    found:
      description: The state found.
      type: str
      sample: DOWN and Polling
    hint:
      description: A likely cause or the next step, where there is one.
      type: str
      sample: look at the cable and the switch port
deviation_lines:
  description: The same, each in one line.
  returned: always
  type: list
  elements: str
rows:
  description: One line of a table for each declared interface and port.
  returned: always
  type: list
  elements: dict
  sample: [{"port": "mlx5_0/1", "state": "ACTIVE", "interface": "ib0", "result": "OK"}]
fabric:
  description: The name of the fabric.
  returned: always
  type: str
  sample: ib
master_guid:
  description: Port GUID of the master subnet manager; empty where there is none.
  returned: always
  type: str
  sample: "0x0c42a10300000011"
waited:
  description: Seconds until the declared state was reached, or the wait was over.
  returned: always
  type: float
  sample: 0.0
"""

import platform
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._check._input import declared_of, problems
from ansible_collections.rdma.ofed.plugins.module_utils._check._observe import identities, observe
from ansible_collections.rdma.ofed.plugins.module_utils._check._outcome import judge, until_ok
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_check import OPTIONS


def main() -> None:
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    run = ModuleRunner(module)
    try:
        wrong = problems(module.params)
        if wrong:
            raise InvalidInput(wrong)
        declared = declared_of(module.params, identities(run))
        wait = 0 if module.check_mode else module.params["wait"]
        outcome, waited = until_ok(lambda: judge(declared, observe(run, declared, platform.release())), wait, time.monotonic, time.sleep)
    except RdmaError as exc:
        module.fail_json(msg=exc.msg, **exc.details)
    result = {**outcome.result(), "waited": round(waited, 1)}
    if outcome.deviations and module.params["fail"]:
        module.fail_json(msg="not as declared: %s" % "; ".join(result["deviation_lines"]), **result)
    module.exit_json(changed=False, ok=not outcome.deviations, **result)


if __name__ == "__main__":
    main()
