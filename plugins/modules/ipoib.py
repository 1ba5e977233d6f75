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
  - Takes the complete wanted state of a node's IPoIB interfaces and P_Key children, and makes it so now and after a
    reboot, on the network stack that manages the node.
  - Interfaces that an earlier run configured and that are not declared any more go back to how the kernel makes them
    (datagram mode, no addresses, down); P_Key children are deleted. What others configured is never touched.
  - Addresses, mode and MTU are changed on the running interface, without taking it down. systemd-networkd takes the
    addresses of an interface whose file has changed off and puts them on again, within milliseconds.
  - All input is checked before the first change, and everything that is wrong is reported at once.
options:
  interfaces:
    description:
      - The interfaces, each once. Each entry is a mapping.
      - V(name) - the interface. A P_Key child can leave it out; its name is V(PARENT.PKEY), for example V(ib0.8001).
      - V(addresses) - list of IPv4 and IPv6 addresses with prefix length. Other static addresses of the interface are removed.
      - V(mode) - V(datagram), V(connected), or V(auto) (the default), which is connected where the port can do it and
        else datagram.
      - V(mtu) - 68 to 4092 in datagram mode, 68 to 65520 in connected mode. Without it, connected mode gets 65520 and
        datagram mode what the kernel chooses.
      - V(parent) and V(pkey) - make it a P_Key child of another declared interface. The P_Key is a number or
        hexadecimal text, 0x8001 to 0xffff for full and 0x0001 to 0x7fff for limited membership.
      - V(state) - V(present) (the default) or V(absent), which is the same as not declaring it.
    type: list
    elements: raw
    default: []
  backend:
    description:
      - The network stack to write files for.
      - V(auto) finds out which one manages the node and refuses where two do.
    type: str
    choices: [auto, systemd-networkd, ifupdown]
    default: auto
  state:
    description:
      - V(absent) removes what earlier runs configured, whatever O(interfaces) says.
    type: str
    choices: [present, absent]
    default: present
  backup:
    description:
      - Keep a copy of C(/etc/network/interfaces) before it is changed. All other files are the module's own.
    type: bool
    default: false
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    details: On a node where C(ib_ipoib) is not loaded yet, the interfaces are expected as the kernel makes them.
notes:
  - The datagram MTU that an interface gets is bounded by the broadcast group that the subnet manager made. A larger one
    is kept on record, and RV(reasons) says what the subnet manager would have to offer.
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
  description: The network stack used; empty where nothing is declared.
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
  description: Changes that are effective only later. Always empty for this module.
  returned: success
  type: list
  elements: str
  sample: []
reboot_required:
  description: Whether a reboot is needed. Always false for this module.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is not as asked for although nothing failed.
  returned: success
  type: list
  elements: str
  sample: ["ib0: MTU 4092 is asked for, and the kernel keeps it at 2044, the broadcast group's; the subnet manager's partition must offer mtu=5 (4096 bytes)"]
problems:
  description: Everything that is wrong with the input, one entry each.
  returned: failure because of wrong input
  type: list
  elements: str
  sample: ["ipoib_interfaces[0].mtu is 9000; allowed: 68 to 4092 in datagram mode"]
"""

import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._configure import Options, configure


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "interfaces": {"type": "list", "elements": "raw", "default": []},
            "backend": {"type": "str", "choices": ["auto", "systemd-networkd", "ifupdown"], "default": "auto"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "backup": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        module.exit_json(**configure(module, ModuleRunner(module), Options(**module.params), os.environ))
    except RdmaError as exc:
        module.fail_json(msg=exc.msg, **exc.details)


if __name__ == "__main__":
    main()
