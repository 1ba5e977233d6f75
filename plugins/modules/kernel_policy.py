#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_policy
short_description: See to it that the kernel that boots next has the driver of MLNX_OFED or DOCA-OFED
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Finds the kernel that boots next, from the menu of GRUB or systemd-boot, and whether it has the modules of the vendor's driver.
  - A kernel that came after the driver would come up with the modules of the distribution, or with none, and so without the
    network of its adapter. This module builds them, keeps new kernels away, or fails.
  - It never ends in success while the kernel that boots next lacks the modules, whatever the policy.
  - Where the vendor's driver is not installed at all, as with user space alone, it has nothing to do.
  - With UEFI secure boot, modules that nobody signed make it fail, with the steps to sign them.
extends_documentation_fragment:
  - rdma.ofed.attributes
  - rdma.ofed.attributes.state
options:
  policy:
    description:
      - V(build) builds the driver with DKMS for the kernel that boots next. Its headers are installed where they are missing, but
        on SUSE. Without a source in DKMS, it fails.
      - V(pin) has the package manager keep the installed kernels, and the packages that bring new ones, as they are. On the RHEL
        family, this takes the plugin versionlock of dnf. Holds are not taken back by another policy.
      - V(refuse) changes nothing.
    type: str
    choices: [build, pin, refuse]
    default: build
  timeout:
    description: How long building may take, in seconds. It goes on as a job of the node if the connection is lost.
    type: int
    default: 3600
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Build the driver for the kernel that boots next
  rdma.ofed.kernel_policy:

- name: Keep new kernels away
  rdma.ofed.kernel_policy:
    policy: pin
"""

RETURN = r"""
changes:
  description: The changes made, or in check mode to be made, in words.
  returned: success
  type: list
  elements: str
  sample: ["kernel 6.1.0-51-amd64: without the driver -> driver built by DKMS"]
pending:
  description: What is not effective yet. Always empty.
  returned: success
  type: list
  elements: str
  sample: []
reboot_required:
  description: Whether a reboot is needed. Never.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is not as asked for although nothing failed. Always empty.
  returned: success
  type: list
  elements: str
  sample: []
kernel:
  description: The kernel that was looked at, which is the one that boots next, or the running one where that can't be told. Empty for none.
  returned: success
  type: str
  sample: 6.1.0-51-amd64
job:
  description: The job that did the work.
  returned: when something was done
  type: dict
  contains:
    id:
      description: Which one.
      type: str
    running:
      description: Whether it still runs.
      type: bool
    stage:
      description: What it did last.
      type: str
    detail:
      description: How far that is, where it tells. It is empty at the end.
      type: str
    step:
      description: The number of the step.
      type: int
    steps:
      description: How many steps it has.
      type: int
    elapsed:
      description: The seconds that it took.
      type: int
    log:
      description: Where all output is, on the node.
      type: str
      sample: /var/lib/rdma.ofed/jobs/kernel-policy/log
"""

import platform

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import ModuleRunner
from ansible_collections.rdma.ofed.plugins.module_utils._stack._kernel_apply import converge
from ansible_collections.rdma.ofed.plugins.module_utils._stack._kernel_plan import POLICIES


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "policy": {"type": "str", "choices": list(POLICIES), "default": "build"},
            "timeout": {"type": "int", "default": 3600},
        },
        supports_check_mode=True,
    )
    try:
        result = converge(module, ModuleRunner(module), platform.release())
    except RdmaError as exc:
        module.fail_json(msg=exc.msg, **exc.details)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
