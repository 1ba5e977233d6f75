#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: mlxfwreset
short_description: Report what pending firmware and firmware configuration need, and reset adapters
version_added: 1.0.0
description:
  - Reports for every NVIDIA adapter what is set and not effective yet, burned images and firmware parameters, and
    whether that needs a reset of the adapter, a reboot, or a cold boot.
  - With O(state=reset) it resets the adapters that a reset helps, with C(mlxfwreset) of MFT or C(mstfwreset) of mstflint,
    each card once however many functions it has. It never reboots, and uses no reset level that does.
  - A reset unloads the driver of all functions of the card. It is refused while RDMA is in use on the card, while the
    connection that manages the node runs over it, while opensm runs on the node, and in containers. All obstacles
    on all cards are found before the first reset.
  - In a virtual machine the tools refuse to work, so what is pending there needs a reboot.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  state:
    description: Whether to report what is pending (V(query)), or to reset the adapters where a reset activates it (V(reset)).
    type: str
    choices: [query, reset]
    default: query
  adapters:
    description:
      - The adapters, by PCI address, RDMA device, network interface, PSID, part number, type, or GUID. The default is all adapters.
    type: list
    elements: str
    default: []
  tried:
    description:
      - What was already done to activate what is pending. After a reset, it needs a reboot. After a reboot, it needs a cold
        boot.
    type: str
    choices: [nothing, reset, reboot, power_cycle]
    default: nothing
  foreseen:
    description:
      - What check mode of M(rdma.ofed.mstflint) and M(rdma.ofed.mlxconfig) would set, as their RV(rdma.ofed.mlxconfig#module:pending) has it.
      - No adapter shows it yet. It counts as pending, so that what it needs is known before it is set. A real reset ignores it.
    type: list
    elements: dict
    default: []
  disconnect_rdma_users:
    description:
      - Whether to reset an adapter that is in use. Jobs lose their connections, mounts hang or break, and virtual functions
        are removed from the machines that have them.
      - A user that can't be attributed to one adapter counts as a user of all.
    type: bool
    default: false
  cut_ssh_connection:
    description:
      - Whether to reset an adapter that carries the connection of the run.
      - The connection breaks in the middle of the task, so run it with C(async).
    type: bool
    default: false
  allow_container:
    description: Whether to reset from a container or chroot. The adapter is shared by everything that runs on the same kernel.
    type: bool
    default: false
  wait_timeout:
    description: How long to wait for the drivers after a reset, in seconds.
    type: int
    default: 60
notes:
  - It must run as root. The reset needs C(lspci) and C(setpci) of the package pciutils.
  - Addresses, P_Key children and virtual functions are gone after a reset, unless the node makes them again by itself.
  - Socket Direct adapters, which have several slots, are one card. Of multi-host adapters, every host has to take part in
    a reset.
  - Firmware that does not tell current values, such as that of ConnectX-3, leaves unknown what configuration is pending.
"""

EXAMPLES = r"""
- name: Find what is pending
  rdma.ofed.mlxfwreset:
  register: pending

- name: Reset the adapters where that is enough
  rdma.ofed.mlxfwreset:
    state: reset
  when: pending.adapters | selectattr('needs', 'eq', 'device_reset') | rejectattr('blocked_by') | list | length > 0

- name: Reset one adapter of a node that was drained before
  rdma.ofed.mlxfwreset:
    state: reset
    adapters: ["0000:03:00.0"]
    disconnect_rdma_users: true

- name: After a reboot, find what only a cold boot activates
  rdma.ofed.mlxfwreset:
    tried: reboot
"""

RETURN = r"""
changes:
  description: What became effective by a reset, or would, in words.
  returned: success
  type: list
  elements: str
  sample: ["adapter 0000:03:00.0 running firmware: 16.35.2000 -> 16.35.3006", "0000:03:00.0 LINK_TYPE_P1: IB(1) -> ETH(2)"]
pending:
  description:
    - What is pending after this task, and what makes it effective.
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
      needs: device_reset
      why: []
reboot_required:
  description: Whether something in RV(pending) needs a reboot or a cold boot.
  returned: success
  type: bool
reasons:
  description: Why more than a reset is needed, why a reset would be refused now, what a reset takes down, and what is unknown.
  returned: success
  type: list
  elements: str
blocked_by:
  description: Everything that blocks the resets.
  returned: when a reset was refused
  type: list
  elements: str
adapters:
  description: The adapters after this task, or as they would be.
  returned: success
  type: list
  elements: dict
  contains:
    pci:
      description: The first function.
      type: str
    functions:
      description: All functions of the card.
      type: list
      elements: str
    rdma:
      description: Its RDMA devices.
      type: list
      elements: str
    type:
      description: Such as V(ConnectX5).
      type: str
    psid:
      description: The identity of board and firmware; empty without a driver.
      type: str
    pending:
      description: What is set and not effective, in the form of RV(pending).
      type: list
      elements: dict
    needs:
      description: What makes it effective, V(device_reset), V(reboot) or V(cold_boot). Empty where nothing is pending.
      type: str
    why:
      description: Why more than a reset is needed.
      type: list
      elements: str
    can_reset:
      description: Whether the card reports that a tool can reset it in its current state.
      type: bool
    level:
      description: The level of the reset that is enough, 0 for a patch of the running firmware, 3 for a reset over PCI.
      type: int
    blocked_by:
      description: Why a reset would be refused now.
      type: list
      elements: str
    blocked_when_drained:
      description: Those of RV(adapters[].blocked_by) that stay on a node that was drained, which are all but the users of the card.
      type: list
      elements: str
    unknown:
      description: What could not be read, and why.
      type: list
      elements: str
    reset:
      description: Whether it was reset, or would be.
      type: bool
"""

import os

from ..module_utils._firmware._reset._converge import converge
from ..module_utils._host._answer import answer
from ..module_utils._schema._mlxfwreset import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, os.environ), root=True)


if __name__ == "__main__":
    main()
