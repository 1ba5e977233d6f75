#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: file_systems
short_description: Finds file systems over RDMA that did not come back after maintenance
version_added: 2.0.0
description:
  - Records what uses the RDMA stack of the node before maintenance, and reports afterwards what of it is missing. That are file systems over RDMA or over
    an interface of an RDMA adapter (Lustre, BeeGFS, GPFS, NFS and others), storage sessions (NVMe over RDMA, iSER, SRP), and loaded modules that use the
    stack and are not of the kernel, such as C(ko2iblnd), C(beegfs) and C(nvidia_fs).
  - The record is in C(/var/lib/rdma.ofed/storage.json) on the node. It is removed once everything is back. Until then, later runs add to it.
  - What is mounted by an automounter is left out.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
attributes:
  check_mode:
    description: It writes no record, and compares with the existing one.
options:
  state:
    description: V(remembered) records what is there, V(compared) reports what is missing since then.
    type: str
    choices: [remembered, compared]
    required: true
  wait:
    description: How long something may be missing, in seconds.
    type: int
    default: 0
notes:
  - It serves the playbooks and roles of this collection, and its options change with those.
  - It must run as root.
  - It never reports a change, because the record is not part of the declared state of the node.
seealso:
  - module: rdma.ofed.fabric_ports
"""

EXAMPLES = r"""
- name: Record what uses the stack
  rdma.ofed.file_systems:
    state: remembered

- name: Find what did not come back
  rdma.ofed.file_systems:
    state: compared
    wait: 60
  register: storage
  failed_when: storage is failed or storage.missing | length > 0
"""

RETURN = r"""
users:
  description: What is there. With O(state=remembered), with what an earlier run has recorded and did not see come back.
  returned: success
  type: list
  elements: str
  sample: [module ko2iblnd, mount /scratch]
missing:
  description: What was there before and is not.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The mount, session or module.
      type: str
    detail:
      description: What it is.
      type: str
  sample: [{name: mount /scratch, detail: "lustre from 10.1.0.9@o2ib:/scratch"}]
"""

from ..module_utils._check._file_systems import compare, remember
from ..module_utils._host._answer import answer
from ..module_utils._schema._file_systems import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: (remember if module.params["state"] == "remembered" else compare)(module, run), root=True)


if __name__ == "__main__":
    main()
