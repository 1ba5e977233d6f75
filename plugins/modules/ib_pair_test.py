#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ib_pair_test
short_description: One end of a measurement between two hosts with perftest, ibping and iperf3
version_added: 1.0.0
description:
  - Reports how this host can take part, serves one client, measures as a client, or stops the servers. The playbook C(rdma.ofed.pair_test) uses it on all
    hosts, in rounds in which no host has two parts.
  - A server is a transient unit of systemd, C(rdma-ofed-pair-TEST.service). It ends by itself, whatever becomes of the controller.
  - A measurement saturates the link for some seconds.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    description: Starts and stops nothing and measures nothing. RV(commands) lists what would be run.
    support: full
  diff_mode:
    description: It changes nothing that stays, so there are no differences to show.
    support: N/A
options:
  role:
    description:
      - V(look) returns how the host takes part. It fails where a tool is missing, and names its package.
      - V(server) starts the servers and waits until they listen. V(stop) stops them.
      - V(client) runs one test after the other with the servers of O(peer).
    type: str
    choices: [look, server, client, stop]
    required: true
  tests:
    description:
      - What to measure. C(ib_write_bw) and C(ib_send_bw) measure the bandwidth of RDMA, C(ib_write_lat) its latency, C(iperf3) the bandwidth of TCP over the
        interface of the port, and C(ibping) the loss of management packets.
      - They run in the order V(ib_write_bw), V(ib_send_bw), V(ib_write_lat), V(iperf3), V(ibping).
    type: list
    elements: str
    choices: [ib_write_bw, ib_send_bw, ib_write_lat, iperf3, ibping]
    default: [ib_write_bw, ib_send_bw, ib_write_lat, ibping]
  port:
    description:
      - The port to measure through, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and number, such as V(mlx5_0/1).
      - The default is the first one that is ACTIVE. Those of InfiniBand come first.
    type: str
    default: ""
  fabric:
    description: The name of the fabric of the port. Only O(role=look) reads it, and returns it.
    type: str
    default: ib
  seconds:
    description: How long each test of bandwidth takes, 2 to 600.
    type: int
    default: 5
  size:
    description: The size of a write or send in bytes, where bandwidth is measured.
    type: int
    default: 65536
  tcp_port:
    description: The first of five TCP ports, one for each test, at which the server is found.
    type: int
    default: 18600
  user:
    description:
      - The user whose session runs the tests, with the limits of that session. The default is root, without a limit of locked memory.
      - An ordinary user can't run C(ibping).
    type: str
    default: ""
  peer:
    description: How the server is reached, for O(role=client).
    type: dict
    suboptions:
      address:
        description: Its address for perftest, which agrees on the measurement over TCP.
        type: str
        required: true
      ip_address:
        description: The address of its interface on the fabric, for C(iperf3).
        type: str
        default: ""
      lid:
        description: The LID of its port, for C(ibping).
        type: int
        default: 0
      failed_tests:
        description: The tests whose servers did not start, with the reasons. They are not run.
        type: dict
        default: {}
requirements:
  - perftest; infiniband-diags for C(ibping), iperf3 for C(iperf3)
  - systemd, and root
seealso:
  - module: rdma.ofed.report
  - module: rdma.ofed.arrange
"""

EXAMPLES = r"""
- name: See how the hosts can take part
  rdma.ofed.ib_pair_test:
    role: look
    port: "0000:03:00.0/1"
  register: looked
  become: true

- name: Measure the latency from node2 to node1
  become: true
  block:
    - name: Start the server
      rdma.ofed.ib_pair_test:
        role: server
        tests: [ib_write_lat]
      delegate_to: node1

    - name: Measure
      rdma.ofed.ib_pair_test:
        role: client
        tests: [ib_write_lat]
        peer:
          address: node1
      delegate_to: node2
  always:
    - name: Stop the server
      rdma.ofed.ib_pair_test:
        role: stop
      delegate_to: node1
"""

RETURN = r"""
end:
  description:
    - How the host takes part. It has the C(port) and its C(port_guid), C(lid), C(fabric), the C(ip_address) of its interface, the C(tests) that can be run, and
      those that are C(left_out) with the reasons.
    - C(gbps) is what its link carries of data; V(0) where that is not known, as of devices in software.
  returned: with O(role=look)
  type: dict
  sample:
    port: mlx5_0/1
    port_guid: "0x7cfe90030016aef1"
    lid: 4
    fabric: ib
    gbps: 100
    ip_address: 10.20.0.1
    tests: [ib_write_bw, ib_write_lat, ibping]
    left_out: {}
commands:
  description: What is run, or in check mode would be.
  returned: with O(role=server) and O(role=client)
  type: list
  elements: str
  sample: ["ib_write_lat --ib-dev mlx5_0 --ib-port 1 --port 18602 --CPU-freq --size 2 --iters 1000 node1"]
failed_tests:
  description: The tests whose servers did not start, with the reasons.
  returned: with O(role=server)
  type: dict
  sample: {}
figures:
  description: The results. Those of what a test does not measure are None.
  returned: with O(role=client)
  type: list
  elements: dict
  contains:
    test:
      description: The test.
      type: str
    gbps:
      description: The average bandwidth in Gb/s.
      type: float
    usec:
      description: The typical latency in microseconds; of C(ibping) the average.
      type: float
    loss:
      description: How many packets of C(ibping) were lost, in percent.
      type: float
    problem:
      description: Why there is no result; empty where there is one.
      type: str
  sample:
    - {test: ib_write_lat, gbps: null, usec: 0.88, loss: null, problem: ""}
stopped:
  description: The tests whose servers still ran.
  returned: with O(role=stop)
  type: list
  elements: str
  sample: [ibping]
"""

from ..module_utils._host._answer import answer
from ..module_utils._pairs._node import Node, work
from ..module_utils._schema._ib_pair_test import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: work(Node(run, module.check_mode), module.params), root=True)


if __name__ == "__main__":
    main()
