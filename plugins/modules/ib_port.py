#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_port
short_description: Disables, enables or resets a port of an InfiniBand fabric, or chooses its widths and speeds
version_added: 1.0.0
description:
  - Controls one port over the fabric with C(ibportstate). Run it on any host of the fabric, such as that of the subnet manager.
  - The port of a host is controlled at the other end of its cable, on the switch. There it can be reached while the link is down, too.
  - Refuses to disable or reset a link without which the fabric loses the subnet manager or the host that the module runs on.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.fabric.port
attributes:
  diff_mode:
    description: RV(before) and RV(after) are the settings of the port, with or without it.
    support: none
options:
  node:
    description:
      - The host or switch, by its name in O(node_name_map), its node description, or the first word of either, with or without a domain.
      - Where a host has several adapters, give the whole node description, such as V(node2 mlx5_0), or O(guid).
    type: str
    default: ""
  guid:
    description: A node or port GUID, in place of O(node). Quote it.
    type: str
    default: ""
  number:
    description: The number of the port. A host with a single link needs none.
    type: int
  state:
    description:
      - V(disabled) switches the port off until V(enabled) switches it on. Both change nothing where the port is in that state.
      - V(reset) trains the link again, each time. It is refused for a port that is disabled.
    type: str
    choices: [unchanged, enabled, disabled, reset]
    default: unchanged
  speeds:
    description:
      - The speeds that the link may train to; V(SDR) always is one of them. Empty to leave them as they are.
      - The link is trained again where speeds or widths change. The slower of the two ends decides.
      - The speeds of the port are read back afterwards. C(ibportstate) of many releases can't set V(XDR), and reports that.
    type: list
    elements: str
    choices: [SDR, DDR, QDR, FDR, EDR, HDR, NDR, XDR]
    default: []
  widths:
    description: The widths that the link may train to. Empty to leave them as they are.
    type: list
    elements: str
    choices: [1X, 2X, 4X, 8X, 12X]
    default: []
  allow_disconnect:
    description: Disable or reset the link even if the fabric loses its subnet manager or this host without it.
    type: bool
    default: false
notes:
  - A subnet manager that enforces speeds or widths sets them again when it sweeps.
  - Settings last until the switch restarts.
  - A host whose port is disabled has left the fabric and has no name there. Enable it by the switch and its port, which RV(controlled) tells.
seealso:
  - module: rdma.ofed.ib_fabric_info
  - module: rdma.ofed.ib_counters
"""

EXAMPLES = r"""
- name: Take the host with the bad cable off the fabric
  rdma.ofed.ib_port:
    node: node17
    state: disabled
  delegate_to: "{{ groups['opensm'] | first }}"
  become: true
  register: port

- name: Switch it on after the cable was replaced
  rdma.ofed.ib_port:
    guid: "{{ port.controlled.node_guid }}"
    number: "{{ port.controlled.number }}"
    state: enabled
  delegate_to: "{{ groups['opensm'] | first }}"
  become: true

- name: Keep an unstable link at EDR
  rdma.ofed.ib_port:
    node: leaf1
    number: 31
    speeds: [SDR, EDR]
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["leaf1 port 17 state: enabled -> disabled"]
controlled:
  description: The port of the switch.
  returned: success
  type: dict
  contains:
    name:
      description: Name of the switch.
      type: str
    node_guid:
      description: Its node GUID.
      type: str
    lid:
      description: Its LID.
      type: int
    number:
      description: Number of the port.
      type: int
  sample: {name: leaf1, node_guid: "0x506b4b0300820910", lid: 2, number: 17}
peer:
  description: The other end of the cable; empty, with the number V(0), without a link.
  returned: success
  type: dict
  contains:
    name:
      description: Name of the node.
      type: str
    node_guid:
      description: Its node GUID.
      type: str
    number:
      description: Number of its port.
      type: int
  sample: {name: node17 mlx5_0, node_guid: "0xec0d9a03003d62be", number: 1}
before:
  description: The settings that were found.
  returned: success
  type: dict
  contains: &settings
    state:
      description: Such as V(Active) or V(Down).
      type: str
    phys_state:
      description: Such as V(LinkUp), V(Polling) or V(Disabled).
      type: str
    widths:
      description: The widths that are enabled.
      type: list
      elements: str
    speeds:
      description: The speeds that are enabled. FDR10 is not shown.
      type: list
      elements: str
    supported_widths:
      description: The widths that the port supports.
      type: list
      elements: str
    supported_speeds:
      description: The speeds that the port supports.
      type: list
      elements: str
    width:
      description: The active width; empty while the port is down.
      type: str
    speed:
      description: The active speed, likewise.
      type: str
  sample: &sample
    state: Active
    phys_state: LinkUp
    widths: [4X]
    speeds: [SDR, DDR, QDR, FDR, EDR]
    supported_widths: [1X, 4X]
    supported_speeds: [SDR, DDR, QDR, FDR, EDR]
    width: 4X
    speed: EDR
after:
  description: The settings afterwards; in check mode, those that were found. The link may still train.
  returned: success
  type: dict
  contains: *settings
  sample: *sample
"""

from ..module_utils._fabric._port._converge import converge
from ..module_utils._host._answer import answer
from ..module_utils._schema._ib_port import OPTIONS


def main() -> None:
    answer(OPTIONS, converge, root=True)


if __name__ == "__main__":
    main()
