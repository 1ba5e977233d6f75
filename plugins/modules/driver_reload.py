#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: driver_reload
short_description: Load the installed RDMA driver in place of the loaded one, with consent and unless it is in use
version_added: 1.0.0
description:
  - Compares the loaded modules of the RDMA stack with those on disk. Where they are the same build, it does nothing.
  - Where they differ, it unloads the loaded ones and loads the installed ones, with C(openibd) of MLNX_OFED and DOCA-OFED
    where that is installed, else with C(modprobe). It loads again what was loaded before, C(nvidia_peermem) included, and
    names what could not be loaded.
  - It first finds the users of RDMA, which are file systems, storage sessions, processes with an RDMA device open, other modules, virtual functions, a subnet
    manager, and the connection that manages the node over such an adapter. Ethernet ports of the same driver are unloaded with it, so connections (TCP,
    connected UDP, SCTP) over any interface of such an adapter are users too, in containers as well, and so are UDP sockets that are bound to an address of one,
    bridges, Open vSwitch, macvlan and interfaces of containers on top of one. DHCP clients and NTP follow the interfaces and do not count as users. While there
    is any user, the driver stays loaded, and the module returns what is pending, with a way out for each user.
  - A loaded module of the kernel that is built for the kernel's own RDMA core, and is not part of the vendor's stack that is installed, can't be loaded again
    with it, such as C(irdma) or C(rpcrdma). It counts as a user, of the kind V(unfit), and is named before anything is unloaded. With O(policy=force) the
    reload goes on without it.
  - A driver that a container loaded, such as the one of NVIDIA's network operator, is recognised by its folder C(/run/mellanox/drivers), and left alone.
    Nothing is pending then.
  - Where the installed driver is for the kernel that boots next only, a reboot is required.
  - Where the kernel loads modules with a trusted signature only, as with UEFI secure boot, it fails before anything is unloaded if the installed
    driver is not signed, or with a key that is not enrolled. A reboot would not load such a driver either.
  - The service C(ibacm) and its socket, which holds the driver from the first boot on, pause meanwhile, and do not count as users.
  - If unloading fails half-way, the modules that were unloaded are loaded again. If the kernel refuses a part of the new driver, the former one is
    loaded again, where all of its files are still on the node, and the module fails.
  - It never reboots.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  policy:
    description:
      - V(if_idle) loads the installed driver if the loaded one is idle, with O(allow_reload).
      - V(force) always loads it, with O(allow_reload), and disconnects the users. It fails where the root file system, C(/usr) or swap depends on the adapter,
        where C(openib.conf) has C(ALLOW_STOP=no), and where the connection runs over the adapter without O(cut_ssh_connection). A module that the kernel does
        not release, for example because a process has a device open, stays loaded.
      - V(reboot) unloads nothing, and reports that a reboot is required.
      - V(never) unloads nothing, and reports the new driver as pending.
    type: str
    choices: [never, if_idle, reboot, force]
    default: if_idle
  because:
    description: Reasons to reload the driver even if it is the installed one, such as a changed option of a module.
    type: list
    elements: str
    default: []
  cut_ssh_connection:
    description:
      - With O(policy=force), whether to unload the driver that carries the connection of the run. The reload continues on the
        node. Whether the connection comes back depends on the network configuration of the node.
    type: bool
    default: false
  allow_reload:
    description:
      - Consent to unloading the loaded driver. Without it, the module unloads nothing, whatever O(policy) is, and reports the new driver as pending.
    type: bool
    default: false
  allow_container:
    description: Whether to work from a container or chroot. The driver is shared by everything that runs on the same kernel.
    type: bool
    default: false
  timeout:
    description: The time limit for unloading and loading, in seconds.
    type: int
    default: 300
  assume_changed:
    description: Whether check mode plans as if another driver were installed. For a task after one that would install it.
    type: bool
    default: false
notes:
  - A program whose UDP socket is neither connected nor bound to an address, and a network namespace that no process is in, are not seen.
  - It must run as root.
  - Addresses, bonds, P_Key children and software links are gone with the driver, unless the node makes them again by itself.
  - An attempt that failed is not repeated with V(if_idle) before the next boot or the next change of the driver.
  - Which build a module is, its C(srcversion) tells. Kernels of some distributions leave it out, so two of their builds can't be
    told apart.
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Load the installed driver if the loaded one is not in use
  rdma.ofed.driver_reload:
    allow_reload: true
  register: reload

- name: Show what stands in the way
  ansible.builtin.debug:
    msg: "{{ reload.reasons }}"
  when: reload.pending | length > 0

- name: Reload the driver on a drained node
  rdma.ofed.driver_reload:
    policy: force
    allow_reload: true
    because: [options of mlx5_core were changed]
"""

RETURN = r"""
changes:
  description: The changes made, or in check mode to be made, in words.
  returned: success
  type: list
  elements: str
  sample: ["driver: as loaded -> as installed"]
pending:
  description:
    - The driver, while the installed one is not loaded. The entry has C(kind), C(subject), C(aspect), C(before), C(after), C(needs), which is
      V(driver_reload) or V(reboot), and C(why), which names every user and the way out.
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: driver, subject: "", aspect: "", before: as loaded, after: as installed, needs: driver_reload,
       why: ["mount /scratch (nfs4 over RDMA from 10.20.0.9:/scratch): unmount it"]}
waits:
  description: Whether a reload is due and was not done. In a container, nothing is pending then, because the driver belongs to the host.
  returned: success
  type: bool
  sample: true
reboot_required:
  description: Whether only a reboot loads the installed driver.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why it is pending, with every user and the way out; or what went away with the driver.
  returned: success
  type: list
  elements: str
  sample: ["mount /scratch (nfs4 over RDMA from 10.20.0.9:/scratch): unmount it"]
users:
  description: Who uses the driver.
  returned: success
  type: list
  elements: dict
  contains:
    kind:
      description: V(mount), V(process), V(ulp), V(module), V(sm), V(root), V(connection), V(link), V(namespace), V(vf), V(ssh) or V(unfit).
      type: str
    name:
      description: Its name.
      type: str
    detail:
      description: How it uses the driver.
      type: str
    way_out:
      description: What ends that.
      type: str
modules:
  description: The loaded modules of the stack, after this task.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
    loaded:
      description: The C(srcversion) of the loaded build.
      type: str
    installed:
      description: The C(srcversion) on disk, for those that are compared.
      type: str
    differs:
      description: Whether another build is loaded.
      type: bool
job:
  description: The job that did the work, as RV(rdma.ofed.driver_stack#module:job).
  returned: when the driver was unloaded, or that was tried
  type: dict
"""

import os
import platform

from ..module_utils._host._answer import answer
from ..module_utils._reload._converge import converge
from ..module_utils._schema._driver_reload import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: converge(module, run, release=platform.release(), environ=os.environ, pid=os.getpid()), root=True)


if __name__ == "__main__":
    main()
