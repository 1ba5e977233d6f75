#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: soft_rdma
short_description: Make software RDMA links on network interfaces, now and at boot
version_added: 1.0.0
description:
  - Takes the complete list of software RDMA links of a node. V(rxe) is RoCE and V(siw) is iWARP, both on any Ethernet
    interface and without an RDMA adapter.
  - Each link has a unit of systemd, C(rdma-ofed-link-NAME.service), that makes it when its interface appears.
  - Links that an earlier run created and that are no longer declared are deleted. Other links are never touched.
  - What is wrong, such as an interface that does not exist or a kernel without the driver, is found before anything is
    changed.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  links:
    description: The links. The list is complete. A link of an earlier run that is no longer listed is deleted.
    type: list
    elements: raw
    default: []
    suboptions:
      name:
        description:
          - The name of the RDMA device, such as V(rxe0). It begins with a letter and consists of letters, digits, C(_)
            and C(-).
        type: str
        required: true
      type:
        description: V(rxe) is RoCE, V(siw) is iWARP.
        type: str
        required: true
        choices: [rxe, siw]
      netdev:
        description:
          - The network interface, such as V(eth0). The kernel creates one link of a type on an interface, and V(rxe)
            not on a VLAN.
        type: str
        required: true
  state:
    description: V(absent) removes all links that earlier runs created, regardless of O(links).
    type: str
    choices: [present, absent]
    default: present
  image:
    description:
      - Whether the host is the tree of an image, reached through a chroot or a container, in place of a running system.
        Packages and files are put into it, and units are enabled in it. Nothing is started, nothing of the system that
        builds the image is looked at or changed, and the kernels are those that are installed in the image.
      - What needs a running system is left out, and named at the end of the run. See C(docs/images.md).
    type: bool
    default: false
notes:
  - A link that is deleted takes the connections over it along.
"""

EXAMPLES = r"""
- name: RoCE without an adapter for it
  rdma.ofed.soft_rdma:
    links:
      - name: rxe0
        type: rxe
        netdev: eth0

- name: Take the links away
  rdma.ofed.soft_rdma:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["create file /etc/systemd/system/rdma-ofed-link-rxe0.service", "link rxe0: none -> rxe on eth0"]
links:
  description: The declared links.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The RDMA device.
      type: str
    type:
      description: V(rxe) or V(siw).
      type: str
    netdev:
      description: The network interface.
      type: str
    present:
      description: Whether it is there.
      type: bool
  sample: [{name: rxe0, type: rxe, netdev: eth0, present: true}]
pending:
  description: Changes that are effective only later. Always empty for this module.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Whether a reboot is needed. Always false for this module.
  returned: success
  type: bool
reasons:
  description: Why something is not as declared although nothing failed. Always empty for this module.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ..module_utils._host._answer import answer_on_node
from ..module_utils._schema._soft_rdma import OPTIONS
from ..module_utils._softrdma._converge import converge


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, node.release, root=node.root), root=True)


if __name__ == "__main__":
    main()
