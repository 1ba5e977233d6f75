#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mlxconfig
short_description: Declare the firmware configuration of HCAs
version_added: 1.0.0
description:
  - Sets firmware parameters, such as the link type of a port or the number of virtual functions, of all adapters of a
    node in one task, through C(mlxconfig) of MFT or C(mstconfig) of mstflint.
  - A parameter has three values. The default, the current one that the running firmware uses, and the one that comes with
    the next start of the card. The module compares with and changes the last one, and returns in RV(pending) what waits
    for a start. It never resets a card and never reboots.
  - A value that the next start brings already is not set again. Values are compared by their meaning.
  - Unknown, unavailable and read-only parameters and values that the tool refuses are found on all adapters before
    anything is set on any of them. Limits that only the firmware knows show when it is set, so one adapter of each kind
    comes first, and the others are not touched when it fails.
  - An unchanged adapter costs one query. Adapters are handled side by side, and a lock for each keeps other runs of the
    collection away.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.adapters.config
options:
  devices:
    description:
      - Adapters and their parameters. Several entries can match one adapter, as long as they agree.
      - All selectors of an entry must match an adapter. The functions of one card are one adapter.
    type: list
    elements: dict
    required: true
  tool:
    description:
      - The program to use. V(auto) chooses C(mlxconfig) where it is installed, and tries the other one where a program
        does not know the card or a parameter.
    type: str
    choices: [auto, mlxconfig, mstconfig]
    default: auto
  backup:
    description:
      - Whether to save the parameters of an adapter before they are changed. C(mstconfig -d DEVICE -f FILE set_raw)
        restores them. An adapter with only defaults leaves no file.
    type: bool
    default: false
  backup_dir:
    description: The folder for backups.
    type: path
    default: /var/backups/rdma-ofed
  awaiting_firmware:
    description:
      - PCI addresses of adapters with firmware in flash that does not run yet, as RV(rdma.ofed.mstflint#module:pending) has them in C(subject).
      - Parameters that such an adapter does not have yet, and that are like none that it has, are in RV(waiting). Elsewhere they are errors.
    type: list
    elements: str
    default: []
  allow_link_type:
    description:
      - Consent to changing the link type of ports that are in use, by PCI function, RDMA device or interface of each port.
      - Without it, the module fails before anything is set where the interface of such a port is up with a link, has addresses, is a member of a bond
        or bridge, carries the default route or the connection of the run. The next start of the card would remove the interface.
    type: list
    elements: str
    default: []
notes:
  - In check mode the tool's own dry run judges the values; nothing is written.
  - In check mode, on a node without either tool, nothing can be foreseen. This is said in RV(reasons).
  - It must run as root, and the kernel must allow access to PCI configuration space. Lockdown, with Secure Boot, forbids it.
  - Parameters that each PCI function has for itself are read and set through the first function of a card.
  - C(INTERNAL_CPU_OFFLOAD_ENGINE) of a DPU is 0 for V(ENABLED) (DPU mode) and 1 for V(DISABLED) (NIC mode).
"""

EXAMPLES = r"""
- name: InfiniBand on both ports of every card of this board, and SR-IOV. A type would select the card for Ethernet of the same model, too
  rdma.ofed.mlxconfig:
    devices:
      - psid: MT_0000000008
        parameters:
          LINK_TYPE_P1: IB
          LINK_TYPE_P2: IB
          SRIOV_EN: true
          NUM_OF_VFS: 16

- name: Ethernet on the second port of one card, on nodes that have it, with a backup
  rdma.ofed.mlxconfig:
    devices:
      - pci: "0000:03:00.0"
        parameters:
          LINK_TYPE_P2: ETH
    missing: ignore
    backup: true

- name: Elements of an array, and a parameter that exists only with another one
  rdma.ofed.mlxconfig:
    devices:
      - pci: "0000:03:00.0"
        parameters:
          HOST_CHAINING_DESCRIPTORS[0..3]: 8
          ADVANCED_PCI_SETTINGS: true
          MAX_ACC_OUT_READ: 44

- name: Take two parameters back to their defaults
  rdma.ofed.mlxconfig:
    devices:
      - all: true
        state: default
        names: [SRIOV_EN, NUM_OF_VFS]

- name: Everything to its default, except for the link type
  rdma.ofed.mlxconfig:
    devices:
      - psid: MT_0000000008
        state: default
        parameters:
          LINK_TYPE_P1: IB
"""

RETURN = r"""
unread:
  description: The adapters that could not be queried.
  returned: where there are any
  type: list
  elements: dict
  contains:
    pci:
      description: The first function.
      type: str
    why:
      description: What the tool said.
      type: str
changes:
  description: What was set for the next start, or would be, in words.
  returned: success
  type: list
  elements: str
  sample: ["0000:03:00.0 LINK_TYPE_P1: IB(1) -> ETH(2)"]
pending:
  description:
    - Declared parameters that the running firmware does not use yet, from current to next value.
    - Each entry has the keys C(kind), C(subject) and C(aspect), C(before) and C(after), C(needs), and C(why), a list of texts for people.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: firmware_parameter
      subject: "0000:03:00.0"
      aspect: LINK_TYPE_P1
      before: IB(1)
      after: ETH(2)
      needs: reboot
      why: []
reboot_required:
  description: Whether something is pending. A reset of the card may do instead of a reboot, and some cards want a cold boot.
  returned: success
  type: bool
reasons:
  description: What an administrator should know of or do later.
  returned: success
  type: list
  elements: str
waiting:
  description: Of RV(pending), the parameters that were not set, because only the firmware of O(awaiting_firmware) may have them. Set them once it runs.
  returned: success
  type: list
  elements: dict
devices:
  description: The chosen adapters with their declared parameters after the run, or as they would be.
  returned: success
  type: list
  elements: dict
  contains:
    pci:
      description: The first PCI function.
      type: str
    functions:
      description: All PCI functions.
      type: list
      elements: str
    rdma:
      description: The RDMA devices.
      type: list
      elements: str
    type:
      description: The type.
      type: str
    part_number:
      description: The part number, empty where it is not known.
      type: str
    psid:
      description: The PSID, empty where it is not known.
      type: str
    tool:
      description: The program that was used.
      type: str
    parameters:
      description: By name, the values C(default), C(current) and C(next). Null where the firmware does not tell.
      type: dict
  sample:
    - pci: "0000:03:00.0"
      functions: ["0000:03:00.0", "0000:03:00.1"]
      rdma: [mlx5_0, mlx5_1]
      type: ConnectX5
      part_number: MCX556A-ECAT
      psid: MT_0000000008
      tool: mstconfig
      parameters:
        LINK_TYPE_P1: {default: IB(1), current: IB(1), next: ETH(2)}
backup_files:
  description: The files with the configurations of before.
  returned: success
  type: list
  elements: str
"""

from ..module_utils._firmware._config._converge import converge
from ..module_utils._host._answer import answer
from ..module_utils._schema._mlxconfig import OPTIONS


def main() -> None:
    answer(OPTIONS, converge, root=True)


if __name__ == "__main__":
    main()
