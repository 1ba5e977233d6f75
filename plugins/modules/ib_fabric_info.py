#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_fabric_info
short_description: Shows an InfiniBand fabric as data, nodes, links, subnet managers, partitions and multicast groups
version_added: 1.0.0
description:
  - Returns the whole subnet that a port of this host is in. Run it on one host per fabric.
  - Nodes, ports and links are known without a subnet manager. The rest comes from the subnet administration of the master.
  - What can't be had or read is in RV(problems), with the reason, and is no failure. So a result is complete where that list is empty.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
  - rdma.ofed.fabric
options:
  gather:
    description:
      - What to query in addition to nodes, ports and links.
      - V(switch_firmware) queries one switch after the other with C(vendstat), which only switches of NVIDIA answer. It stops after three switches in a row
        that do not answer.
    type: list
    elements: str
    choices: [subnet_managers, partitions, multicast_groups, switch_firmware]
    default: [subnet_managers, partitions, multicast_groups]
  sa_key:
    description:
      - The key for trusted queries, C(sa_key) in C(opensm.conf). Without the right one, members of partitions and of multicast groups are not
        known.
      - The default is that of opensm. Do not write that one down, because every part of the result that is equal to a key is hidden.
      - Users of this host can see the key in the list of processes while C(saquery) runs.
    type: str
    default: ""
notes:
  - A fabric that is split in two is seen up to the split.
  - Only end ports are members of a partition. The tables by which external ports of switches enforce partitions are not shown.
seealso:
  - module: rdma.ofed.node_check
  - module: rdma.ofed.opensm_info
  - module: rdma.ofed.mlxlink_info
"""

EXAMPLES = r"""
- name: Look at the fabric from the host of its subnet manager
  rdma.ofed.ib_fabric_info:
  delegate_to: "{{ groups['opensm'] | first }}"
  run_once: true
  become: true
  register: fabric

- name: Name the links that are below what both of their ends can do
  ansible.builtin.debug:
    msg: "{{ item.ends[0].name }}/{{ item.ends[0].port }} - {{ item.ends[1].name }}/{{ item.ends[1].port }}: {{ item.ends[0].width }} {{ item.ends[0].speed }}"
  loop: "{{ fabric.links | selectattr('degraded', 'equalto', true) }}"
  run_once: true

- name: Look at two hosts and at the node with LID 12, without the multicast groups
  rdma.ofed.ib_fabric_info:
    hosts: [node1, node2]
    lids: [12]
    gather: [subnet_managers, partitions]
  become: true

- name: Look at the switches of a director by its system GUID, with their firmware
  rdma.ofed.ib_fabric_info:
    port: "0000:03:00.0/1"
    guids: ["0x506b4b0300820910"]
    gather: [switch_firmware]
  become: true
"""

RETURN = r"""
nodes:
  description: Switches, channel adapters and routers, by node GUID.
  returned: success
  type: list
  elements: dict
  contains:
    guid:
      description: Node GUID.
      type: str
    type:
      description: V(switch), V(ca) or V(router).
      type: str
    name:
      description: The name in O(node_name_map), else the node description.
      type: str
    description:
      description: The node description.
      type: str
    port_count:
      description: How many ports it has, with a link or not.
      type: int
    system_guid:
      description: The same for all nodes of one system, such as a director switch or an adapter with several functions.
      type: str
    vendor_id:
      description: Vendor ID.
      type: str
    device_id:
      description: Device ID.
      type: str
    port_guid:
      description: Of a switch, whose ports have one port GUID. Else empty.
      type: str
    lids:
      description: The base LIDs of its ports.
      type: list
      elements: int
    firmware:
      description: The firmware that a switch runs, with V(switch_firmware) in O(gather); empty where it is not known.
      type: str
    psid:
      description: The PSID of a switch, likewise.
      type: str
  sample:
    - guid: "0x506b4b0300820910"
      type: switch
      name: leaf1
      description: MF0;SB7700:MSB7700/U1
      port_count: 36
      system_guid: "0x506b4b0300820910"
      vendor_id: "0x2c9"
      device_id: "0xcb20"
      port_guid: "0x506b4b0300820910"
      lids: [2]
      firmware: 11.2008.3328
      psid: MT_1880110032
ports:
  description: Ports that have a link, and ports of switches without one, by node GUID and number.
  returned: success
  type: list
  elements: dict
  contains:
    node_guid:
      description: Node GUID.
      type: str
    name:
      description: Name of the node.
      type: str
    port:
      description: Number of the port.
      type: int
    port_guid:
      description: Port GUID.
      type: str
    lid:
      description: Base LID; V(0) where no subnet manager assigned one.
      type: int
    lmc:
      description: How many of the last bits of the LID are free. The port has 2 to that power LIDs.
      type: int
    state:
      description: V(Active), V(Armed), V(Initialize) or V(Down); empty where C(iblinkinfo) did not list the port.
      type: str
    phys_state:
      description: Of the link, such as V(LinkUp), V(Polling) or V(Disabled).
      type: str
    width:
      description: Active width, such as V(4X); empty while the port is down.
      type: str
    speed:
      description: Active speed, such as V(EDR), likewise. If the speed has no name, what the tool prints.
      type: str
    peer_node_guid:
      description: Node GUID at the other end; empty without a link.
      type: str
    peer_port:
      description: Number of the port at the other end.
      type: int
  sample:
    - node_guid: "0xec0d9a03003d62be"
      name: node2 mlx5_0
      port: 1
      port_guid: "0xec0d9a03003d62be"
      lid: 4
      lmc: 0
      state: Active
      phys_state: LinkUp
      width: 4X
      speed: EDR
      peer_node_guid: "0x506b4b0300820910"
      peer_port: 17
links:
  description: Each link once.
  returned: success
  type: list
  elements: dict
  contains:
    ends:
      description: The two ports, with C(node_guid), C(name), C(port), C(port_guid), C(lid), C(state), C(width) and C(speed), as in RV(ports).
      type: list
      elements: dict
    max_width:
      description: The greatest width that both ends support; empty where C(iblinkinfo) did not list the link.
      type: str
    max_speed:
      description: The highest speed that both ends support, likewise.
      type: str
    degraded:
      description: Whether the link is below that. None where it is not known.
      type: bool
  sample:
    - ends:
        - {node_guid: "0x506b4b0300820910", name: leaf1, port: 17, port_guid: "0x506b4b0300820910", lid: 2, state: Active, width: 1X, speed: EDR}
        - {node_guid: "0xec0d9a03003d62be", name: node2 mlx5_0, port: 1, port_guid: "0xec0d9a03003d62be", lid: 4, state: Active, width: 1X, speed: EDR}
      max_width: 4X
      max_speed: EDR
      degraded: true
subnet_managers:
  description: All that the master knows, itself included, whatever nodes are shown.
  returned: success
  type: list
  elements: dict
  contains:
    port_guid:
      description: The port that it is bound to.
      type: str
    name:
      description: Name of the node.
      type: str
    lid:
      description: LID of the port.
      type: int
    priority:
      description: Its priority.
      type: int
    state:
      description: V(MASTER), V(STANDBY), V(DISCOVER) or V(NOTACT).
      type: str
    activity:
      description: Counts up while it lives.
      type: int
  sample:
    - {port_guid: "0x7cfe90030016aef1", name: node1 mlx5_0, lid: 1, priority: 14, state: MASTER, activity: 4711}
partitions:
  description: The partitions of the end ports that are shown, by P_Key. A port that may be both full and limited member is in both lists.
  returned: success
  type: list
  elements: dict
  contains:
    pkey:
      description: The P_Key without the bit of membership.
      type: str
    full:
      description: Port GUIDs of full members.
      type: list
      elements: str
    limited:
      description: Port GUIDs of limited members.
      type: list
      elements: str
  sample:
    - {pkey: "0x7fff", full: ["0x7cfe90030016aef1"], limited: ["0xec0d9a03003d62be"]}
multicast_groups:
  description: The multicast groups, by MLID. Where some nodes are named, those that these are in.
  returned: success
  type: list
  elements: dict
  contains:
    mgid:
      description: The GID of the group.
      type: str
    mlid:
      description: Its LID.
      type: str
    pkey:
      description: The P_Key.
      type: str
    mtu:
      description: In bytes; V(0) for a code that is unknown.
      type: int
    rate_gbps:
      description: The rate in Gb/s, likewise.
      type: float
    qkey:
      description: The Q_Key.
      type: str
    sl:
      description: The service level.
      type: int
    members:
      description:
        - The ports in the group, with C(port_guid), C(name) of the node and C(membership), which is V(full), V(send_only) or V(non_member).
        - None are known without the right O(sa_key).
      type: list
      elements: dict
  sample:
    - mgid: ff12:401b:ffff::ffff:ffff
      mlid: "0xc000"
      pkey: "0xffff"
      mtu: 2048
      rate_gbps: 10
      qkey: "0x00000b1b"
      sl: 0
      members:
        - {port_guid: "0x7cfe90030016aef1", name: node1 mlx5_0, membership: full}
totals:
  description: How many C(switches), C(cas), C(routers), C(ports), C(links) and C(degraded) links the whole fabric has, whatever nodes are shown.
  returned: success
  type: dict
  sample: {switches: 1, cas: 2, routers: 0, ports: 38, links: 2, degraded: 1}
problems:
  description: What could not be found out, and is missing above.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description:
        - V(no_port) where this host has no InfiniBand port, V(no_link) where its port has no link.
        - V(not_installed) for a missing tool, V(failed) for one that failed, V(incomplete)
          for one that complained, V(unread) for output that is not understood.
        - V(no_subnet_manager) where none answers, V(not_in_topology) for ports that only C(iblinkinfo) lists, V(no_such_node) for a name, GUID
          or LID that no node has, V(silent_switches) for those that do not tell their firmware, V(name_map) for a broken O(node_name_map).
      type: str
    tool:
      description: The tool that it is about; empty where it is about none.
      type: str
    total:
      description: How many of C(examples) there are.
      type: int
    examples:
      description: The first of the lines, messages or names.
      type: list
      elements: str
    message:
      description: All of this in words.
      type: str
  sample:
    - code: not_installed
      tool: iblinkinfo
      total: 1
      examples: []
      message: "iblinkinfo is not installed: it comes with the package infiniband-diags on Debian and Ubuntu"
manager:
  description:
    - What the subnet manager that the role opensm runs at this very port made of its files, and not as declared, as its log and P_Key tables tell.
      Each has C(severity), C(code), C(object), C(found), C(expected), C(cause) and C(next_step).
  returned: success
  type: list
  elements: dict
  sample: []
port:
  description: The port that was queried through; empty where there is none.
  returned: success
  type: str
  sample: mlx5_0/1
seconds:
  description: How long it took.
  returned: success
  type: float
  sample: 1.34
"""

import gc

from ..module_utils._fabric._report import report
from ..module_utils._host._answer import answer
from ..module_utils._schema._ib_fabric_info import OPTIONS


def main() -> None:
    # There are hundreds of thousands of tuples without reference cycles: searching for cycles takes a quarter of the time.
    gc.disable()
    # No role passes this option on, so no declaration of a role marks it as secret.
    options = {**OPTIONS, "sa_key": {**OPTIONS["sa_key"], "no_log": True}}
    answer(options, lambda module, run: report(run, module.params))


if __name__ == "__main__":
    main()
