#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_policy
short_description: Ensure that the kernel that boots next has the driver of MLNX_OFED or DOCA-OFED
version_added: 1.0.0
description:
  - Finds the kernel that boots next, from the menu of GRUB or systemd-boot, and whether it has the modules of the vendor's driver.
  - A kernel that was installed after the driver would boot with the modules of the distribution, or with none, and so without
    the network of its adapter. This module builds them, holds the kernels, or fails.
  - It never succeeds while the kernel that boots next lacks the modules, whatever the policy.
  - Building is a job of its own on the node, which outlives the connection. While it runs, its stage and the time are shown.
  - Where the vendor's driver is not installed, as with user space alone, it does nothing.
  - Where the kernel loads modules with a trusted signature only, as with UEFI secure boot, it fails if the driver is not signed, or with a key that
    is not enrolled, and names the steps to sign and enrol.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.job
options:
  policy:
    description:
      - V(build) builds the driver for the kernel that boots next. With a source in DKMS, DKMS does it. Without one, where the
        driver came as ready-made modules, C(mlnx_add_kernel_support.sh) of O(bundle) does it for MLNX_OFED, and
        C(doca-kernel-support) of the package C(doca-extra) for DOCA-OFED; of what they make, the packages of modules are
        installed, and the rest of the stack is left alone.
      - The headers of the kernel and the compiler are installed where they are missing. If the package manager does not have
        them, the module fails before it starts anything. On SUSE, the headers must be there.
      - On Debian and Ubuntu, ready-made modules are for one kernel at a time. Those of the running kernel are then removed, which
        is listed in the changes, and a reboot is pending. The running kernel keeps its loaded modules until then.
      - V(pin) makes the package manager hold the installed kernels and the packages that bring new ones. On the RHEL family,
        this needs the plugin versionlock of dnf. Another policy does not release the holds.
      - V(refuse) changes nothing.
    type: str
    choices: [build, pin, refuse]
    default: build
  bundle:
    description:
      - The bundle of the installed release of MLNX_OFED, as the option O(rdma.ofed.driver_stack#module:bundle). It is
        needed, and transferred to the node, only where a driver is built from it.
    type: str
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Build the driver for the kernel that boots next
  rdma.ofed.kernel_policy:

- name: Build it from the bundle, where MLNX_OFED was installed without DKMS
  rdma.ofed.kernel_policy:
    bundle: https://mirror.example.org/MLNX_OFED_LINUX-23.10-0.5.5.0-debian12.1-x86_64.tgz
    bundle_checksum: sha256:7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730

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
  description:
    - What waits for a reboot, which is a running kernel whose modules are no longer on disk. The entry has C(kind), C(subject), C(aspect),
      C(before), C(after), C(needs) and C(why).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: kernel, subject: 6.1.0-50-amd64, aspect: "", before: with the driver, after: without, needs: reboot, why: []}
reboot_required:
  description: Whether a reboot is needed.
  returned: success
  type: bool
  sample: false
reasons:
  description: What check mode can't tell, as where the package lists may be too old, and a kernel that no package has, which can't be held.
  returned: success
  type: list
  elements: str
  sample: []
kernel:
  description: The kernel that was looked at, which is the one that boots next, or the running one if that can't be determined. Empty for none.
  returned: success
  type: str
  sample: 6.1.0-51-amd64
bundle_needed:
  description: What the action plugin has to provide, C(checksum) or C(transfer). It removes this from the result.
  returned: when the bundle is on the controller and the node needs it
  type: str
  sample: transfer
job:
  description: The job that did the work, as RV(rdma.ofed.driver_stack#module:job).
  returned: when something was done
  type: dict
"""

import platform

from ..module_utils._host._answer import answer
from ..module_utils._kernel._converge import converge
from ..module_utils._schema._kernel_policy import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, platform.release()), root=True)


if __name__ == "__main__":
    main()
