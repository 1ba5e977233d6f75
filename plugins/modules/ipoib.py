#!/usr/bin/python
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ipoib
short_description: Configure the IPoIB interfaces of a node
version_added: 1.0.0
description:
  - Takes the complete declared state of a node's IPoIB interfaces, P_Key children and bonds of them, and applies it, now
    and for every boot, through the network back-end that manages the node.
  - Interfaces that an earlier run configured and that are no longer declared return to the state in which the kernel
    creates them (datagram mode, no addresses, down); P_Key children and bonds are deleted. What others configured, such
    as bonds of Ethernet interfaces, is never touched.
  - Addresses, routes and MTU are changed on the running interface, without taking it down. systemd-networkd removes the addresses of an interface whose file
    has changed and adds them again, within milliseconds. NetworkManager takes an interface down for a moment to change its mode.
  - Where the back-end of a node has changed, the files of the former one are removed.
  - All input is validated before the first change, and all problems are reported at once.
options:
  interfaces:
    description:
      - The interfaces, each once. The list is complete. An interface that an earlier run configured and that is no
        longer listed is unconfigured.
      - All entries are validated before the first change, and every problem is reported with its place.
    type: list
    elements: raw
    default: []
    suboptions:
      name:
        description:
          - The name of the interface. A P_Key child does not need it. Its name is V(PARENT.PKEY), such as V(ib0.8001).
          - With O(interfaces[].port_guid) or O(interfaces[].pci), the interface gets this name by a udev rule, at once
            where it is down, else at the next boot.
        type: str
      port_guid:
        description:
          - The port GUID of the interface, which identifies it whatever its name is. It is the last 8 bytes of the
            hardware address, such as V(0x0002c903000f0001). It can also be given in O(interfaces[].parent) and
            O(interfaces[].bond.ports).
        type: str
      pci:
        description:
          - The PCI address of the adapter, such as V(0000:03:00.0), with the number of the port where it has several,
            V(0000:03:00.0/2). It identifies the interface as the port GUID does.
        type: str
      rail:
        description:
          - The rail of the interface, as in C(rdma_rails), in place of O(interfaces[].pci) and
            O(interfaces[].port_guid), such as V(rdma0), or V(rdma0/2) for the second port of its adapter. Without
            O(interfaces[].name), the interface gets the C(interface) of the rail as its name.
        type: str
      bond:
        description:
          - Makes the interface a bond of IPoIB interfaces or P_Key children, in mode active-backup. A bond and its
            ports have one mode and one MTU.
        type: dict
        suboptions:
          ports:
            description:
              - The ports, by name or port GUID. A port needs no entry of its own unless it is a P_Key child, and has no
                addresses.
            type: list
            elements: str
            required: true
          primary:
            description: The port to prefer while it has a carrier.
            type: str
          miimon:
            description: The interval of carrier checks, in ms. The default is 100.
            type: int
          mode:
            description: V(active-backup). The kernel accepts IPoIB ports in no other mode.
            type: str
          fail_over_mac:
            description: V(active). The kernel accepts no other policy for IPoIB ports.
            type: str
      routes:
        description: Static routes over the interface. Other static routes over it are removed.
        type: list
        elements: dict
        default: []
        suboptions:
          to:
            description: A network, such as V(10.30.0.0/16), or V(default).
            type: str
            required: true
          via:
            description: The gateway, in a network of the interface. Without it, the network is on the link.
            type: str
          metric:
            description: The metric. The default is that of the network back-end.
            type: int
      addresses:
        description:
          - IPv4 and IPv6 addresses with prefix length, such as V(10.20.0.1/24). Other static addresses of the interface
            are removed.
        type: list
        elements: str
        default: []
      dhcp:
        description:
          - Whether the interface also gets an IPv4 address by DHCP, besides O(interfaces[].addresses). It identifies
            itself by a client identifier from C(/etc/machine-id), as RFC 4390 demands. Name servers, routes, time
            servers and the host name of the server are not used.
          - Only systemd-networkd can do it. With other back-ends, it is refused.
        type: bool
        default: false
      mode:
        description:
          - V(auto) is datagram, or the mode that the bond of the interface declares. A node never gets connected mode
            undeclared.
        type: str
        choices: [auto, datagram, connected]
        default: auto
      mtu:
        description:
          - The MTU, 68 to 4092 in datagram mode, 68 to 65520 in connected mode.
          - The default is 65520 in connected mode. In datagram mode, the kernel chooses it.
        type: int
      parent:
        description: The declared parent interface of a P_Key child.
        type: str
      pkey:
        description:
          - The P_Key of a P_Key child, as a number or as hexadecimal text.
          - 0x8001 to 0xffff is full membership, 0x0001 to 0x7fff limited membership.
        type: raw
      state:
        description: V(absent) is the same as not declaring the interface.
        type: str
        choices: [present, absent]
        default: present
  backend:
    description:
      - The network back-end to write files for.
      - V(auto) detects the one that manages the node, and fails where two do. V(ifcfg) are the files of Red Hat's
        network-scripts, which NetworkManager reads as well. V(networkmanager) are keyfiles.
    type: str
    choices: [auto, systemd-networkd, ifupdown, netplan, networkmanager, ifcfg, wicked]
    default: auto
  state:
    description:
      - V(absent) removes everything that earlier runs configured, regardless of O(interfaces).
    type: str
    choices: [present, absent]
    default: present
  backup:
    description:
      - Whether to keep a copy of C(/etc/network/interfaces) before it is changed. All other files are the module's own.
    type: bool
    default: false
  rollback_timeout:
    description:
      - How to treat changes that would disturb the connection of the run. V(0) refuses them.
      - With 30 to 3600 seconds, a systemd timer is started before such a change. When it expires, it restores the previous
        files and interfaces. After the change, the connection is closed and opened again, and the timer is stopped over the
        new connection.
      - A timer that expires while the module is running waits for the module to end, and reverts the change then. Allow
        more seconds than the change takes on the slowest node.
    type: int
    default: 0
  confirm:
    description:
      - The name of a timer to stop. For the module's own use, see O(rollback_timeout). Nothing else is done.
    type: str
    default: ""
  adopt:
    description:
      - Whether declared interfaces are taken over from existing files that this collection does not manage. Without it, such
        a file is refused.
      - A file that configures nothing else is removed. Everything else in a file stays byte for byte. A copy is kept below
        C(/var/backups/rdma-ofed), with the path of the file.
      - Settings in such a file that no option expresses would be lost. The module refuses them and names each one. It also
        refuses a file from which the interface can't be separated, for example because it matches interfaces by a pattern.
      - Files of netplan are edited only where the Python that runs the module has PyYAML.
    type: bool
    default: false
  allow_interruption:
    description:
      - Consent to interfaces that go down briefly when they are taken over, which ends their connections. It is required
        with wicked, and with NetworkManager where it can't go on with the active profile of the interface, or where the
        interface also changes.
    type: bool
    default: false
  restore:
    description:
      - With O(state=absent), whether the original files from which interfaces were taken over are restored. A file that has
        changed since stays, and RV(reasons) names it.
    type: bool
    default: false
  allow_removal:
    description:
      - Consent to giving up everything of a kind that the collection has configured on a host, here all of its
        interfaces.
      - Without it, a host with such interfaces and without any in O(interfaces) is refused. V(absent) in O(state) or of
        each interface is consent, too.
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
extends_documentation_fragment:
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    details: On a node where C(ib_ipoib) is not loaded yet, the interfaces are expected as the kernel creates them.
notes:
  - The datagram MTU that an interface gets is bounded by the broadcast group that the subnet manager made. A larger one
    is kept on record, and RV(reasons) names what the subnet manager would have to offer.
seealso:
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Configure one interface with the best mode that its port can do
  rdma.ofed.ipoib:
    interfaces:
      - name: ib0
        addresses: [10.20.0.1/24, "fd00:20::1/64"]

- name: Configure a port in datagram mode and a partition on it
  rdma.ofed.ipoib:
    backend: systemd-networkd
    interfaces:
      - name: ib0
        mode: datagram
        mtu: 4092
        addresses: [10.20.0.1/24]
      - parent: ib0
        pkey: 0x8001
        addresses: [10.21.0.1/24]

- name: Configure a bond of two ports, whatever their interfaces are called
  rdma.ofed.ipoib:
    interfaces:
      - name: bond0
        mode: datagram
        addresses: [10.20.0.1/24]
        routes:
          - to: 10.30.0.0/16
            via: 10.20.0.254
        bond:
          ports: ["0x0002c903000f0001", "0x0002c903000f0002"]
          primary: "0x0002c903000f0001"

- name: Remove what was configured
  rdma.ofed.ipoib:
    state: absent
"""

RETURN = r"""
interfaces:
  description: The declared interfaces as they are after the run, or would be in check mode.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The interface.
      type: str
      sample: ib0
    mode:
      description: The mode; empty for an interface without modes.
      type: str
      sample: datagram
    mode_reason:
      description: Why this mode, V(declared) or V(the default).
      type: str
      sample: declared
    mtu:
      description: The effective MTU, in bytes.
      type: int
      sample: 2044
    addresses:
      description: The addresses with prefix length.
      type: list
      elements: str
      sample: [10.20.0.1/24]
backend:
  description: The network back-end used; empty where nothing is declared.
  returned: success
  type: str
  sample: systemd-networkd
backup_files:
  description: Copies of files of others, made before they were changed.
  returned: when O(backup) or O(adopt) is true and such a file was changed
  type: list
  elements: str
  sample: ["/etc/network/interfaces.4711.2026-01-01@12:00:00~"]
changes:
  description: The changes made, or in check mode to be made, in order, in words.
  returned: success
  type: list
  elements: str
  sample: ["create file /etc/systemd/network/50-rdma-ib0.network", "ib0 addresses: none -> 10.20.0.1/24"]
pending:
  description:
    - What is effective only later. For this module, interfaces that get their name at the next boot.
    - Each entry has the keys C(kind), C(subject) and C(aspect), C(before) and C(after), C(needs), and C(why), a list of texts for people.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: interface
      subject: ibp3s0
      aspect: name
      before: ibp3s0
      after: storage
      needs: reboot
      why: [ibp3s0 is up]
reboot_required:
  description: Whether a reboot is needed, for a name.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is not as declared although nothing failed.
  returned: success
  type: list
  elements: str
  sample: ["ib0: MTU 4092 is declared, and the kernel keeps it at 2044, the broadcast group's; the partition needs mtu: 4096 in opensm_partitions"]
rollback:
  description: The timer that reverts the change, and whether it was stopped in time.
  returned: when a change that disturbs the connection was made, see O(rollback_timeout)
  type: dict
  contains:
    unit:
      description: The timer.
      type: str
      sample: rdma-ofed-ipoib-rollback.timer
    seconds:
      description: The time after which it fires.
      type: int
      sample: 60
    confirmed:
      description: Whether the node could be reached again, and the timer was stopped.
      type: bool
      sample: true
problems:
  description: The problems of the input, one entry each.
  returned: failure because of wrong input
  type: list
  elements: str
  sample: ["ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"]
"""


from ..module_utils._host._answer import answer_on_node
from ..module_utils._ipoib._concern import Options
from ..module_utils._ipoib._converge import converge
from ..module_utils._schema._ipoib import OPTIONS


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, Options(**module.params), environ=node.environ, root=node.root), root=True)


if __name__ == "__main__":
    main()
