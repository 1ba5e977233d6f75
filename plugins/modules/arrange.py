#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The code is in plugins/action/arrange.py: it runs on the controller.

from __future__ import annotations

DOCUMENTATION = r"""
module: arrange
short_description: Decides which host of a play does what
version_added: 2.0.0
description:
  - "V(batches): the hosts of the play that have work to do, in batches, group by group. No batch has hosts of two groups. Hosts of group C(opensm) come last,
    each in a batch of its own. Those that are designated to run the subnet manager of a fabric come after those that are not. Prints the batches. Returns
    their hosts in order and their sizes, for C(hosts) and C(serial) of the next play."
  - "V(firmware): what makes the pending changes of the adapters of the host effective, as far as it is allowed. One reset, reboot or power cycle does so for
    all adapters."
  - "V(gpus): how the host takes part in a measurement between the memory of GPUs, by the facts of M(rdma.ofed.rdma_facts): the adapter, its port, and the
    options of C(ib_write_bw). Fails with the reasons where it can't take part."
  - "V(jobs): how the jobs of a job test are started, and which hosts are in each of them. Fails if the user has different IDs."
  - "V(pairs): who measures with whom in one round of a pair test. No host is in two pairs of a round, and no pair comes twice in all rounds. Hosts of
    different fabrics are no pair."
  - "V(pending): what is pending on the host, of what is known and what was found since. By the facts of M(rdma.ofed.rdma_facts), where this run has gathered
    them, another kernel that boots next is pending, too."
  - "V(rehearsal): the plan of a rehearsal. It has the fabric of O(source) for the simulator, and the steps that bring the subnet managers from their declared
    state to the planned one, with their files. Secrets are replaced by other values: what was equal stays equal."
  - "V(subnet_managers): whether the host runs subnet managers. The answer comes from inventory alone, so it is the same in all runs, with C(--limit) and with
    C(serial). Only variables of the host itself and of the hosts of group C(opensm) are read."
  - Runs on the controller. Use V(batches), V(jobs) and V(pairs) with C(run_once) and the C(linear) strategy.
extends_documentation_fragment:
  - rdma.ofed.attributes.action
options:
  kind:
    description: What to decide.
    type: str
    choices: [batches, firmware, gpus, jobs, pairs, pending, rehearsal, subnet_managers]
    required: true
  due:
    description: Of V(batches), which need it, the name of the variable that is true on the hosts that have something to do.
    type: str
    default: ""
  groups:
    description:
      - Of V(batches), the groups, in their order. A host in several groups belongs to the first. Every host of the play must be in one of them,
        or in group C(opensm).
      - The default is one group with all hosts.
    type: list
    elements: str
    default: []
  serial:
    description:
      - Of V(batches), how many hosts of a group are in a batch, as in C(serial) of a play. It is a number, a percentage of the hosts of the
        group that have something to do, or a list of these.
    type: raw
    default: 1
  adapters:
    description: Of V(firmware), what M(rdma.ofed.mlxfwreset) returned as RV(rdma.ofed.mlxfwreset#module:adapters).
    type: list
    elements: dict
    default: []
  allow_reset:
    description: Of V(firmware), whether adapters may be reset.
    type: bool
    default: false
  allow_reboot:
    description: Of V(firmware), whether the node may be rebooted, or switched off and on.
    type: bool
    default: false
  drains:
    description: Of V(firmware), whether the site ends the use of the node before.
    type: bool
    default: false
  cycles:
    description: Of V(firmware), whether the site can switch the node off and on.
    type: bool
    default: false
  help:
    description: Of V(gpus), the output of C(ib_write_bw --help) on the host; empty where it is not installed.
    type: str
    default: ""
  gpu:
    description: Of V(gpus), the number of the GPU, in the order of the PCI bus.
    type: int
    default: 0
  device:
    description: Of V(gpus), the adapter. The default is the one with an active port that is nearest to the GPU.
    type: str
    default: ""
  way:
    description: Of V(gpus), V(dmabuf), or V(auto) for the loaded module and DMA-BUF where none is.
    type: str
    choices: [auto, dmabuf]
    default: auto
  ends:
    description:
      - Of V(pairs), by host what M(rdma.ofed.ib_pair_test) returned as RV(rdma.ofed.ib_pair_test#module:end).
      - Of V(jobs), by host what M(rdma.ofed.job_test) returned as RV(rdma.ofed.job_test#module:end).
    type: dict
    default: {}
  number:
    description: Of V(pairs), the number of the round, from 0 on.
    type: int
    default: 0
  scope:
    description:
      - Of V(pairs), V(all) pairs, or each host with its neighbours in a V(ring). V(auto) is V(all) for fabrics of up to 16 hosts and V(ring) for larger ones.
      - Of V(jobs), V(all) hosts in one job, or V(pairs) of neighbours, each in a job of its own. V(auto) is V(all).
    type: str
    choices: [auto, all, ring, pairs]
    default: auto
  launcher:
    description: Of V(jobs), V(slurm), V(ssh), or V(auto) for Slurm where the host in O(submit) has its commands, or is not in O(ends).
    type: str
    choices: [auto, slurm, ssh]
    default: auto
  submit:
    description: Of V(jobs), the host on which jobs are submitted.
    type: str
    default: ""
  known:
    description: Of V(pending), what is known to be pending, as in the fact C(rdma_pending).
    type: list
    elements: dict
    default: []
  found:
    description: Of V(pending), what was found since, likewise. It counts where both have the same change.
    type: list
    elements: dict
    default: []
  source:
    description: Of V(rehearsal), a file on the controller with the output of C(ibnetdiscover).
    type: path
    default: ""
  template:
    description: Of V(rehearsal), C(opensm.conf) as the opensm of the simulation writes it.
    type: str
    default: ""
  after:
    description: Of V(rehearsal), an inventory with the change. The default is that of the run.
    type: path
    default: ""
  managers:
    description: Of V(rehearsal), the hosts of group C(opensm) after the change, in their order. By default, these are those of the inventory.
    type: list
    elements: str
    default: []
  variables:
    description: Of V(rehearsal), the variables of the role C(opensm) that the change sets on all hosts.
    type: dict
    default: {}
  restart:
    description: Of V(rehearsal), whether the change restarts all subnet managers, one at a time, the designated one last.
    type: bool
    default: false
  patience:
    description: Of V(rehearsal), how long each step waits for the subnet managers, in seconds.
    type: int
    default: 120
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
"""

EXAMPLES = r"""
- name: Make the batches
  rdma.ofed.arrange:
    kind: batches
    due: upgrade_is_due
    groups: [compute, storage]
    serial: "10%"
  register: rolling
  run_once: true

- name: Make the pairs of the first round
  rdma.ofed.arrange:
    kind: pairs
    ends: "{{ ends }}"
  register: round
  run_once: true

- name: Find what would make pending changes of the firmware effective
  rdma.ofed.arrange:
    kind: firmware
    adapters: "{{ looked.adapters }}"
    allow_reset: true
  register: activation

- name: Plan the rehearsal of a move of the subnet manager
  rdma.ofed.arrange:
    kind: rehearsal
    source: fabric.txt
    template: "{{ template.stdout }}"
    managers: [node3, node1]
  register: plan

- name: Find whether this host runs subnet managers
  rdma.ofed.arrange:
    kind: subnet_managers
  register: place
"""

RETURN = r"""
batches:
  description: The batches in their order.
  returned: with O(kind=batches)
  type: list
  elements: dict
  contains:
    number:
      description: Its number, from 1 on.
      type: int
    of:
      description: The number of batches.
      type: int
    label:
      description: Its group, or C(subnet manager).
      type: str
    hosts:
      description: Its hosts.
      type: list
      elements: str
hosts:
  description: All hosts with work to do, in the order of the batches.
  returned: with O(kind=batches)
  type: list
  elements: str
sizes:
  description: The sizes of the batches.
  returned: with O(kind=batches)
  type: list
  elements: int
rounds:
  description: How many rounds there are.
  returned: with O(kind=pairs)
  type: int
  sample: 3
parts:
  description:
    - By host, the C(role), V(server) or V(client), the C(peer), and the C(tests) that both ends can do. With an odd number of hosts, one has no part.
  returned: with O(kind=pairs)
  type: dict
  sample:
    node1: {role: server, peer: node2, tests: [ibping]}
    node2: {role: client, peer: node1, tests: [ibping]}
launcher:
  description: V(slurm) or V(ssh).
  returned: with O(kind=jobs)
  type: str
  sample: slurm
groups:
  description: The parts of each job, for the option O(rdma.ofed.job_test#module:groups) of M(rdma.ofed.job_test).
  returned: with O(kind=jobs)
  type: list
  elements: list
  sample: [[{host: node1, node: node1, address: 10.1.0.1, port: mlx5_0/1, gbps: 100}, {host: node2, node: node2, address: 10.1.0.2, port: mlx5_0/1, gbps: 100}]]
ends:
  description: The hosts that can measure C(ib_write_bw) without Slurm, for the option O(ends) with O(kind=pairs).
  returned: with O(kind=jobs)
  type: dict
  sample:
    node1: {fabric: "", tests: [ib_write_bw], lid: 4, ip_address: ""}
user_id:
  description: The ID of the user.
  returned: with O(kind=jobs)
  type: int
  sample: 1000
firsts:
  description: The first host of each job, with the number of the job from 0 on.
  returned: with O(kind=jobs)
  type: dict
  sample: {node1: 0}
given:
  description: What the program in the container carries out.
  returned: with O(kind=rehearsal)
  type: dict
summary:
  description: What M(rdma.ofed.report) needs to know of it.
  returned: with O(kind=rehearsal)
  type: dict
way:
  description: V(reset), V(reboot), V(power_cycle), or nothing.
  returned: with O(kind=firmware)
  type: str
  sample: reset
refusal:
  description: Why a reset is impossible, where only a reset is allowed; empty otherwise.
  returned: with O(kind=firmware)
  type: str
  sample: ""
due:
  description: Whether it is allowed to make the changes effective, even where that is refused.
  returned: with O(kind=firmware)
  type: bool
  sample: true
needs:
  description: What the adapters need.
  returned: with O(kind=firmware)
  type: list
  elements: str
  sample: [device_reset]
unknown:
  description: Whether the host has adapters, and none of them could be read.
  returned: with O(kind=firmware)
  type: bool
  sample: false
end:
  description:
    - How the host takes part. It has the C(device), its C(port), the C(gpu), the C(path) between the two as C(nvidia-smi) names it, the C(way), and the
      C(options) of C(ib_write_bw). C(problems) is empty.
  returned: with O(kind=gpus)
  type: dict
  sample:
    problems: []
    device: mlx5_0
    port: 1
    gpu: "0000:18:00.0"
    path: PIX
    way: nvidia_peermem
    options: ["--use_cuda=0"]
pending:
  description: What is pending, each change once, as modules return it in C(pending).
  returned: with O(kind=pending)
  type: list
  elements: dict
  sample: [{kind: kernel, subject: "", aspect: running, before: 6.1.0-49-amd64, after: 6.1.0-50-amd64, needs: reboot, why: []}]
part:
  description: V(master) where the host is designated for any of its fabrics, V(standby) where it stands by for one, else V(resting).
  returned: with O(kind=subnet_managers)
  type: str
  sample: master
designated:
  description: The designated host of each of the host's fabrics.
  returned: with O(kind=subnet_managers)
  type: dict
  sample: {ib: node1}
"""
