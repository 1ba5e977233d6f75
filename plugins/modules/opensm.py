#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: opensm
short_description: Run the subnet managers of fabrics on a node, or keep them from running
version_added: 1.0.0
description:
  - Runs opensm for each of O(instances) as C(rdma-opensm@FABRIC.service), bound to the GUID of one port, with its configuration in
    C(/etc/rdma-ofed/opensm/FABRIC). systemd restarts it when it ends.
    The units of the packages are stopped, disabled and masked, because they report C(active) while no opensm runs.
  - Restarts it where its program, or a library of the RDMA stack, was replaced since it started, as by another RDMA stack.
  - Asks each fabric for its master before anything is started, and refuses to start beside one that is on no host of the inventory.
    Waits afterwards until the fabric has exactly one master that is alive, and the instance its place. Where another host is still
    master, because the role has not run there yet, the module reports that in RV(reasons) and does not wait.
  - Every other subnet manager of this host is stopped. A master lets a standby take over first. Without a standby it keeps running,
    and RV(reasons) reports it, so the fabric keeps a master until the new one is started.
  - Masks work before a package is installed, so that the package can't start one.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  state:
    description:
      - With V(present), exactly O(instances) run on the node. The package must be installed, except in check mode.
      - V(absent) removes what this module has set up and is on record for. The units of the packages that it masked can be started again.
        Other subnet managers keep running. It is refused where the fabric would have no subnet manager, unless O(allow_removal=true).
    type: str
    choices: [present, absent]
    default: present
  instances:
    description:
      - The subnet managers of this host, one for each fabric. With V([]), none runs, and no package can start one.
      - O(by_inventory) takes them from the inventory.
    type: list
    elements: dict
    suboptions:
      fabric:
        description: Name of the fabric (subnet).
        type: str
        default: ib
      role:
        description:
          - V(master) for the designated master of the fabric, V(standby) for one that takes over when the master fails.
          - O(instances[].priority) decides the election. The role tells what to wait for.
        type: str
        choices: [master, standby]
        default: master
      priority:
        description: The priority in the election of a master, V(0) to V(15). The highest wins, so it must differ between hosts.
        type: int
        default: 13
      port:
        description:
          - The port to bind to, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and number, such as
            V(mlx5_0/1).
          - Without this option and O(instances[].port_guid), it is the first port whose link layer is InfiniBand.
        type: str
      port_guid:
        description: The port to bind to, by its port GUID. The node GUID is another number.
        type: str
      subnet_prefix:
        description: The upper half of the GIDs of the subnet. It is the same for all subnet managers of a fabric, and different for each fabric.
        type: str
        default: "0xfe80000000000000"
      log_file:
        description: The path of opensm's log. The default is C(/var/log/opensm/FABRIC/opensm.log).
        type: path
      designated_host:
        description: The designated host, for messages.
        type: str
      peer_guids:
        description: The port GUIDs of other hosts that may run a subnet manager of the fabric. A master on one of them is accepted.
        type: list
        elements: str
        default: []
      other_guids:
        description: The port GUIDs that are on other fabrics. A master on one of them means that a cable is in the wrong fabric, and is refused.
        type: list
        elements: str
        default: []
  by_inventory:
    description:
      - Whether O(instances), O(partitions), O(absent_members), O(declared_settings), O(known_hosts), O(known_guids) and the hosts in O(node_names) come from
        the variables of the role opensm and of the hosts of the inventory, and from the facts of this run, as far as the task does not give them.
      - Who manages a fabric comes from inventory alone, so it is the same in all runs, with C(--limit) and with C(serial).
    type: bool
    default: false
  partitions:
    description:
      - The content of C(partitions.conf) for each fabric. Without one, every port is a full member of the default partition.
    type: dict
    default: {}
  absent_members:
    description:
      - Members of partitions whose port GUIDs are not known, as of hosts that this run does not reach. A host keeps those that the present
        C(partitions.conf) has for it. Without any, the partition is made without the host. Either is a warning.
    type: list
    elements: dict
    default: []
    suboptions:
      fabric:
        description: Name of the fabric.
        type: str
        required: true
      pkey:
        description: The P_Key without the membership bit.
        type: int
        required: true
      host:
        description: The host of the inventory.
        type: str
        required: true
      membership:
        description: The membership of its ports.
        type: str
        choices: [full, limited, both]
        required: true
  node_names:
    description:
      - The names of nodes for opensm and the diagnostics, in C(/etc/rdma/ib-node-name-map). Other lines of that file stay.
      - Without this option, the file is left unchanged.
    type: dict
    suboptions:
      hosts:
        description: For each host, a mapping of its HCAs to node GUIDs. Without one, the host keeps its names in the file.
        type: dict
        default: {}
      names:
        description: The names of other nodes, such as switches, by node GUID.
        type: dict
        default: {}
  routing_engine:
    description: Routing engines in the order in which they are tried.
    type: list
    elements: str
  root_guids:
    description: The node GUIDs of the root switches, for routing engines that start from roots.
    type: list
    elements: str
  qos:
    description: Whether to set up quality of service.
    type: bool
  qos_policy:
    description: The text of a QoS policy.
    type: str
  sm_key:
    description: The key by which the subnet managers of a fabric recognise each other. It can only be changed while no other one runs.
    type: str
  log_max_size:
    description: The size in MB at which opensm restarts its log. V(0) sets no limit.
    type: int
    default: 128
  log_flags:
    description: What opensm logs, as a byte of flags such as V("0x03").
    type: str
  options:
    description: Other keys of C(opensm.conf) and their values. A key that the installed opensm does not have is refused, and so is a value of the wrong type.
    type: dict
    default: {}
  secret_options:
    description: Secret keys of C(opensm.conf), which end in C(_key) or C(_seed), and their values.
    type: dict
    default: {}
  wait_timeout:
    description:
      - How long to wait until the fabric of each instance has its designated master, in seconds.
      - A master that is to be stopped waits half of it for a standby.
      - A standby may take up to 50 seconds to notice that a master ended without handing over. That time is added.
    type: int
    default: 60
  known_hosts:
    description:
      - The names of the hosts of the inventory.
      - A master whose node description begins with one of them is on that host. Any other master is foreign.
    type: list
    elements: str
    default: []
  allow_foreign_master:
    description:
      - Whether to start although a foreign master runs, on a switch for example.
      - The election then decides. The module accepts exactly one master, whichever it is.
    type: bool
    default: false
  outrank_foreign_master:
    description: Whether to take over from a foreign master. Otherwise the priority is lowered below that of the foreign master.
    type: bool
    default: false
  give_up:
    description:
      - Settings of a subnet manager that runs here, or would run with the files that are there, or that an earlier run declared, and that may be lost.
        A key of C(opensm.conf), or C(partition NAME). Other settings that nothing declares are refused.
    type: list
    elements: str
    default: []
  adopt:
    description: Whether such settings are kept. They are written down in C(adopted.conf) and C(adopted-partitions.conf) beside the configuration.
    type: bool
    default: false
  declared_settings:
    description:
      - Without O(instances), the keys that are declared for the subnet managers on other hosts.
    type: list
    elements: str
    default: []
  allow_removal:
    description: Whether a fabric may lose the last of its partitions, or its subnet manager with O(state=absent).
    type: bool
    default: false
  restore:
    description:
      - With O(state=absent), whether the units of packages that this module has stopped or disabled are started and enabled again, as they were.
        RV(reasons) names a unit that does not run then.
    type: bool
    default: false
  package_installed:
    description: Whether the package of opensm is one that was installed for this module. It is put on record, and with O(state=absent) stays on it.
    type: bool
    default: false
  known_guids:
    description:
      - The port GUIDs of hosts of the inventory. A master that is not on one of them is foreign, even if its node description has the name of such a host.
      - A host that is not in here is recognised by its node description.
    type: dict
    default: {}
  stack_replaced:
    description:
      - Whether check mode plans as if the driver stack had been replaced, so that a running opensm would be outdated.
      - Outside check mode, the module detects that itself.
    type: bool
    default: false
  image:
    description:
      - Whether the host is the tree of an image, reached through a chroot or a container, in place of a running system.
        Packages and files are put into it, and units are enabled in it. Nothing is started, nothing of the system that
        builds the image is looked at or changed, and the kernels are those that are installed in the image.
      - What needs a running system is left out, and named at the end of the run. See C(docs/images.md).
    type: bool
    default: false
requirements:
  - opensm and infiniband-diags, where O(instances) has any
  - systemd
notes:
  - The kernel module C(ib_umad) must be loaded where O(instances) has any.
  - The configuration files of the packages, C(/etc/opensm/opensm.conf) and C(/etc/rdma/opensm.conf), are not used.
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
        port: "0000:03:00.0/1"
        role: standby
        priority: 12
      - fabric: storage
        port: "0000:04:00.0/1"
        subnet_prefix: "0xfe80000000000001"
    known_hosts: "{{ groups['rdma'] }}"

- name: Keep packages from starting a subnet manager
  rdma.ofed.opensm:
    instances: []
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in order. For people only.
  returned: success
  type: list
  elements: str
  sample: ["service opensm.service masked: no -> yes", "create file /etc/systemd/system/rdma-opensm@.service"]
pending:
  description: What is set and not effective yet. Always empty.
  returned: success
  type: list
  elements: dict
reboot_required:
  description: Always V(false).
  returned: success
  type: bool
reasons:
  description: What an administrator should know, such as that another host is still master. For people only.
  returned: success
  type: list
  elements: str
package_recorded:
  description: Whether this module is on record for the package of opensm.
  returned: success
  type: bool
deviations:
  description:
    - What the subnet managers made of their files, and not as declared, as their logs and P_Key tables tell. They are in RV(reasons), too.
    - Each has C(code), C(severity), C(object), C(expected), C(found), C(cause) and C(next_step), as those of M(rdma.ofed.node_check).
    - Empty in check mode, and where none runs here.
  returned: success
  type: list
  elements: dict
  sample: []
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
    kept_hosts:
      description: Those of O(absent_members) that keep the ports of an earlier run in their partitions.
      type: list
      elements: str
    missing_hosts:
      description: Those of O(absent_members) that are in no partition, because their ports are not known.
      type: list
      elements: str
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
      priority: 13
      master: {port_guid: "0x7cfe90030016aef1", lid: 1, priority: 13, here: true}
"""

from ..module_utils._host._answer import answer_on_node
from ..module_utils._opensm._converge import converge
from ..module_utils._schema._opensm import OPTIONS


def main() -> None:
    # A host without a subnet manager has to be declared explicitly, so that a forgotten option does not have that meaning.
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, root=node.root), root=True, required_if=[("state", "present", ["instances"])])


if __name__ == "__main__":
    main()
