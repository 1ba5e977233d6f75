#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/report.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: report
short_description: Prints one table or list of what is known of all hosts
version_added: 2.0.0
description:
  - Takes what tasks before it have registered on each host of the play, and prints it for all hosts on one screen, equal lines once with their hosts.
  - "V(discovery): what M(rdma.ofed.rdma_facts) with O(rdma.ofed.rdma_facts#module:discover) has kept of the hosts that are left in the play, as an inventory
    that declares it. Values that all hosts of a group share go to the group. Most hosts are enough where the others can have the default or a value of their
    own. The report has what is dangerous, the hosts that differ from most of their group, and what no variable expresses. It is in C(report.txt), too. Values
    of secrets are in none of these files."
  - "V(gpus): what C(ib_write_bw) has measured between the memory of two GPUs. Fails where it ended without a result, or is slower than O(min_gbps)."
  - "V(jobs): what M(rdma.ofed.job_test) measured as an ordinary user, compared with limits and with the rate of the links. The codes of findings are explained
    in C(docs/findings.md). In check mode, this is what would be run."
  - "V(nodes): the outcomes of M(rdma.ofed.node_check). Findings are printed below the table, each once with its hosts. What explains others comes first.
    What all hosts of a fabric see is one fault of the fabric: the designated host fails for it, or the first host that sees it, and the others wait.
    A host without a result, because it was unreachable or the check itself failed, counts as one with findings. The hosts are compared with each other, too,
    which is the only way to find two masters that do not see each other, in a fabric that is split. Different versions are shown, and are no finding:
    firmware of adapters with one PSID, and releases of one vendor's stack."
  - "V(pairs): what M(rdma.ofed.ib_pair_test) measured, for each test as a matrix of clients and servers. For more than 16 hosts, these are the worst pairs
    and the hosts with the worst medians. The results are compared with limits, with the rate of the links, and with each other. The codes of findings are
    explained in C(docs/findings.md). In check mode, these are the pairs that would be measured."
  - "V(pending): what roles have changed and what is not effective yet, which they keep in the fact C(rdma_pending). Nothing is printed where nothing is
    pending."
  - "V(refusals): fails if M(rdma.ofed.validate_site) has found wrong input on any host of the play, if two hosts declare one address in the same network, or
    if two of them are one machine. What is wrong with a host alone, and what a role would refuse to do there, fails nothing, unless O(strict) is set.
    The playbooks leave the host out of the roles in RV(left_out). Use it with C(any_errors_fatal), before the first change."
  - "V(rehearsal): what the subnet managers of a simulated fabric did in a change."
  - "V(support): the archives of M(rdma.ofed.support_bundle) from all hosts as one archive on the controller, which only its owner can read, with a folder
    for each host and a summary, which names the hosts of the play without an archive, because they were unreachable or failed. The folder with the parts is
    removed."
  - "V(summary): how many hosts are done and how many were changed, which were left out, failed or could not be reached, why, and what to do next.
    The causes are those that modules of the collection have met in this run. A host that failed in another task is listed without one. Use it in the last
    play of a playbook."
  - Runs on the controller. Use it with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
attributes:
  check_mode:
    description: Does not write the files in O(report_dir) and O(dest), and no archive, but for the file of V(summary).
    support: full
options:
  kind:
    description: What to print.
    type: str
    choices: [discovery, gpus, jobs, nodes, pairs, pending, refusals, rehearsal, summary, support]
    required: true
  variable:
    description:
      - The name of the variable in which each host has its result. For V(nodes), this is the result of M(rdma.ofed.node_check), in C(node_check_outcome) by
        default. For V(refusals), it is that of M(rdma.ofed.validate_site), in C(rdma_site) by default, or what O(role) publishes.
      - For V(gpus), which have no default, it is what M(rdma.ofed.arrange) has returned for the host.
      - "For V(pairs), which have no default, each client has there a list of its pairs. An entry has the C(server), the C(tests), the C(figures) that
        M(rdma.ofed.ib_pair_test) returned, and C(problem), why there are none, or an empty text."
      - For V(jobs), which have no default, it is the result of M(rdma.ofed.job_test) with O(rdma.ofed.job_test#module:role=run).
    type: str
    default: ""
  variables:
    description:
      - Of V(nodes) and V(summary), the variables in which each host has results with RV(rdma.ofed.validate_site#module:left_out). They explain why a host has
        no result.
    type: list
    elements: str
    default: [rdma_site]
  failures:
    description:
      - Of V(nodes) and V(summary), the variables in which a failed host has the failure in words. They give the cause where a task outside the collection
        failed, and show that the host failed where it is still in the play.
    type: list
    elements: str
    default: []
  report_dir:
    description:
      - Of V(nodes), a folder on the controller for the findings of all hosts as C(verify-findings.json), as C(verify-findings.xml) in the form of JUnit, and
        as C(verify-findings.html), a page for a browser that needs no network. Each file is replaced.
      - The page has each finding once with its hosts, with cause and next step. Faults of a fabric come first, accepted findings last, and then all hosts,
        those with findings first.
      - The XML file has a test case for each finding, and one for each host without any, which passes, or is skipped where the host waits for its fabric.
      - Of V(pairs), a folder for the results as JSON, in C(pair-test.json). Of V(jobs) likewise, in C(job-test.json), and of V(rehearsal), in
        C(rehearsal.json).
      - Of V(summary), a folder for the same as data, in a file of its own for each run, such as C(run-2026-03-01T12-00-00Z-4711.json). It is written in check
        mode, too.
    type: path
    default: ""
  foresee:
    description:
      - Of V(nodes), whether to print only the findings that no role corrects, such as a link that is down, and nothing where there are none. It is for check
        mode, which does not fail for them.
    type: bool
    default: false
  full:
    description: Of V(nodes), whether to print the whole table and all hosts, however many lines that takes.
    type: bool
    default: false
  quiet:
    description: Of V(nodes), whether to print nothing where no host has findings.
    type: bool
    default: false
  ends:
    description:
      - Of V(pairs), by host what M(rdma.ofed.ib_pair_test) returned as RV(rdma.ofed.ib_pair_test#module:end). Other hosts of the play are reported as
        absent.
      - Of V(jobs) likewise, by host what M(rdma.ofed.job_test) returned as RV(rdma.ofed.job_test#module:end).
    type: dict
    default: {}
  launcher:
    description: Of V(jobs), how the processes were started, V(slurm) or V(ssh).
    type: str
    choices: [slurm, ssh]
    default: slurm
  measured:
    description: Of V(jobs) without Slurm, the name of the variable in which each client has a list of its pairs, as for V(pairs).
    type: str
    default: ""
  user:
    description: Of V(jobs), the user of the jobs.
    type: str
    default: ""
  tests:
    description: Of V(jobs), the tests.
    type: list
    elements: str
    default: []
  required:
    description: Of V(jobs), the tests without a tool that are findings. Other missing tools are only named.
    type: list
    elements: str
    default: []
  memlock:
    description: Of V(jobs), the limit of locked memory that is expected, V(unlimited) or a number of KiB. V(keep) stands for no limit.
    type: str
    default: unlimited
  max_alltoall_usec:
    description: Of V(jobs), the time of an all-to-all exchange of 1 KiB in microseconds above which it is a finding. V(0) stands for no limit.
    type: float
    default: 0
  min_gbps:
    description:
      - Of V(pairs), the bandwidth of C(ib_write_bw) and C(ib_send_bw) in Gb/s below which a pair is a finding. V(0) stands for O(min_share) of the slower
        link.
      - Of V(jobs) likewise, of C(ib_write_bw), of MPI, and of the bus bandwidth of NCCL.
      - Of V(gpus), the average bandwidth in Gb/s below which the task fails.
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
    description:
      - Of V(pairs), the latency of C(ib_write_lat) in microseconds above which a pair is a finding. V(0) stands for no limit.
      - Of V(jobs), the latency of MPI, likewise.
    type: float
    default: 0
  outlier:
    description:
      - A pair with less than this part of the median bandwidth of all pairs with equal links is an outlier, and so is one whose latency is above the
        median by the inverse factor. It needs four pairs. V(0) turns it off.
    type: float
    default: 0.7
  fail:
    description: Of V(jobs) and V(pairs), whether to fail where a finding is an error.
    type: bool
    default: true
  role:
    description:
      - Of V(refusals), the role whose refusals are in O(variable), as its entry point C(refusals) publishes them. The default is that the variable has the
        result of M(rdma.ofed.validate_site).
    type: str
    default: ""
  strict:
    description:
      - Of V(refusals), whether to fail, before the first change on any host, also for what is wrong with one host alone. It is C(rdma_strict) of the
        playbooks.
    type: bool
    default: false
  keep_looks:
    description:
      - Of V(refusals), whether the roles that follow may plan on what the look has found. Playbooks that reboot nodes or reload the driver before that set
        it to V(false).
    type: bool
    default: true
  hosts:
    description:
      - Of V(summary), the hosts of the run, where those of the play are not all of them. By default, they are all hosts of the play.
      - Of V(gpus), the writing host and the other one.
    type: list
    elements: str
    default: []
  alive:
    description: Of V(summary), those that neither failed nor were unreachable. By default, they are the hosts that are still in the play.
    type: list
    elements: str
    default: []
  once_all_arrived:
    description:
      - Print once, when all hosts that are left in the play have come to the task, and skip the task on the others. Of V(summary), in a C(rescue), this is the
        end of a run in which all hosts have failed. Do not combine it with C(run_once).
    type: bool
    default: false
  untouched:
    description: Of V(summary), those to which the run does not come, since it ends before their batch.
    type: list
    elements: str
    default: []
  deviations:
    description:
      - Of V(summary), the hosts that a table has named already. The summary repeats the first finding of each where it is given RV(deviations), and refers
        to the table where it is given a list of hosts.
    type: raw
    default: []
  findings:
    description:
      - Of V(summary), the variables in which a host has its findings in words, for findings that no table has named. They count for O(alive) hosts.
    type: list
    elements: str
    default: []
  output:
    description:
      - Of V(gpus), the output of C(ib_write_bw --report_gbits) on the writing host.
      - Of V(rehearsal), the output of the program in the container.
    type: str
    default: ""
  plan:
    description: Of V(rehearsal), what M(rdma.ofed.arrange) returned as RV(rdma.ofed.arrange#module:summary).
    type: dict
    default: {}
  size:
    description: Of V(gpus), the size of a write in bytes.
    type: int
    default: 65536
  group:
    description: Of V(discovery), the group of all hosts. If the inventory has no such group, it is C(rdma).
    type: str
    default: rdma
  before:
    description: Of V(discovery), whether to do nothing but refuse an O(dest) that has files already. It is for a task before the look at the hosts.
    type: bool
    default: false
  overwrite:
    description:
      - Of V(discovery), whether files of an earlier discovery in O(dest) may be replaced. Those of groups and hosts without values are removed, except
        of hosts that are not in the play.
      - Files of others are never replaced or removed.
    type: bool
    default: false
  single_file:
    description: Of V(discovery), whether all variables are written to one file, C(inventory.yml), not to a file for each group and host.
    type: bool
    default: false
  explicit:
    description: Of V(discovery), whether values that are the default of the collection are written, too.
    type: bool
    default: false
  parts:
    description:
      - Of V(support), the folder on the controller with an archive C(HOST/support.tar.gz) for each host. It is removed. Where this is empty, nothing is
        written.
    type: path
    default: ""
  dest:
    description: Of V(support), the folder that the archive is put into. Of V(discovery), the folder of the inventory.
    type: path
    default: "."
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
seealso:
  - module: rdma.ofed.node_check
  - module: rdma.ofed.ib_pair_test
  - module: rdma.ofed.validate_site
"""

EXAMPLES = r"""
- name: Look at the node
  rdma.ofed.rdma_facts:
    keep_look: true

- name: Validate the input for the node, and foresee what would be refused
  rdma.ofed.validate_site:
    foresee: true
    fail: false
  register: rdma_site

- name: End the run for all hosts where the input of any is wrong
  rdma.ofed.report:
    kind: refusals
  run_once: true
  any_errors_fatal: true

- name: Check the node
  rdma.ofed.node_check:
    ports: ["0000:03:00.0/1"]
    fabrics: "{{ groups | rdma.ofed.fabric_managers(hostvars, inventory_hostname, {'fabric': 'ib'}) }}"
    fail: false
  register: outcome

- name: Print the table
  rdma.ofed.report:
    kind: nodes
    variable: outcome
  register: report
  run_once: true

- name: Fail where the node has findings
  ansible.builtin.assert:
    that: inventory_hostname not in report.deviations

- name: Show what is pending
  rdma.ofed.report:
    kind: pending
  run_once: true

- name: Print and judge the results of a pair test
  rdma.ofed.report:
    kind: pairs
    ends: "{{ ends }}"
    variable: measured
    max_usec: 3
  run_once: true

- name: Print the summary of the run
  rdma.ofed.report:
    kind: summary
    deviations: "{{ report.deviations }}"
  run_once: true

- name: Write an inventory that declares what the hosts have
  rdma.ofed.report:
    kind: discovery
    dest: discovered
  run_once: true

- name: Print what the rehearsal has shown
  rdma.ofed.report:
    kind: rehearsal
    plan: "{{ plan.summary }}"
    output: "{{ simulation.stdout }}"
  run_once: true

- name: Join the archives for support
  rdma.ofed.report:
    kind: support
    parts: "{{ parts.path }}"
    dest: support
  run_once: true
"""

RETURN = r"""
files:
  description: The files that were written.
  returned: with O(kind=discovery)
  type: list
  elements: str
  sample: [discovered/hosts.yml, discovered/group_vars/rdma.yml, discovered/report.txt]
dangers:
  description: What is there and does harm, in words by host. What concerns the site has an empty key.
  returned: with O(kind=discovery)
  type: dict
  sample:
    node2: ["memory locked by a session is limited to 8192 KiB"]
not_expressed:
  description: What no variable expresses, and why, likewise.
  returned: with O(kind=discovery)
  type: dict
  sample:
    "": ["partition old (0x0000) of /etc/opensm/partitions.conf: it has no P_Key of its own"]
rehearsed:
  description: What the rehearsal has shown, in the form of C(rehearsal.json).
  returned: with O(kind=rehearsal)
  type: dict
problems:
  description: How the end of the change differs from what is declared, in words.
  returned: with O(kind=rehearsal)
  type: list
  elements: str
  sample: ["the routing engine is minhop, declared: ftree"]
deviations:
  description: The findings in words, by host. A host that is as declared is left out.
  returned: with O(kind=nodes), on success
  type: dict
  sample:
    node2: ["port mlx5_0/1: wanted ACTIVE and LinkUp, found DOWN and Polling (look at the cable and the switch port)"]
differences:
  description: Versions that equal adapters, or hosts with one vendor's stack, should share and do not.
  returned: with O(kind=nodes), on success
  type: list
  elements: dict
  contains:
    what:
      description: V(firmware) or V(stack).
      type: str
      sample: firmware
    of:
      description: The PSID of the adapters, or V(mlnx_ofed) or V(doca).
      type: str
      sample: MT_0000000008
    hosts:
      description: The hosts by version, that of most hosts first.
      type: dict
      sample: {"16.35.4030": [node1, node2], "16.35.2000": [node3]}
findings:
  description:
    - What is wrong. The worst comes first.
    - Those of O(kind=jobs) have C(hosts) in place of C(client) and C(server).
  returned: with O(kind=jobs) and O(kind=pairs)
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
      cause: a slow link, a PCI slot with too few lanes, other load on the hosts, or a busy fabric
      next_step: see both links with rdma.ofed.fabric
results:
  description:
    - Each test of each pair, with C(fabric), C(client), C(server), C(rate), which is what the slower link carries in Gb/s or V(0), C(test), C(gbps), C(usec),
      C(loss) and C(problem).
  returned: with O(kind=pairs)
  type: list
  elements: dict
  sample:
    - {fabric: ib, server: node1, client: node2, rate: 100, test: ib_write_bw, gbps: 97.3, usec: null, loss: null, problem: ""}
jobs:
  description: What M(rdma.ofed.job_test) returned as RV(rdma.ofed.job_test#module:jobs), each job once.
  returned: with O(kind=jobs)
  type: list
  elements: dict
absent:
  description: Hosts of the play that could not take part.
  returned: with O(kind=jobs) and O(kind=pairs)
  type: list
  elements: str
  sample: []
table:
  description: What is printed, line by line.
  returned: with O(kind=gpus), O(kind=jobs) and O(kind=pairs)
  type: list
  elements: str
  sample: ["Fabric ib, ib_write_bw in Gb/s, 1 pairs of 2 hosts:"]
gbps:
  description: The average bandwidth in Gb/s.
  returned: with O(kind=gpus)
  type: float
  sample: 97.31
path:
  description: The archive; empty in check mode.
  returned: with O(kind=support), on success
  type: str
  sample: support/rdma-support-20261124T101500Z.tar.gz
missing:
  description: Hosts of the play without an archive.
  returned: with O(kind=support), on success
  type: list
  elements: str
  sample: [node7]
pending:
  description:
    - What is pending, by host, as the modules return it in C(pending). Hosts with nothing pending are left out.
  returned: with O(kind=pending), on success
  type: dict
  sample:
    node2:
      - kind: firmware_parameter
        subject: "0000:03:00.0"
        aspect: NUM_OF_VFS
        before: "0"
        after: "16"
        needs: reboot
        why: []
wrong:
  description: The input that is wrong, by host. Hosts without are left out. Where there is any, the task fails with it in its message instead.
  returned: with O(kind=refusals), on success
  type: dict
  sample: {}
left_out:
  description: By host, the roles that it is left out of, with the reasons. Hosts that take part in all are not in it.
  returned: with O(kind=refusals), on success
  type: dict
  sample:
    node2:
      ipoib:
        - >-
          /etc/network/interfaces.d/ib configures ib0; take the interface out of the file, or remove the file, or do not declare the interface
done:
  description: The hosts that are done.
  returned: with O(kind=summary)
  type: list
  elements: str
  sample: [node1, node2]
reasons:
  description: Why each of the others is not.
  returned: with O(kind=summary)
  type: dict
  sample:
    node3: ["unreachable: Connection timed out"]
"""
