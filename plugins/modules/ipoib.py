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
  - Addresses, routes and MTU are changed on the running interface, without taking it down. systemd-networkd takes the
    addresses of an interface whose file has changed off and adds them again, within milliseconds. NetworkManager
    takes an interface down for a moment to change its mode.
  - Where the back-end of a node has changed, the files of the former one are removed.
  - All input is validated before the first change, and all problems are reported at once.
options:
  interfaces:
    description:
      - The interfaces, each once. Each entry is a mapping.
      - V(name) - the interface. A P_Key child can leave it out; its name is V(PARENT.PKEY), for example V(ib0.8001).
      - V(port_guid) or V(pci) - the port, as the last 8 bytes of the hardware address (V(0x0002c903000f0001)), or as the
        PCI address of an adapter of one port. It stands for the interface, whatever that is called. With V(name), the
        interface gets this name by a udev rule, at once where it is down, otherwise at the next boot. A port
        GUID can also stand in V(parent) and in the ports of a bond.
      - V(addresses) - list of IPv4 and IPv6 addresses with prefix length. Other static addresses of the interface are removed.
      - V(mode) - V(datagram), V(connected), or V(auto) (the default), which is connected where the port can do it, otherwise
        datagram.
      - V(mtu) - 68 to 4092 in datagram mode, 68 to 65520 in connected mode. Without it, connected mode gets 65520 and
        datagram mode what the kernel chooses.
      - V(parent) and V(pkey) - make it a P_Key child of another declared interface. The P_Key is a number or
        hexadecimal text, 0x8001 to 0xffff for full and 0x0001 to 0x7fff for limited membership.
      - V(bond) - a mapping that makes it a bond in mode active-backup - V(ports) (names), V(primary) (one of them) and
        V(miimon) (100 ms). A port needs no entry of its own unless it is a P_Key child, and has no addresses. A bond and
        its ports have one mode and one MTU.
      - V(routes) - list of mappings with V(to) (a network or V(default)), V(via) and V(metric). Other static routes over
        the interface are removed.
      - V(state) - V(present) (the default) or V(absent), which is the same as not declaring it.
    type: list
    elements: raw
    default: []
  backend:
    description:
      - The network back-end to write files for.
      - V(auto) is the one that manages the node, and is refused where two do. V(ifcfg) are the files of Red Hat's
        network-scripts, which NetworkManager reads as well; V(networkmanager) are keyfiles.
    type: str
    choices: [auto, systemd-networkd, ifupdown, netplan, networkmanager, ifcfg, wicked]
    default: auto
  state:
    description:
      - V(absent) removes what earlier runs configured, whatever O(interfaces) declares.
    type: str
    choices: [present, absent]
    default: present
  backup:
    description:
      - Keep a copy of C(/etc/network/interfaces) before it is changed. All other files are the module's own.
    type: bool
    default: false
  rollback_timeout:
    description:
      - What to do with changes that would disturb the connection that the module is run over. V(0) refuses them.
      - 30 to 3600 are seconds. Before such a change, a systemd timer is armed that puts files and interfaces back as they
        were. After the change, the connection is closed and opened again, and the timer is stopped over the new one.
      - A timer that goes off while the module is still at work waits for its end, and reverts the change then. Choose
        more seconds than the change takes on the slowest node.
    type: int
    default: 0
  confirm:
    description:
      - The name of a timer to stop. For the module's own use, see O(rollback_timeout); nothing else is done.
    type: str
    default: ""
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    details: On a node where C(ib_ipoib) is not loaded yet, the interfaces are expected as the kernel creates them.
notes:
  - The datagram MTU that an interface gets is bounded by the broadcast group that the subnet manager made. A larger one
    is kept on record, and RV(reasons) names what the subnet manager would have to offer.
seealso:
  - module: rdma.ofed.rdma_facts
author:
  - The rdma.ofed engineers (@rdma-ofed)
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
      returned: always
      sample: ib0
    mode:
      description: The mode chosen; empty for an interface without modes.
      type: str
      returned: always
      sample: datagram
    mode_reason:
      description: Why this mode.
      type: str
      returned: always
      sample: "auto: its hardware address starts with 00: the driver uses Enhanced IPoIB, which is datagram only"
    mtu:
      description: The effective MTU, in bytes.
      type: int
      returned: always
      sample: 2044
    addresses:
      description: The addresses with prefix length.
      type: list
      elements: str
      returned: always
      sample: [10.20.0.1/24]
backend:
  description: The network back-end used; empty where nothing is declared.
  returned: success
  type: str
  sample: systemd-networkd
backup_files:
  description: Copies of files made before they were changed.
  returned: when O(backup) is true and a file was changed
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
  description: Why something deviates from the declared state although nothing failed.
  returned: success
  type: list
  elements: str
  sample: ["ib0: MTU 4092 is declared, and the kernel keeps it at 2044, the broadcast group's; the subnet manager's partition must offer mtu=5 (4096 bytes)"]
rollback:
  description: The timer that reverts the change, and whether it was stopped in time.
  returned: when a change that disturbs the connection was made, see O(rollback_timeout)
  type: dict
  contains:
    unit:
      description: The timer.
      type: str
      returned: always
      sample: rdma-ofed-ipoib-rollback.timer
    seconds:
      description: The time after which it goes off.
      type: int
      returned: always
      sample: 60
    confirmed:
      description: Whether the node could be reached again, and the timer was stopped.
      type: bool
      returned: always
      sample: true
problems:
  description: The problems of the input, one entry each.
  returned: failure because of wrong input
  type: list
  elements: str
  sample: ["ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"]
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._host._answer import answer
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import ARGUMENTS, Options
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._converge import converge


def main() -> None:
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    answer(module, lambda: converge(module, ModuleRunner(module), Options(**module.params), environ=os.environ))


if __name__ == "__main__":
    main()
