#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_bundle
short_description: Builds a bundle of MLNX_OFED with modules for a kernel
version_added: 1.0.0
description:
  - Builds, with C(mlnx_add_kernel_support.sh) of a bundle, the bundle that has modules for one kernel. All nodes with this kernel can install it, so that
    the driver is built once and not on each of them.
  - The result is kept on the node in C(/var/lib/rdma.ofed-built), under a name with the release, distribution, processor and kernel. If it is there, nothing
    is done. It stays until you remove it.
  - The stack of the node is left alone. The headers of the kernel and the compiler are installed where they are missing, and on RHEL and SUSE also
    the packages that the script of the vendor names as missing.
  - Building is a job of its own on the node, which outlives the connection. While it runs, its stage and the time are shown.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
  - rdma.ofed.job
options:
  state:
    description: V(present) builds the bundle. V(query) returns its name, and its checksum if it exists.
    type: str
    choices: [present, query]
    default: present
  bundle:
    description: The bundle, as the option O(rdma.ofed.driver_stack#module:bundle). It is transferred to the node only where something is built.
    type: str
    required: true
  version:
    description: The release of MLNX_OFED, where the name of the bundle does not contain it.
    type: str
  kernel:
    description: The kernel to build for, which must be installed on the node. The default is the running one.
    type: str
  kmp:
    description: Whether to build, on RHEL and SUSE, packages of modules that other kernels with the same symbols can load, too.
    type: bool
    default: false
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.kernel_policy
"""

EXAMPLES = r"""
- name: Build for the running kernel
  rdma.ofed.kernel_bundle:
    bundle: /srv/MLNX_OFED_LINUX-24.10-0.7.0.0-rhel9.4-x86_64.tgz
    bundle_on: controller
  register: built

- name: Fetch the bundle to the controller
  ansible.builtin.fetch:
    src: "{{ built.archive }}"
    dest: /srv/
    flat: true
  become: false
"""

RETURN = r"""
changes:
  description: The changes made, or in check mode to be made, in words.
  returned: success
  type: list
  elements: str
  sample: ["file /var/lib/rdma.ofed-built/MLNX_OFED_LINUX-24.10-0.7.0.0-rhel9.4-x86_64-kver.5.14.0-427.13.1.el9_4.x86_64-ext.tgz: created"]
pending:
  description: Always empty.
  returned: success
  type: list
  elements: dict
  sample: []
reboot_required:
  description: Always V(false).
  returned: success
  type: bool
  sample: false
reasons:
  description: What check mode can't tell, or why nothing was built. The bundle may have the modules already.
  returned: success
  type: list
  elements: str
  sample: []
archive:
  description: The path of the bundle that was, or in check mode would be, built.
  returned: success
  type: str
  sample: /var/lib/rdma.ofed-built/MLNX_OFED_LINUX-24.10-0.7.0.0-rhel9.4-x86_64-kver.5.14.0-427.13.1.el9_4.x86_64-ext.tgz
checksum:
  description: Its checksum, in the form of O(bundle_checksum). Empty while it is not there.
  returned: success
  type: str
  sample: sha256:7d865e959b2466918c9863afca942d0fb89d7c9ac0c99bafc3749504ded97730
version:
  description: The release of MLNX_OFED.
  returned: success
  type: str
  sample: 24.10-0.7.0.0
kernel:
  description: The kernel that it has modules for.
  returned: success
  type: str
  sample: 5.14.0-427.13.1.el9_4.x86_64
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
from ..module_utils._kernel._bundle._converge import converge
from ..module_utils._schema._kernel_bundle import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, platform.release()), root=True)


if __name__ == "__main__":
    main()
