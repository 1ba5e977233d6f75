#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: third_party_modules
short_description: Rebuild third-party modules that were built on a former RDMA stack
version_added: 2.0.0
description:
  - A kernel module that is part of neither the kernel nor the stack, such as the client of a file system, is built on one build of the stack. The kernel
    refuses it with another one, because the versions of symbols differ.
  - M(rdma.ofed.driver_stack) records the modules that were built on the stack that it replaces, in C(/var/lib/rdma.ofed/third_party.json) on the node. This
    module compares the versions of their symbols with what the stack on disk exports, has DKMS rebuild those that it manages and that do not fit, and looks
    at them again. Success is what the versions on disk say.
  - Modules are rebuilt in the order of their dependencies. The build is a job of its own on the node, which outlives the connection.
  - For a new kernel, DKMS builds in an order of its own. Where the C(dkms.conf) of a third-party module that depends on the stack does not name the stack in
    C(BUILD_DEPENDS), C(/etc/dkms/NAME.conf) is written, which adds that. A file of others at that place is left alone, and named in the result.
  - DKMS before 3.1.8 does not read that file when it puts sources in order. There, scripts that the packages of kernels run before those of DKMS build the
    stack first, C(00-rdma-ofed) in C(/etc/kernel/postinst.d) and C(/etc/kernel/header_postinst.d), and C(00-rdma-ofed.install) in C(/etc/kernel/install.d).
  - These files are removed with the stack, or with the third-party module.
  - What DKMS does not manage, or could not build, is returned and is pending, with C(needs) V(rebuild). The record is removed once all modules fit.
  - Modules for GPU memory are left to M(rdma.ofed.gpudirect). Modules without versions of symbols are not found.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  dkms:
    description: Whether to have DKMS rebuild what it manages. Otherwise, the module only looks.
    type: bool
    default: true
  modules:
    description:
      - In check mode, the modules to rebuild, as M(rdma.ofed.driver_stack) returns them in C(third_party), because the stack is still to be replaced.
      - With O(tasks), those that did not fit before the tasks ran.
    type: list
    elements: dict
    default: []
  stack:
    description:
      - In check mode, whether DKMS will have the source of the stack. V(kept) is as it is now. V(dkms) is once a stack with DKMS is installed, on
        distributions where the packages of the vendor use it. V(absent) is once it is removed.
    type: str
    choices: [kept, dkms, absent]
    default: kept
  tasks:
    description:
      - The file of tasks of the site that has rebuilt O(modules). Then DKMS is not run, and the module fails where one of them still does not fit.
    type: str
    default: ""
  timeout:
    description: The time limit of all builds, in seconds.
    type: int
    default: 7200
  poll:
    description: How long one execution of the module waits for the job, in seconds.
    type: int
    default: 20
  attach:
    description: The job to wait for. For the module's own use.
    type: str
    default: ""
notes:
  - It serves the roles of this collection, and its options change with those.
  - It must run as root.
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.kernel_policy
"""

EXAMPLES = r"""
- name: Rebuild what was built on the former stack
  rdma.ofed.third_party_modules:
  register: third_party

- name: Rebuild what DKMS does not manage
  ansible.builtin.include_tasks: /etc/ansible/hooks/rebuild.yml
  vars:
    ofed_rebuild_modules: "{{ third_party.modules }}"
  when: third_party.modules | length > 0

- name: Require that all of it fits
  rdma.ofed.third_party_modules:
    modules: "{{ third_party.modules }}"
    tasks: /etc/ansible/hooks/rebuild.yml
  when: third_party.modules | length > 0
"""

RETURN = r"""
changes:
  description: The changes made, or in check mode to be made, in words.
  returned: success
  type: list
  elements: str
  sample: ["module lustre 6.1.0-50-amd64: built on mlnx_ofed 23.10-0.5.5.0 -> rebuilt by dkms install -m lustre-client -v 2.15.5 -k 6.1.0-50-amd64"]
pending:
  description: The modules that do not fit. An entry has C(needs) V(rebuild), and C(why) names the symbol and the way out.
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: module, subject: mmfslinux, aspect: 6.1.0-50-amd64, before: built on mlnx_ofed 23.10-0.5.5.0, after: rebuilt, needs: rebuild, why: []}
reboot_required:
  description: Whether a reboot is needed. Always false.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why modules do not fit, in words.
  returned: success
  type: list
  elements: str
  sample:
    - >-
      /lib/modules/6.1.0-50-amd64/extra/mmfslinux.ko does not fit the stack on disk, which lacks the symbol rdma_connect or has it in another version
modules:
  description: The modules that do not fit.
  returned: success
  type: list
  elements: dict
  contains:
    name: {description: Its name., type: str, sample: mmfslinux}
    kernel: {description: The release of the kernel that it is for., type: str, sample: 6.1.0-50-amd64}
    path: {description: The path of its file below the folder of modules of that kernel., type: str, sample: extra/mmfslinux.ko}
    source: {description: 'Its source in DKMS, as NAME/VERSION; empty where DKMS does not manage it.', type: str}
    stack: {description: The stack that it was built on., type: str, sample: mlnx_ofed 23.10-0.5.5.0}
    symbols: {description: The symbols that it had from the stack and from other third-party modules., type: list, elements: str}
    command: {description: 'The command that rebuilds it; empty where only the site knows it.', type: str}
job:
  description: The job that did the work, as RV(rdma.ofed.driver_stack#module:job).
  returned: when DKMS was run
  type: dict
"""

import platform

from ..module_utils._host._answer import answer
from ..module_utils._schema._third_party_modules import OPTIONS
from ..module_utils._thirdparty._converge import converge


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, platform.release()), root=True)


if __name__ == "__main__":
    main()
