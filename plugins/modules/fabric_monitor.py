#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_monitor
short_description: Monitors a fabric between runs, and makes health checks for NHC and Slurm
version_added: 1.0.0
description:
  - With O(sampler), a timer of systemd looks at the fabrics of this host, and writes what it finds for the textfile collector of node_exporter.
  - With O(health_checks), the host gets a program that compares its ports and interfaces with what is declared.
  - Both programs are single files that need nothing but Python, the one that runs this module. The sampler needs infiniband-diags, too.
  - What is no longer declared is removed. Files that others put in these places are refused, and are not removed.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  state:
    description: V(absent) removes everything that the role has installed, regardless of the other variables.
    type: str
    choices: [present, absent]
    default: present
  sampler:
    description: Whether the host samples its fabrics.
    type: bool
    default: false
  fabrics:
    description:
      - The fabrics that the host samples, by name, with the ports of the host in each. Needed with O(sampler).
      - It asks through the first port. Without ports, through the first of the host with a link. The name is the label
        C(fabric) of all metrics.
    type: dict
    default: {}
  interval:
    description: Seconds between two samples, 60 to 3600. A tenth of it is added at random.
    type: int
    default: 300
  only_master:
    description:
      - Whether only the host of the master subnet manager reads the fabric. The others write who is master, and take
        over where there is none.
      - Set it to false where a switch or UFM runs the subnet manager, and let one host sample.
    type: bool
    default: true
  textfile_dir:
    description:
      - The folder that node_exporter reads, C(--collector.textfile.directory). It is created if it is missing.
    type: str
    default: /var/lib/prometheus/node-exporter
  node_name_map:
    description:
      - The file with names of nodes by node GUID. Nodes that it does not have are named by their node description.
    type: str
    default: /etc/rdma/ib-node-name-map
  health_checks:
    description:
      - Which health checks the host gets. V(slurm) is a C(HealthCheckProgram), V(nhc) a check for LBNL Node Health
        Check.
      - Neither C(slurm.conf) nor C(nhc.conf) is changed.
    type: list
    elements: str
    choices: [nhc, slurm]
    default: []
  ports:
    description: The ports that the health check expects to be active. Without any, it expects one InfiniBand port to be active.
    type: list
    elements: str
    default: []
  interfaces:
    description:
      - The interfaces that the health check expects to be up, as names or as in O(rdma.ofed.ipoib#module:interfaces). Those that are named by
        their port alone are left out.
    type: list
    elements: raw
    default: []
  rate_gbps:
    description: The least rate of each port in Gb/s. With 0, any will do.
    type: float
    default: 0
  slurm_node:
    description: The name of the node in C(slurm.conf).
    type: str
    default: ""
requirements:
  - systemd for O(sampler)
  - infiniband-diags for O(sampler)
"""

EXAMPLES = r"""
- name: Sample the fabric every five minutes
  rdma.ofed.fabric_monitor:
    sampler: true
    fabrics:
      ib: ["0000:03:00.0/1"]
  become: true

- name: Let Slurm drain nodes whose link is down
  rdma.ofed.fabric_monitor:
    health_checks: [slurm]
    ports: ["0000:03:00.0/1"]
    interfaces: [ib0]
    slurm_node: "{{ inventory_hostname_short }}"
  become: true
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["create file /usr/local/lib/rdma-ofed/fabric-sample", "service rdma-fabric-monitor.timer: stopped -> running"]
pending:
  description: Changes that are effective only later. Always empty for this module.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Whether a reboot is needed. Always false for this module.
  returned: success
  type: bool
reasons:
  description: Why something is not as declared although nothing failed. Always empty for this module.
  returned: success
  type: list
  elements: str
  sample: []
"""

from ..module_utils._host._answer import answer
from ..module_utils._monitor._converge import converge
from ..module_utils._schema._fabric_monitor import OPTIONS


def main() -> None:
    answer(OPTIONS, converge, root=True)


if __name__ == "__main__":
    main()
