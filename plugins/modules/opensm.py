#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm
short_description: Run the subnet managers of fabrics here, or make sure that none runs here
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Runs opensm for each of O(instances) as C(rdma-opensm@FABRIC.service), bound to the GUID of one port, restarted whenever it
    ends, with its configuration in C(/etc/rdma-ofed/opensm/FABRIC).
    The units of the packages are stopped, disabled and masked, because they report C(active) while no opensm runs.
  - Restarts it where it runs a program, or libraries of the RDMA stack, that were replaced since it started, as by another driver stack.
  - Asks each fabric for its master before anything is started, and refuses to start beside one that is on no host of the inventory.
    Waits afterwards until the fabric has exactly one master that is alive, and the instance its place. Where that is up to another
    host, which is still master and has not heard of the change, the module says so in RV(reasons) instead.
  - Every other subnet manager of this host is stopped. One that is master lets a standby take over first. Where nobody stands by,
    it stays, and RV(reasons) says so, so the fabric is never without a master because its new one has not been started yet.
  - Masks work before a package is installed, so that the package can't start one.
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.state
options:
  state:
    description:
      - With V(present) exactly O(instances) run here. The package must be installed, except in check mode.
      - With V(absent) nothing of this module is left. The units of the packages can be started again.
    type: str
    choices: [present, absent]
    default: present
  instances:
    description:
      - The subnet managers of this host, one for each fabric. With V([]) none runs here, and none can be started by a package.
      - The filter P(rdma.ofed.opensm_places#filter) makes them from inventory.
    type: list
    elements: dict
    suboptions:
      fabric:
        description: Name of the fabric (subnet).
        type: str
        default: ib
      role:
        description:
          - V(master) for the one that shall be master of the fabric, V(standby) for one that takes over when it fails.
          - The election goes by O(instances[].priority); the role says what to wait for.
        type: str
        choices: [master, standby]
        default: master
      priority:
        description: Priority in the election of a master, from V(0) to V(15). The highest wins, so it has to differ between hosts.
        type: int
        default: 14
      port:
        description:
          - The port to bind to, in the notation of C(rdma link), such as V(mlx5_0/1).
          - Without this option and O(instances[].port_guid) it is the first port whose link layer is InfiniBand.
        type: str
      port_guid:
        description: The port to bind to, by its port GUID. That is not the node GUID.
        type: str
      subnet_prefix:
        description: Upper half of the GIDs of the subnet. It is the same for all subnet managers of a fabric, and different for each fabric.
        type: str
        default: "0xfe80000000000000"
      log_file:
        description: Path of the log of opensm. The default is C(/var/log/opensm/FABRIC/opensm.log).
        type: path
      designated_host:
        description: The host that shall be master, for messages.
        type: str
      peer_guids:
        description: Port GUIDs of other hosts that may run a subnet manager of the fabric. A master on one of them is no stranger.
        type: list
        elements: str
        default: []
      other_guids:
        description: Port GUIDs that are on other fabrics. A master on one of them means that a cable is in the wrong fabric, and is refused.
        type: list
        elements: str
        default: []
  partitions:
    description:
      - Content of C(partitions.conf) for each fabric. Without one, every port is a full member of the default partition.
      - The filter P(rdma.ofed.opensm_data#filter) makes it from declared partitions.
    type: dict
    default: {}
  node_names:
    description:
      - Names of nodes for opensm and the diagnostics, in C(/etc/rdma/ib-node-name-map). Other lines of that file stay.
      - Without this option the file stays as it is. The filter P(rdma.ofed.opensm_data#filter) gives C(hosts).
    type: dict
    suboptions:
      hosts:
        description: For each host a mapping of its HCAs to node GUIDs; without one, the host keeps the names that it has in the file.
        type: dict
        default: {}
      names:
        description: Names of other nodes, such as switches, by node GUID.
        type: dict
        default: {}
  routing_engine:
    description: Routing engines in the order in which they are tried.
    type: list
    elements: str
  root_guids:
    description: Node GUIDs of the root switches, for routing engines that start from roots.
    type: list
    elements: str
  qos:
    description: Set up quality of service.
    type: bool
  qos_policy:
    description: The text of a QoS policy.
    type: str
  sm_key:
    description: Key by which the subnet managers of a fabric know each other. It can only be changed while no other one runs.
    type: str
  log_max_size:
    description: Size in MB at which opensm starts its log anew. V(0) sets no limit.
    type: int
    default: 128
  log_flags:
    description: What opensm logs, as a byte of flags such as V("0x03").
    type: str
  options:
    description: Other keys of C(opensm.conf). One that the installed opensm does not have is refused, and so is a value of another kind.
    type: dict
    default: {}
  secret_options:
    description: The same for keys that are secret, which end in C(_key) or C(_seed).
    type: dict
    default: {}
  wait_timeout:
    description:
      - Seconds to wait until the fabric of an instance is managed as it shall be.
      - A master that shall be stopped waits half of it for somebody who stands by.
    type: int
    default: 60
  known_hosts:
    description:
      - Names of the hosts of the inventory.
      - A master whose node description begins with one of them is on that host. Any other one is a stranger.
    type: list
    elements: str
    default: []
  allow_foreign_master:
    description:
      - Start even though a stranger is master, on a switch for example.
      - The election then decides. The module is content with exactly one master, whichever it is.
    type: bool
    default: false
  stack_replaced:
    description:
      - For check mode, in which nothing was replaced yet. The driver stack would be, so what runs here would run what was replaced.
      - Otherwise the module finds that out by itself.
    type: bool
    default: false
requirements:
  - opensm and infiniband-diags, where O(instances) has any
  - systemd
notes:
  - The kernel module C(ib_umad) must be loaded where O(instances) has any.
  - The configuration files of the packages, C(/etc/opensm/opensm.conf) or C(/etc/rdma/opensm.conf), are not read.
seealso:
  - module: rdma.ofed.opensm_info
"""

EXAMPLES = r"""
- name: Run the subnet manager here
  rdma.ofed.opensm:
    instances:
      - fabric: ib
    known_hosts: "{{ groups['rdma'] }}"

- name: Stand by on the fabric of the first port, and manage that of the second
  rdma.ofed.opensm:
    instances:
      - fabric: ib
        port: mlx5_0/1
        role: standby
        priority: 13
      - fabric: storage
        port: mlx5_1/1
        subnet_prefix: "0xfe80000000000001"
    known_hosts: "{{ groups['rdma'] }}"

- name: Make sure that no package ever starts one here
  rdma.ofed.opensm:
    instances: []
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["service opensm.service masked: no -> yes", "create file /etc/systemd/system/rdma-opensm@.service"]
pending:
  description: What is set and not effective yet. Always empty.
  returned: success
  type: list
  elements: str
reboot_required:
  description: Always V(false).
  returned: success
  type: bool
reasons:
  description: What an administrator should know, such as that another host is still master.
  returned: success
  type: list
  elements: str
fabrics:
  description: The instances. A master that keeps this module from starting is described in C(master) of the failure.
  returned: success
  type: list
  elements: dict
  contains:
    fabric:
      description: Name of the fabric.
      type: str
    role:
      description: As in O(instances[].role).
      type: str
    unit:
      description: The systemd unit.
      type: str
    port:
      description: The port that the subnet manager is bound to.
      type: str
    port_guid:
      description: Its port GUID.
      type: str
    priority:
      description: As in O(instances[].priority).
      type: int
    master:
      description:
        - The master of the fabric, with C(port_guid), C(lid), C(priority), and in C(here) whether it is this instance.
        - Not in check mode.
      type: dict
  sample:
    - fabric: ib
      role: master
      unit: rdma-opensm@ib.service
      port: mlx5_0/1
      port_guid: "0x7cfe90030016aef1"
      priority: 14
      master: {port_guid: "0x7cfe90030016aef1", lid: 1, priority: 14, here: true}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._host._answer import answer
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._converge import converge
from ansible_collections.rdma.ofed.plugins.module_utils._schema._opensm import OPTIONS


def main() -> None:
    module = AnsibleModule(
        argument_spec=OPTIONS,
        # "Nothing runs here" is said, and not merely left out.
        required_if=[("state", "present", ["instances"])],
        supports_check_mode=True,
    )
    answer(module, lambda: converge(module, ModuleRunner(module)))


if __name__ == "__main__":
    main()
