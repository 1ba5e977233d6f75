#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kernel_modules
short_description: Load RDMA kernel modules, now and at boot, with their options
version_added: 1.0.0
description:
  - Loads the declared kernel modules that are not loaded yet, all with one C(modprobe).
  - Makes them come back at boot through the mechanism of the platform. What is listed already, or is loaded by udev
    or built into the kernel, is left as it is. What is missing is added as a block to C(/etc/rdma/modules/rdma.conf)
    where rdma-core loads its lists, and is put into C(/etc/modules-load.d/rdma-ofed.conf) elsewhere.
  - Keeps the options of modules in C(/etc/modprobe.d/rdma-ofed.conf), which belongs to the collection whole.
  - Rebuilds those initramfs images that contain a module with changed options, and no others. Where dracut builds them, C(/etc/dracut.conf.d/rdma-ofed.conf)
    makes it include the options.
  - Unknown modules and parameters, options of built-in modules, and modules that C(modprobe.d) switches off are found
    before anything is changed.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  load:
    description: The modules to load, by name or alias, such as V(svcrdma).
    type: list
    elements: str
    default: []
  options:
    description:
      - Options of modules, as a mapping of module names to a mapping of parameters to numbers, strings or booleans.
      - The mapping is complete. An option that is no longer listed is removed from the node.
      - A loaded module keeps its options. Differences are returned in RV(pending).
    type: dict
    default: {}
  state:
    description:
      - V(absent) removes the files and blocks of the collection, regardless of O(load) and O(options).
      - Loaded modules are never unloaded, because file systems, jobs and the connection to the node may depend on them.
    type: str
    choices: [present, absent]
    default: present
  mechanism:
    description:
      - What loads the modules at boot.
      - V(auto) chooses V(rdma-core) where its service is installed, else V(modules-load.d).
    type: str
    choices: [auto, rdma-core, modules-load.d]
    default: auto
  initramfs:
    description: Whether images that contain a module with changed options are rebuilt (V(auto)) or only reported (V(never)).
    type: str
    choices: [auto, never]
    default: auto
  initramfs_drivers:
    description:
      - The modules that every initramfs contains and loads early, for nodes whose root file system is reached over
        InfiniBand. All images are rebuilt when the list changes.
      - dracut is configured in C(/etc/dracut.conf.d/rdma-ofed.conf), and includes its network module with V(ib_ipoib).
        initramfs-tools gets the hook C(/etc/initramfs-tools/hooks/rdma-ofed).
      - The kernel command line of the boot loader is not changed. See O(initramfs_cmdline).
    type: list
    elements: str
    default: []
  initramfs_cmdline:
    description:
      - Arguments of the kernel command line to put into every initramfs, such as V(rd.neednet=1), V(ip=ib0.8001:dhcp) and
        V(ib.pkey=ib0.8001). They count in the initramfs as if the boot loader had given them.
      - It needs dracut, which is configured in C(/etc/dracut.conf.d/rdma-ofed.conf), and is refused where initramfs-tools
        builds the images.
      - All images are rebuilt when the list changes.
    type: list
    elements: str
    default: []
  memlock:
    description:
      - The limit of locked memory of sessions (PAM) and services (systemd), V(unlimited) or a number of KiB. V(keep) leaves the limits of
        the node alone.
      - It is written to C(/etc/security/limits.d/rdma-ofed.conf) and C(/etc/systemd/system.conf.d/rdma-ofed.conf), and systemd reads its
        configuration again. Where the package of C(slurmd), C(pbs_mom), C(containerd), C(docker) or C(sshd) sets less in its unit, a drop-in of the
        unit raises it. Services that run get it when they are restarted. See O(allow_interruption).
      - A lower limit that others have set for all users stays, with a warning, unless O(adopt=true).
    type: str
    default: unlimited
  nofile:
    description:
      - The limit of open files of sessions (PAM) and services (systemd), a number up to 1048576. V(keep) leaves the limits of the node alone.
      - It is written to the same files as O(memlock), as the soft limit. The hard limit is at least 524288, and no hard limit of others for all users is
        lowered. More than C(fs.nr_open) of the node is refused, because no session could start.
    type: str
    default: keep
    version_added: 2.0.0
  load_now:
    description:
      - Whether to load modules into the running kernel. Set it to V(false) to build an image or to prepare a chroot.
      - The names are then looked up in all installed kernels instead of the running one.
    type: bool
    default: true
  assume_rdma_core:
    description:
      - Whether check mode plans as if rdma-core were installed, with its lists. It has no effect outside check mode.
      - The role C(kernel_modules) sets it where the role C(ofed) would have installed the package.
    type: bool
    default: false
  adopt:
    description:
      - Whether declared settings are taken out of existing files that this collection does not manage. Without it, such files
        stay, and lines that contradict the declaration are named in warnings.
      - From files in C(/etc/modprobe.d), lines C(options) lose the parameters in O(options), whatever their values are. Lists in
        C(/etc/modules-load.d) lose the modules in O(load). Limits for all users below O(memlock) and O(nofile) are taken out of files of PAM
        and systemd, and out of units of daemons that start jobs, sessions or containers. With O(device_names), the rule for all devices in
        C(/etc/udev/rules.d/60-rdma-persistent-naming.rules) is replaced.
      - Everything else in a file stays byte for byte, and a file in which nothing is left is removed. A copy is kept below
        C(/var/backups/rdma-ofed), with the path of the file.
      - Files outside C(/etc), links that lead out of it, files that a package would restore, and lines that are not certain stay.
        Warnings name them with the reason.
      - An initramfs that contains such a module is rebuilt where the options that count change, or where it lacks the files
        that had them.
    type: bool
    default: false
  allow_interruption:
    description:
      - Whether daemons that run with a lower limit than O(memlock) or O(nofile), and pass it on to the jobs, sessions or containers that
        they start, are restarted. C(slurmd), C(containerd), C(dockerd), and an C(sshd) without PAM are.
      - A daemon is restarted only where what it has started goes on. Its unit must have C(KillMode=process), and nothing may be restarted with
        it. C(dockerd) must have live restore, and C(sshd -t) must find nothing wrong. C(pbs_mom) and the service managers of users are never
        restarted.
    type: bool
    default: false
  restore:
    description:
      - With O(state=absent), whether the original files from which settings were taken over are restored. A file that has
        changed since stays, and a warning names it.
    type: bool
    default: false
  backup:
    description: Whether to keep a copy of C(/etc/rdma/modules/rdma.conf) before it is edited.
    type: bool
    default: false
  device_names:
    description:
      - How udev names the RDMA devices of adapters. V(kernel) keeps the names of the drivers, such as V(mlx5_0).
        V(persistent) names them by their place, such as V(ibp3s0), as rdma-core does. V(unmanaged) leaves that to the
        installed stack.
      - It is a rule in C(/etc/udev/rules.d/60-rdma-persistent-naming.rules), which replaces that of rdma-core. The
        names are others from the next boot on, and pending until then. A file of others with another rule is refused,
        unless O(adopt=true).
    type: str
    choices: [unmanaged, kernel, persistent]
    default: unmanaged
  rails:
    description:
      - >-
        The names of RDMA devices by their adapters, as in C(rdma_rails). A mapping of names to C(pci), a PCI address, or C(port_guid), such as
        C({rdma0: {pci: "0000:18:00.0"}}). V(pci_order) needs the facts of M(rdma.ofed.rdma_facts).
      - udev renames these devices at the next boot, and the names are pending until then. The rules are in the file of O(device_names), which
        determines the names of all other devices. With V(unmanaged), these get the names that the rule of the stack gives them.
      - It takes C(rdma_rename) of rdma-core 34 or later.
    type: raw
    default: {}
  image:
    description:
      - Whether the host is the tree of an image, reached through a chroot or a container, in place of a running system.
        Packages and files are put into it, and units are enabled in it. Nothing is started, nothing of the system that
        builds the image is looked at or changed, and the kernels are those that are installed in the image.
      - What needs a running system is left out, and named at the end of the run. See C(docs/images.md).
    type: bool
    default: false
notes:
  - In a container the host's kernel owns the modules. The module tries, and fails with the way out where the kernel refuses.
  - On a node with an HCA and udev, the installation of rdma-core loads modules by itself. The module waits for that,
    so they are no change of its own, and O(assume_rdma_core) counts with it.
"""

EXAMPLES = r"""
- name: Load what InfiniBand needs
  rdma.ofed.kernel_modules:
    load: [ib_umad, ib_uverbs, rdma_ucm, ib_ipoib]

- name: Longer IPoIB queues
  rdma.ofed.kernel_modules:
    load: [ib_ipoib]
    options:
      ib_ipoib:
        send_queue_size: 512
        recv_queue_size: 512

- name: Boot over IPoIB on ConnectX-4 and later
  rdma.ofed.kernel_modules:
    load: [ib_umad, ib_ipoib]
    initramfs_drivers: [mlx5_ib, ib_ipoib]
    initramfs_cmdline: [rd.neednet=1, "ip=ib0:dhcp"]

- name: Take the options of a module out of the files of the site
  rdma.ofed.kernel_modules:
    load: [ib_ipoib]
    options:
      ib_ipoib: {send_queue_size: 512}
    adopt: true

- name: Prepare an image, without touching the kernel that builds it
  rdma.ofed.kernel_modules:
    load: [ib_umad, ib_ipoib]
    load_now: false

- name: Take everything of the collection away; what is loaded stays loaded until the next boot
  rdma.ofed.kernel_modules:
    state: absent
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["create file /etc/modprobe.d/rdma-ofed.conf", "module ib_ipoib: not loaded -> loaded"]
pending:
  description:
    - Options that are written and that loaded modules don't run with yet, and what makes them effective.
    - Each entry has the keys C(kind), C(subject) and C(aspect), C(before) and C(after), C(needs), and C(why), a list of texts for people.
  returned: success
  type: list
  elements: dict
  sample:
    - kind: parameter
      subject: ib_ipoib
      aspect: send_queue_size
      before: "128"
      after: "512"
      needs: driver_reload
      why: []
reboot_required:
  description: Whether something in RV(pending) belongs to a module that the kernel can't unload.
  returned: success
  type: bool
reasons:
  description: What an administrator should know of or do later.
  returned: success
  type: list
  elements: str
modules:
  description: The declared modules as they are now.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The declared name.
      type: str
    module:
      description: The kernel's name of the module.
      type: str
    loaded:
      description: Whether it is loaded or built in.
      type: bool
    persisted_by:
      description: What loads it at boot, empty for nothing. A file with line, V(udev), V(kernel) or V(rdma.ofed).
      type: str
  sample: [{name: ib_ipoib, module: ib_ipoib, loaded: true, persisted_by: "/etc/rdma/modules/infiniband.conf line 3"}]
backup_files:
  description: Copies that were made of edited files.
  returned: changed and not in check mode
  type: list
  elements: str
"""

from ..module_utils._host._answer import answer_on_node
from ..module_utils._kmod._converge import converge
from ..module_utils._schema._kernel_modules import OPTIONS


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, node.release, root=node.root), root=True)


if __name__ == "__main__":
    main()
