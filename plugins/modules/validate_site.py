#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/validate_site.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: validate_site
short_description: Validates the variables of a host before anything is changed
version_added: 1.0.0
description:
  - Validates all variables of the collection's roles for the host, on the controller. Nothing is sent to the node.
  - Where the facts of M(rdma.ofed.rdma_facts) are known, it also compares the variables with the node.
  - Returns the designated subnet manager of the host's fabric, from the group C(opensm) of the inventory.
  - Unknown variables that begin like those of the collection count as wrong, unless C(rdma_own_variables) lists them.
  - Register the result as C(rdma_site), as C(site.yml) does. The roles then skip their own validation.
options:
  role:
    description:
      - The role whose variables to validate, as they are within it. V(fabric), V(discover) and V(rehearse) are
        those of the playbooks of these names.
        The default is all roles, and the placement of the subnet managers.
    type: str
    choices: [ofed, fabric, discover, rehearse]
  foresee:
    description:
      - Whether to find the refusals of the roles on the node, too. It needs a look that M(rdma.ofed.rdma_facts) has kept.
      - With O(fail=false), the role is in RV(left_out).
    type: bool
    default: false
  refused:
    description:
      - By role, what it would refuse to do on the host, which a task after the validation has found.
      - Nothing is validated. Returns what C(rdma_site) has, with these reasons in RV(left_out) for the role and for those that need what it brings.
    type: dict
    default: {}
  images:
    description:
      - Whether hosts with C(rdma_image) are served. Their roles that need a running system are in RV(deferred) and RV(left_out).
        Otherwise, such a host is left out as a whole.
    type: bool
    default: false
  fail:
    description:
      - Whether the task fails where the input is wrong. With V(false), M(rdma.ofed.report) ends the run with one list for all hosts.
    type: bool
    default: true
extends_documentation_fragment:
  - rdma.ofed.attributes.action
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
seealso:
  - module: rdma.ofed.rdma_facts
  - module: rdma.ofed.report
"""

EXAMPLES = r"""
- name: Look at the node
  rdma.ofed.rdma_facts:

- name: Validate all input
  rdma.ofed.validate_site:
    fail: false
  register: rdma_site

- name: End the run for all hosts where the input of any is wrong
  rdma.ofed.report:
    kind: refusals
  run_once: true
  any_errors_fatal: true

- name: Validate the variables of one role on this node
  rdma.ofed.validate_site:
    role: ofed

- name: Leave the host out of what the stack would refuse
  rdma.ofed.validate_site:
    refused:
      ofed: "{{ ofed_foreseen.refusals }}"
  register: rdma_site
"""

RETURN = r"""
refusals:
  description: What the roles would refuse to do on the node, and why. Tags of the run leave out the roles that it does not come to.
  returned: with O(foresee)
  type: list
  elements: str
  sample:
    - >-
      /etc/network/interfaces.d/ib configures ib0; take the interface out of the file, or remove the file, or do not declare the interface
ask_fabric:
  description:
    - Whether refusals depend on the live fabric, because a subnet manager of the host starts, or the only one of the site ends. The entry point
      C(refusals) of the role C(opensm) asks it before the first change.
  returned: with O(foresee)
  type: bool
  sample: false
stack_settled:
  description:
    - Whether the look shows that the role C(ofed) has nothing to do. The node has the stack of its distribution, as declared, with all packages, and
      nothing of a vendor.
  returned: with O(foresee), where nothing is wrong
  type: bool
  sample: true
settled:
  description:
    - The roles that playbook C(site) skips on the host, in its order, up to the first that has something to do or to report. The roles that the host is left
      out of are among them. It is empty where an earlier playbook of the run has set the outcome of a role.
  returned: with O(foresee), where nothing is wrong
  type: list
  elements: str
  sample: [ofed, kernel_modules, soft_rdma, opensm, ipoib, gpudirect]
problems:
  description: Everything that is wrong, each with host, variable, value and what is allowed.
  returned: failure
  type: list
  elements: str
  sample: ["node2: ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"]
wrong:
  description: Everything that is wrong, each with variable, value and what is allowed.
  returned: with O(fail=false)
  type: list
  elements: str
  sample: ["ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"]
left_out:
  description:
    - The roles that the playbooks leave this host out of, with the reasons. That is what is wrong with this host alone, or would be refused there,
      and what needs what such a role brings. V(all) stands for the whole host, on which nothing can be done.
  returned: with O(fail=false) or O(refused), without O(role)
  type: dict
  sample: {}
deferred:
  description:
    - The roles in RV(left_out) that do nothing in the tree of an image (C(rdma_image)), with what it lacks for them. V(state) is one that shows only while
      the system runs, V(fabric) the ports of a subnet manager, V(gpu) the driver of a GPU, V(vendor) the kernel that a
      vendor's installer works on, and V(driver) the same where the vendor's stack is there.
    - This is no error. The summary names it.
  returned: without O(role), for the tree of an image
  type: dict
  sample: {node_check: state}
machine:
  description: What no other machine has. M(rdma.ofed.report) finds two hosts that are one machine by it.
  returned: without O(role)
  type: list
  elements: str
  sample: ["port GUID 0x7cfe90030016aef1"]
addresses:
  description: The addresses of IPoIB interfaces that the host declares. M(rdma.ofed.report) compares them with those of the other hosts.
  returned: without O(role), where nothing is wrong
  type: list
  elements: dict
  sample: [{"address": "10.20.0.2/24", "variable": "ipoib_interfaces[0].addresses[0]", "network": "ib/0"}]
fabric:
  description: The fabric of the host, the first one where it is on several.
  returned: without O(role)
  type: str
  sample: ib
designated_host:
  description: The designated subnet manager of that fabric; empty where there is none.
  returned: without O(role)
  type: str
  sample: node1
designated_hosts:
  description: The designated subnet managers of all fabrics of the host, by fabric. Fabrics without one are left out.
  returned: without O(role)
  type: dict
  sample: {"ib": "node1"}
managers:
  description: The hosts of group C(opensm) that manage the fabrics of the host, by fabric, the designated one first, then those that take over.
  returned: without O(role)
  type: dict
  sample: {"ib": ["node1", "node2"]}
designated:
  description: Whether this host is designated for any of its fabrics.
  returned: without O(role)
  type: bool
  sample: false
opensm:
  description:
    - V(master) where it is designated for any of its fabrics, V(standby) where it stands by for one, else V(resting).
  returned: without O(role)
  type: str
  sample: resting
opensm_standby:
  description: What RV(opensm) was found with, by which a role that is given another C(opensm_standby) knows that it has to ask again.
  returned: without O(role)
  type: bool
  sample: false
"""
