#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpudirect
short_description: Let RDMA adapters reach the memory of NVIDIA GPUs, now and at boot
version_added: 1.0.0
description:
  - Chooses how the adapters of a node reach GPU memory, reports why, and sets up what that needs.
  - V(nvidia_peermem) is a module of NVIDIA's driver from release 470 on, and stands on MLNX_OFED or DOCA-OFED. It is loaded, and a
    unit of systemd, C(rdma-ofed-gpudirect.service), loads it at boot and whenever C(openibd) starts, and unloads it before that stops.
  - V(dmabuf) needs no module, but the open kernel modules of NVIDIA's driver from release 515 (CUDA 11.7) on, a kernel from 5.12
    on, and an adapter from ConnectX-4 on. It is checked, and nothing is set.
  - V(nv_peer_mem) is for GPU drivers before 470. It is built from its source, and installed as a package.
  - A node without an NVIDIA GPU is left alone. What stands against a method is named before anything is changed.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  method:
    description: How adapters reach GPU memory. V(auto) chooses V(nvidia_peermem) where it can be loaded, else V(dmabuf), else V(nv_peer_mem).
    type: str
    choices: [auto, nvidia_peermem, nv_peer_mem, dmabuf]
    default: auto
  state:
    description: V(absent) removes everything that earlier runs have set up, regardless of O(method).
    type: str
    choices: [present, absent]
    default: present
  peerdirect_support:
    description:
      - The module parameter C(peerdirect_support) of C(nvidia_peermem). V(auto) sets V(1) with MLNX_OFED up to 4.9, which has
        another interface, and sets nothing with any other stack.
    type: str
    choices: [auto, "0", "1"]
    default: auto
  allow_rebuild:
    description:
      - Whether to rebuild the GPU driver with DKMS for the running kernel where it was built before the RDMA stack was
        installed. Its C(nvidia_peermem) is empty in that case. The loaded driver stays.
      - The driver is first built in a separate folder, and then in place. If the second build is interrupted, the next boot
        has no GPU driver until another run has built it.
    type: bool
    default: false
  allow_container:
    description: Whether to work from a container or chroot. Kernel modules are shared by everything that runs on the same kernel.
    type: bool
    default: false
  source:
    description: The source of C(nv_peer_mem), as the URL of a git repository or the path of an archive on the node.
    type: str
    default: https://github.com/Mellanox/nv_peer_memory.git
  commit:
    description:
      - The commit to build, with all 40 digits. The default is version 1.0-8, for MLNX_OFED up to 4.9. MLNX_OFED 5.1 and later
        need version 1.2 or later.
    type: str
    default: d9a0a126bc31279e63e4b47bfb59ee767cea7aad
  checksum:
    description: The checksum of an archive, V(sha256:) and 64 hexadecimal digits. An archive needs one.
    type: str
    default: ""
  timeout:
    description: The time limit of a build, in seconds. It continues if the connection is lost, and the next run waits for it.
    type: int
    default: 3600
  assume_stack:
    description:
      - In check mode, plan as if a task before this one had replaced the RDMA stack. V(installed) is a stack with peer memory
        on disk, V(loaded) one in the kernel as well. V(removed) is one that is gone from disk, V(unloaded) from the kernel as
        well.
    type: str
    choices: [found, installed, loaded, removed, unloaded]
    default: found
  assume_ofed_version:
    description:
      - The release of MLNX_OFED that the node would have, with O(assume_stack=installed) and O(assume_stack=loaded). Empty for
        DOCA, and where it is not known.
    type: str
    default: ""
  stack_outcome:
    description:
      - In check mode, plan as if the stack were as the role C(ofed) predicts in this value of its fact C(ofed_outcome). O(assume_stack) and
        O(assume_ofed_version) follow from it unless they are given.
    type: dict
    default: {}
notes:
  - It must run as root.
  - Install the RDMA stack first and NVIDIA's driver after it. After an upgrade of the stack, the driver has to be rebuilt.
seealso:
  - module: rdma.ofed.driver_reload
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Let the adapters reach GPU memory, whichever way this node has
  rdma.ofed.gpudirect:
  register: gpudirect

- name: Show which way it is
  ansible.builtin.debug:
    var: gpudirect.why

- name: Use nvidia_peermem, and rebuild the GPU driver for it where needed
  rdma.ofed.gpudirect:
    method: nvidia_peermem
    allow_rebuild: true

- name: Take it away
  rdma.ofed.gpudirect:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["module nvidia_peermem: not loaded -> loaded", "create file /etc/systemd/system/rdma-ofed-gpudirect.service"]
method:
  description: V(nvidia_peermem), V(nv_peer_mem) or V(dmabuf); empty for a node without GPU and for O(state=absent).
  returned: success
  type: str
  sample: nvidia_peermem
why:
  description: Why it is this method, or none.
  returned: success
  type: str
  sample: "nvidia_peermem: GPU driver 535.104.05 (open), kernel 6.1.0-50-amd64, and ib_core of the installed stack offers peer memory"
loaded:
  description: The modules for GPU memory that are loaded.
  returned: success
  type: list
  elements: str
  sample: [nvidia_peermem]
hints:
  description: What slows the way between GPUs and adapters down, and what may not fit together.
  returned: success
  type: list
  elements: str
  sample: ["GPU 0000:18:00.0 has no RDMA adapter at its own NUMA node: its traffic goes between processors"]
pending:
  description:
    - What becomes effective only later.
    - Each entry has the keys C(kind), C(subject) and C(aspect), C(before) and C(after), C(needs), and C(why), a list of texts for people.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: module
      subject: nvidia_peermem
      aspect: ""
      before: not loaded
      after: loaded
      needs: driver_reload
      why: []
reboot_required:
  description: Whether a reboot is needed for that.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is pending, or why nothing is done.
  returned: success
  type: list
  elements: str
  sample: ["there is no NVIDIA GPU in this node, so nothing is done about GPUDirect RDMA"]
"""

import platform

from ..module_utils._gpudirect._converge import converge
from ..module_utils._host._answer import answer
from ..module_utils._schema._gpudirect import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, platform.release()), root=True)


if __name__ == "__main__":
    main()
