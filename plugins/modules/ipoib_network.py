#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ipoib_network
short_description: Set what IPoIB needs of the network of a node
version_added: 2.0.0
description:
  - Makes the kernel answer ARP requests on the right one of several IPoIB interfaces in one subnet, and gives its neighbour
    tables room for all hosts of a large fabric, now and at boot.
  - The settings are in C(/etc/sysctl.d/90-rdma-ofed.conf), which belongs to the collection whole, and are set in the running
    kernel at once. systemd applies them to an interface that appears later, such as after a reload of the driver.
  - In a chroot, such as an image build, only the file is written, because the running kernel is that of another system. RV(reasons) says so.
  - A setting that a file of others already makes sufficiently is left to that file. A file that is read later and undoes a
    setting is refused, with its line, before the first change.
  - Settings of all interfaces and of others than the declared ones are never touched.
  - On request, the firewall of the node accepts what arrives on these interfaces. Zones and rules of others stay as they are.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  interfaces:
    description:
      - The IPoIB interfaces of the node, with the keys of O(rdma.ofed.ipoib#module:interfaces). Those that are not listed here have no
        part in it, and interfaces without addresses neither.
    type: list
    elements: raw
    default: []
    suboptions:
      name:
        description: The name. A P_Key child does not need it.
        type: str
      port_guid:
        description: The port GUID, which is enough where the interface keeps its name.
        type: str
      pci:
        description: The PCI address of the adapter, likewise.
        type: str
      parent:
        description: The parent of a P_Key child, by name or port GUID.
        type: str
      pkey:
        description: The P_Key of a P_Key child.
        type: raw
      addresses:
        description: The addresses with prefix length. Interfaces with IPv4 addresses in one subnet share it.
        type: list
        elements: str
      state:
        description: V(absent) is the same as not declaring the interface.
        type: str
  arp:
    description:
      - Whether IPoIB interfaces in one IPv4 subnet each answer for their own addresses only (V(auto)), or keep the settings of
        the node (V(keep)).
      - V(auto) sets C(arp_ignore) to 1, C(arp_announce) to 2, and C(rp_filter) to 2 (loose) on these interfaces.
    type: str
    choices: [auto, keep]
    default: auto
  neighbours:
    description:
      - The number of hosts for which the neighbour tables need room. V(keep) leaves the limits of the node alone.
      - V(auto) is the number of hosts in the group that C(rdma_hosts) names, by default C(rdma), or in the inventory where there
        is no such group.
      - The table of an IP version has an entry for each host on each interface with such an address. The limits are raised only,
        and only where the kernel's own do not suffice. In a container, they belong to its host.
    type: str
    default: auto
  firewall:
    description:
      - V(trusted) puts these interfaces into O(firewall_zone) of firewalld, now and at boot, and adds a rule for each of them to ufw, whichever of the two
        filters packets on the node. A rule of ufw that would be replaced is refused before the first change. Files of nftables and iptables are never edited.
      - Where a keyfile of M(rdma.ofed.ipoib) configures the interface in NetworkManager, the zone is in that keyfile, because firewalld gets it from there.
      - V(keep) changes no firewall, and takes back what an earlier run has added. What others have added is never removed.
      - C(/var/lib/rdma.ofed/firewall.json) records what was added to firewalld. Rules of ufw have a comment.
    type: str
    choices: [keep, trusted]
    default: keep
  firewall_zone:
    description:
      - The zone for O(firewall=trusted). It must exist. An interface that others have put into another zone is refused before the first change.
    type: str
    default: trusted
  policy_routing:
    description:
      - Whether packets from an address of one of several interfaces in one IPv4 subnet leave by that interface.
      - The unit C(rdma-ofed-ipoib-routes.service) keeps a rule for each address and a routing table for each interface. Their priorities and numbers are from
        30700 to 30763. It restores them when an interface comes up, so they do not depend on what configures the interfaces.
    type: bool
    default: false
  state:
    description:
      - V(absent) removes the file, and returns the kernel to what the files of others say, or to the former values. It takes back what was added to
        firewalls.
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
  - The kernel uses the larger one of the values for an interface and for all interfaces. RV(reasons) names a value for all interfaces
    that is too large.
seealso:
  - module: rdma.ofed.ipoib
"""

EXAMPLES = r"""
- name: Two ports in one subnet
  rdma.ofed.ipoib_network:
    interfaces:
      - name: ib0
        addresses: [10.20.0.1/16]
      - name: ib1
        addresses: [10.20.1.1/16]

- name: Neighbour tables for hosts that are not in the inventory
  rdma.ofed.ipoib_network:
    interfaces:
      - name: ib0
        addresses: [10.20.0.1/16]
    neighbours: "4000"

- name: A firewall that accepts all traffic of the fabric
  rdma.ofed.ipoib_network:
    interfaces:
      - name: ib0
        addresses: [10.20.0.1/16]
    firewall: trusted

- name: Two ports in one subnet, each with its own traffic in both directions
  rdma.ofed.ipoib_network:
    interfaces:
      - name: ib0
        addresses: [10.20.0.1/16]
      - name: ib1
        addresses: [10.20.1.1/16]
    policy_routing: true

- name: Take the settings away
  rdma.ofed.ipoib_network:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["create file /etc/sysctl.d/90-rdma-ofed.conf", "sysctl net.ipv4.conf.ib0.arp_ignore: 0 -> 1"]
shared:
  description: The interfaces with an IPv4 address in a subnet in which another one has an address, too, as far as O(arp=auto).
  returned: success
  type: list
  elements: str
  sample: [ib0, ib1]
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
  description: Why a setting has no effect although nothing failed.
  returned: success
  type: list
  elements: str
  sample: ["net.ipv4.conf.all.arp_ignore is 8, and the kernel uses the larger value: for ib0, 1 is wanted. Lower it, or declare ipoib_network_arp: keep"]
"""


from ..module_utils._host._answer import answer_on_node
from ..module_utils._ipnet._converge import converge
from ..module_utils._schema._ipoib_network import OPTIONS


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, environ=node.environ, root=node.root), root=True)


if __name__ == "__main__":
    main()
