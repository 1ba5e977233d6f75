#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: job_test
short_description: Runs parallel jobs as an ordinary user, and measures in them
version_added: 2.0.0
description:
  - Submits jobs to Slurm as an ordinary user, or starts processes with C(mpirun), and measures what such a job gets. That is the limit of locked memory, in a
    container, too, and the bandwidth and latency of verbs, MPI and NCCL between nodes. The playbook C(rdma.ofed.job_test) uses it.
  - A job of Slurm holds its nodes for steps that C(srun) starts from this host. It is cancelled at the end, and ends by itself at its time limit, whatever
    becomes of the controller. No file is written.
  - What fails is in RV(jobs) with a code, and does not fail the module.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
attributes:
  check_mode:
    description: Submits nothing. RV(commands) lists what would be run.
    support: full
  diff_mode:
    description: It changes nothing that stays, so there are no differences to show.
    support: N/A
options:
  role:
    description:
      - V(look) returns how this host can take part. It fails if the user does not exist here.
      - V(run) runs jobs from this host.
    type: str
    choices: [look, run]
    required: true
  user:
    description: The user of the jobs. It must exist, and must not be root.
    type: str
    required: true
  user_id:
    description: Of O(role=run), the ID that the user must have, or V(-1) for any.
    type: int
    default: -1
  port:
    description:
      - Of O(role=look), the port to measure through, by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and number, such as
        V(mlx5_0/1).
      - The default is the first one that is ACTIVE. Those of InfiniBand come first.
    type: str
    default: ""
  node:
    description: Of O(role=look), the name of the host in Slurm. It is only returned.
    type: str
    default: ""
  address:
    description: Of O(role=look), the address at which other hosts find this one over TCP. It is only returned.
    type: str
    default: ""
  launcher:
    description: Of O(role=run), V(slurm), or V(ssh) for C(mpirun) on this host, which logs in to the others as the user.
    type: str
    choices: [slurm, ssh]
    default: slurm
  groups:
    description: Of O(role=run), the hosts of each job, as RV(rdma.ofed.arrange#module:groups) of M(rdma.ofed.arrange).
    type: list
    elements: list
    default: []
  tests:
    description:
      - Of O(role=run), what to measure. V(memlock) is the limit of locked memory, V(container) that in a container. V(ib_write_bw) is the bandwidth of RDMA.
      - V(pingpong) and V(alltoall) run C(osu_latency), C(osu_bw) and C(osu_alltoall), or else C(IMB-MPI1). V(allreduce) runs C(all_reduce_perf) of
        nccl-tests, built with MPI.
      - With O(launcher=ssh), V(memlock), V(container) and V(ib_write_bw) are not for this module.
    type: list
    elements: str
    choices: [memlock, container, ib_write_bw, pingpong, alltoall, allreduce]
    default: [memlock, container, ib_write_bw, pingpong, alltoall, allreduce]
  setup:
    description: A line of shell before each program, such as V(module load openmpi osu-micro-benchmarks).
    type: str
    default: ""
  environment:
    description: Environment variables of the programs.
    type: dict
    default: {}
  container:
    description: The words before a command that run it in a container, such as V([apptainer, exec, /images/hpc.sif]). Without it, V(container) is not measured.
    type: list
    elements: str
    default: []
  mpi:
    description: The value of C(--mpi) of C(srun). The default is C(pmix) where Slurm has it, else C(pmi2).
    type: str
    default: ""
  options:
    description: Further options of C(sbatch), such as V([--partition=debug, --account=ops]).
    type: list
    elements: str
    default: []
  gpus:
    description: How many GPUs of each node V(allreduce) uses.
    type: int
    default: 1
  seconds:
    description: How long C(ib_write_bw) measures, in seconds, 2 to 60.
    type: int
    default: 5
  size:
    description: The size of a write of C(ib_write_bw), in bytes.
    type: int
    default: 65536
  tcp_port:
    description: The TCP port at which C(ib_write_bw) finds its server.
    type: int
    default: 18600
  step_seconds:
    description: The time limit of each step, in seconds.
    type: int
    default: 60
  wait:
    description: How long a job may wait in the queue, in seconds. It is cancelled after that.
    type: int
    default: 300
requirements:
  - root, and C(runuser) of util-linux
  - the commands of Slurm with O(launcher=slurm)
seealso:
  - module: rdma.ofed.ib_pair_test
  - module: rdma.ofed.report
  - module: rdma.ofed.arrange
"""

EXAMPLES = r"""
- name: See how the hosts can take part
  rdma.ofed.job_test:
    role: look
    user: alice
    node: "{{ inventory_hostname_short }}"
    address: "{{ ansible_host }}"
  register: looked
  become: true

- name: Run a job on two nodes
  rdma.ofed.job_test:
    role: run
    user: alice
    options: [--partition=debug]
    groups:
      - - {host: node1, node: node1, address: 10.1.0.1, port: mlx5_0/1, gbps: 100}
        - {host: node2, node: node2, address: 10.1.0.2, port: mlx5_0/1, gbps: 100}
  delegate_to: login1
  run_once: true
  become: true
"""

RETURN = r"""
end:
  description:
    - How the host takes part. It has the C(user_id) of the user, the C(node) and C(address) of the options, the C(port), what its link carries of data in
      C(gbps), and its C(lid).
    - C(slurm) tells whether the commands of Slurm are there. C(soft) and C(hard) are the limits of locked memory in KiB of a session of the user.
    - C(left_out) has the tests that the host can't do, with the reasons.
  returned: with O(role=look)
  type: dict
  sample:
    user_id: 1000
    node: node1
    address: 10.1.0.1
    slurm: true
    port: mlx5_0/1
    gbps: 100
    lid: 4
    soft: unlimited
    hard: unlimited
    left_out: {}
commands:
  description: What is run, or in check mode would be.
  returned: with O(role=run)
  type: list
  elements: str
  sample: ["osu_latency on node1, node2"]
jobs:
  description: The jobs. In check mode, there are none.
  returned: with O(role=run)
  type: list
  elements: dict
  contains:
    hosts:
      description: The hosts of the job.
      type: list
      elements: str
    number:
      description: The job ID; V(0) without one.
      type: int
    cluster:
      description: The cluster of Slurm that has the job, where C(sbatch) names one; empty for that of the host that submits.
      type: str
    problem:
      description: Why the job measured nothing; empty where it did.
      type: str
    code:
      description: The code of the finding for that, as in C(docs/findings.md).
      type: str
    left:
      description: Why the job could not be cancelled; empty where it was.
      type: str
    missing:
      description: The tests for which no tool is installed on all nodes, with the tools.
      type: dict
    figures:
      description:
        - The results, each with C(test), C(hosts), C(tool), the limits C(soft) and C(hard), C(gbps), C(usec), the C(network) that NCCL uses, and C(problem)
          and C(code) where there is no result.
      type: list
      elements: dict
  sample:
    - hosts: [node1, node2]
      number: 12
      cluster: ""
      problem: ""
      code: ""
      left: ""
      missing: {allreduce: all_reduce_perf}
      figures:
        - {test: pingpong, hosts: [node1, node2], tool: osu_latency, soft: "", hard: "", gbps: null, usec: 1.21, network: "", problem: "", code: ""}
"""

from ..module_utils._host._answer import answer
from ..module_utils._jobs._node import Node, work
from ..module_utils._schema._job_test import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: work(Node(run, module.check_mode), module.params), root=True)


if __name__ == "__main__":
    main()
