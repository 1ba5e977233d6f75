#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_counters
short_description: Reads, compares, judges and clears the error counters of an InfiniBand fabric
version_added: 1.0.0
description:
  - Returns the counters of all ports in the subnet of this host, or of named ones. Run it on one host per fabric.
  - Without O(hosts), O(guids) and O(lids), C(ibqueryerrors) reads the error counters of the whole fabric and C(PortXmitWait). The named nodes are read with
    C(perfquery), port by port, with their counters of data and packets.
  - Totals tell little, because they count from the last clearing on. With O(interval) or O(sample_file), counters are compared with an earlier
    look, and the growth is judged. Without, the totals are.
  - A counter that was reset, that stands at its maximum or that wrapped is marked as such, and no error is made up from it.
  - What can't be read is in RV(problems), with the reason, and is no failure. So a result is complete where that list is empty.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.fabric
attributes:
  check_mode:
    description: Reads and judges as ever. Does not clear counters and does not write O(sample_file); C(changed) and RV(cleared) say what would be cleared.
    support: full
  diff_mode:
    description: Counters that are cleared are shown in RV(ports), and have no other difference.
    support: none
options:
  ports:
    description: Read only ports with these numbers of the named nodes.
    type: list
    elements: int
    default: []
  interval:
    description:
      - Look twice, so many seconds apart, and compare. At most a day.
      - It excludes O(sample_file).
    type: float
    default: 0
  sample_file:
    description:
      - Compare with the counters in this file of the host, and replace it. It is made by the first run, which compares nothing.
      - Use a separate file for each selection of nodes. Writing it is not a change.
    type: path
    default: ""
  thresholds:
    description:
      - How much counters may grow per hour, by name of the counter, in place of the default. A time below an hour counts as an hour. Where totals are judged,
        it is the largest total.
      - The defaults are 10 for C(SymbolErrorCounter) and C(PortRcvErrors), 1 for C(LinkErrorRecoveryCounter), 2 for C(LinkDownedCounter), 0 for
        C(PortXmitConstraintErrors), C(PortRcvConstraintErrors), C(LocalLinkIntegrityErrors) and C(ExcessiveBufferOverrunErrors), and 100 for
        C(PortRcvRemotePhysicalErrors), C(PortRcvSwitchRelayErrors), C(PortXmitDiscards), C(QP1Dropped) and C(VL15Dropped).
      - C(PortXmitWait) counts ticks, whose length is up to the vendor, and may grow by 100000000000. It is judged by its growth per hour, however short the
        time was, and not by its total.
      - C(EffectiveBER) is the share of the bits of a port in O(links) that may be wrong after error correction, 1e-12, however long that took.
    type: dict
    default: {}
  links:
    description:
      - RV(rdma.ofed.mlxlink_info#module:ports) of hosts of the fabric. Bit error rates can't be read over the fabric, and are judged here with its counters.
      - Ports without a rate are passed over, and those of Ethernet and of other fabrics.
    type: list
    elements: dict
    default: []
  suppress:
    description: Counters, or C(EffectiveBER), that make no finding. They are in RV(ports) all the same.
    type: list
    elements: str
    choices:
      - SymbolErrorCounter
      - LinkErrorRecoveryCounter
      - LinkDownedCounter
      - PortRcvErrors
      - PortRcvRemotePhysicalErrors
      - PortRcvSwitchRelayErrors
      - PortXmitDiscards
      - PortXmitConstraintErrors
      - PortRcvConstraintErrors
      - LocalLinkIntegrityErrors
      - ExcessiveBufferOverrunErrors
      - QP1Dropped
      - VL15Dropped
      - PortXmitWait
      - EffectiveBER
    default: [PortRcvSwitchRelayErrors]
  clear:
    description:
      - What to set to zero after the look. V(errors) leaves the counters of data and packets alone.
      - Ports that are not named are cleared where O(hosts), O(guids) and O(lids) name none. Others who watch these counters see a reset.
    type: str
    choices: [nothing, errors, all]
    default: nothing
notes:
  - Without a subnet manager, C(ibqueryerrors) reads nothing, and ports have no LID to read them by.
seealso:
  - module: rdma.ofed.ib_fabric_info
  - module: rdma.ofed.mlxlink_info
  - module: rdma.ofed.node_check
"""

EXAMPLES = r"""
- name: Look for counters of the whole fabric that grew too much since the last run
  rdma.ofed.ib_counters:
    sample_file: /var/lib/rdma-ofed/counters.json
  delegate_to: "{{ groups['opensm'] | first }}"
  run_once: true
  become: true
  register: counters

- name: Show what was found
  ansible.builtin.debug:
    msg: "{{ item.message }}. Likely cause: {{ item.cause }}. Next step: {{ item.next_step }}"
  loop: "{{ counters.findings }}"
  run_once: true

- name: Watch two ports of a switch for ten minutes, with their data
  rdma.ofed.ib_counters:
    hosts: [leaf1]
    ports: [17, 18]
    interval: 600
  become: true

- name: Allow no symbol error at all, and do not mind congestion
  rdma.ofed.ib_counters:
    interval: 60
    thresholds:
      SymbolErrorCounter: 0
    suppress: [PortRcvSwitchRelayErrors, PortXmitWait]
  become: true

- name: Read the links of all hosts, with their bit error rates
  rdma.ofed.mlxlink_info:
  become: true
  register: links

- name: Judge them with the counters of the fabric
  rdma.ofed.ib_counters:
    links: "{{ ansible_play_hosts | map('extract', hostvars, ['links', 'ports']) | flatten }}"
  run_once: true
  become: true

- name: Begin to count errors from zero, after maintenance
  rdma.ofed.ib_counters:
    clear: errors
  become: true
"""

RETURN = r"""
ports:
  description: Ports with a counter that is not zero, or was not at the earlier look, or with bit errors, by name and number.
  returned: success
  type: list
  elements: dict
  contains:
    <<: &port
      node_guid:
        description: Node GUID.
        type: str
      name:
        description: The name of the node in O(node_name_map), else the node description.
        type: str
      port:
        description: Number of the port.
        type: int
      port_guid:
        description: Port GUID.
        type: str
      peer_name:
        description: Name of the node at the other end; empty without a link.
        type: str
      peer_port:
        description: Number of the port at the other end.
        type: int
    lid:
      description: Base LID.
      type: int
    peer_node_guid:
      description: Node GUID at the other end; empty without a link.
      type: str
    counters:
      description: The counters that are or were above zero, by the names that the diagnostics have for them.
      type: dict
      contains:
        total:
          description: The value of the counter. C(PortXmitData) and C(PortRcvData) count units of four bytes.
          type: int
        delta:
          description: The growth since the earlier look. None where there is nothing to compare with. With another C(course) than V(normal) and V(wrapped), the
            least that it can be.
          type: int
        per_hour:
          description: The growth per hour, likewise.
          type: float
        course:
          description: V(normal), V(reset) where it was set to zero and counts from there, V(saturated) where it stands at its maximum, V(wrapped) where it went
            around.
          type: str
    effective_ber:
      description: The share of the bits that were wrong after error correction. None where O(links) does not have it.
      type: float
  sample:
    - node_guid: "0x506b4b0300820910"
      name: leaf1
      port: 17
      port_guid: "0x506b4b0300820910"
      lid: 2
      peer_node_guid: "0xec0d9a03003d62be"
      peer_name: node2 mlx5_0
      peer_port: 1
      counters:
        SymbolErrorCounter: {total: 262, delta: 250, per_hour: 125.0, course: normal}
      effective_ber: null
findings:
  description: Counters beyond their threshold, the worst first.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description:
        - V(symbol_errors), V(link_recovers), V(link_downed), V(receive_errors), V(remote_errors), V(relay_errors), V(discards),
          V(constraint_errors), V(link_integrity), V(buffer_overruns), V(management_drops) or V(congestion); V(bit_errors) for the rate in O(links).
        - V(saturated) where a counter stands at its maximum and is not beyond its threshold by what is known.
      type: str
    severity:
      description: V(error), V(warning) or V(notice).
      type: str
    object:
      description: Name of the node and number of the port.
      type: str
    <<: *port
    counter:
      description: Name of the counter, or V(EffectiveBER).
      type: str
    found:
      description: Its growth; the total without O(interval) and O(sample_file). Of C(PortXmitWait) the growth per hour, of C(EffectiveBER) the rate.
      type: float
    expected:
      description: What is allowed of the same.
      type: float
    course:
      description: As in RV(ports); empty for C(EffectiveBER).
      type: str
    cause:
      description: The likely cause.
      type: str
    next_step:
      description: What to do next.
      type: str
    message:
      description: Object, counter, what was found and what is allowed, in words.
      type: str
  sample:
    - severity: warning
      code: symbol_errors
      object: leaf1 port 17
      node_guid: "0x506b4b0300820910"
      name: leaf1
      port: 17
      port_guid: "0x506b4b0300820910"
      peer_name: node2 mlx5_0
      peer_port: 1
      counter: SymbolErrorCounter
      found: 250
      expected: 20
      course: normal
      cause: a cable or transceiver that is damaged, dirty or badly seated
      next_step: reseat the cable at both ends and clean its connectors; if the errors continue, replace the cable, then try other ports
      message: "leaf1 port 17 (to node2 mlx5_0 port 1): SymbolErrorCounter grew by 250 in 2 h, allowed: 20"
ports_read:
  description: How many ports were read.
  returned: success
  type: int
  sample: 76
hours:
  description: The time between the two looks. None where nothing was compared.
  returned: success
  type: float
  sample: 2.0
cleared:
  description:
    - How many ports had counters that were set to zero; in check mode, that would be. RV(ports) has the counters as they were before.
    - With O(clear=all) for the whole fabric all ports count, because C(ibqueryerrors) does not show their counters of data.
  returned: success
  type: int
  sample: 0
problems:
  description: What could not be read, and is missing above.
  returned: success
  type: list
  elements: dict
  contains:
    code:
      description:
        - V(no_port) where this host has no InfiniBand port, V(no_link) where its port has no link.
        - V(not_installed) for a missing tool, V(failed) for one that failed, V(incomplete)
          for one that complained, V(unread) for output that is not understood, V(unfinished) where C(ibqueryerrors) ended early.
        - V(not_in_topology) for ports that only C(ibqueryerrors) lists, V(no_such_node) for a name, GUID or LID that no node has, V(no_such_port)
          for numbers in O(ports) that no port of the named nodes in the fabric has.
        - V(unread_links) for ports in O(links) that their hosts could not read, V(no_lid) for ports without a LID.
        - V(name_map) for a broken O(node_name_map), V(broken_sample) for a broken O(sample_file), V(clock) for a sample from the future.
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
    - code: incomplete
      tool: ibqueryerrors
      total: 1
      examples: ["ibwarn: [4711] IB_GSI_PORT_COUNTERS query failed on node2, Lid 4 port 1"]
      message: "ibqueryerrors complained, and what it listed may be incomplete: ibwarn: [4711] IB_GSI_PORT_COUNTERS query failed on node2, Lid 4 port 1"
port:
  description: The port that was queried through; empty where there is none.
  returned: success
  type: str
  sample: mlx5_0/1
seconds:
  description: How long it took, with O(interval).
  returned: success
  type: float
  sample: 1.34
"""

import gc

from ..module_utils._fabric._counters._report import Node, report
from ..module_utils._host._answer import answer
from ..module_utils._schema._ib_counters import OPTIONS


def main() -> None:
    # There are hundreds of thousands of tuples without reference cycles.
    gc.disable()
    answer(OPTIONS, lambda module, run: report(Node(module, run)), root=True)


if __name__ == "__main__":
    main()
