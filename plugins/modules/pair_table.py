#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/pair_table.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: pair_table
short_description: Judges what pairs of hosts measured, and prints it as a matrix
version_added: 1.0.0
description:
  - Prints for each test a matrix of clients and servers. For more than 16 hosts, it prints the worst pairs and the hosts with the worst medians instead.
  - Compares the results with limits, with the rate of the links, and with each other. The codes of findings are explained in C(docs/findings.md).
  - In check mode it prints the pairs that would be measured.
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
attributes:
  check_mode:
    description: Does not write the file in O(report_dir).
    support: full
options:
  ends:
    description: By host, what M(rdma.ofed.ib_pair_test) returned as RV(rdma.ofed.ib_pair_test#module:end). Other hosts of the play are reported as absent.
    type: dict
    required: true
  variable:
    description:
      - The name of the variable in which each client has a list of its pairs. An entry has the C(server), the C(tests), the C(figures) that
        M(rdma.ofed.ib_pair_test) returned, and C(problem), why there are none, or an empty text.
    type: str
    required: true
  min_gbps:
    description: The bandwidth of C(ib_write_bw) and C(ib_send_bw) in Gb/s below which a pair is a finding. V(0) stands for O(min_share) of the slower link.
    type: float
    default: 0
  min_share:
    description: The part of what the slower link carries, likewise. It is not judged where the rate of a link is not known. V(0) turns it off.
    type: float
    default: 0.8
  min_ipoib_gbps:
    description: The bandwidth of C(iperf3), likewise. V(0) stands for no limit.
    type: float
    default: 0
  max_usec:
    description: The latency of C(ib_write_lat) in microseconds above which a pair is a finding. V(0) stands for no limit.
    type: float
    default: 0
  outlier:
    description:
      - A pair with less than this part of the median bandwidth of all pairs with equal links is an outlier, and so is one whose latency is as many times the
        median. It takes four pairs. V(0) turns it off.
    type: float
    default: 0.7
  report_dir:
    description: A folder on the controller for the results as JSON, in C(pair-test.json). Without it, none are written.
    type: path
    default: ""
  fail:
    description: Whether to fail where a finding is an error.
    type: bool
    default: true
seealso:
  - module: rdma.ofed.ib_pair_test
"""

EXAMPLES = r"""
- name: Print and judge the results
  rdma.ofed.pair_table:
    ends: "{{ ends }}"
    variable: measured
    max_usec: 3
  run_once: true
"""

RETURN = r"""
findings:
  description: What is wrong. The worst comes first.
  returned: always
  type: list
  elements: dict
  contains:
    severity:
      description: V(error) or V(warning).
      type: str
    code:
      description: A stable code.
      type: str
    object:
      description: The pair.
      type: str
    client:
      description: The host that measured.
      type: str
    server:
      description: The other one.
      type: str
    test:
      description: The test.
      type: str
    found:
      description: What was found.
      type: str
    expected:
      description: What was expected.
      type: str
    cause:
      description: The likely cause.
      type: str
    next_step:
      description: What to do.
      type: str
  sample:
    - severity: error
      code: pair_slow
      object: node2 -> node1
      client: node2
      server: node1
      test: ib_write_bw
      found: 24.1 Gb/s
      expected: 80 Gb/s or more
      cause: a slow link, a PCI slot with too few lanes, other work on the hosts, or a busy fabric
      next_step: see both links with rdma.ofed.fabric
results:
  description:
    - Each test of each pair, with C(fabric), C(client), C(server), C(rate), which is what the slower link carries in Gb/s or V(0), C(test), C(gbps), C(usec),
      C(loss) and C(problem).
  returned: always
  type: list
  elements: dict
  sample:
    - {fabric: ib, server: node1, client: node2, rate: 100, test: ib_write_bw, gbps: 97.3, usec: null, loss: null, problem: ""}
absent:
  description: Hosts of the play that could not take part.
  returned: always
  type: list
  elements: str
  sample: []
table:
  description: What is printed, line by line.
  returned: always
  type: list
  elements: str
  sample: ["Fabric ib, ib_write_bw in Gb/s, 1 pairs of 2 hosts:"]
"""
