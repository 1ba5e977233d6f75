#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: ulps
short_description: Turn upper-layer protocols of RDMA on and off, now and at boot
version_added: 1.0.0
description:
  - Loads the kernel modules of the declared protocols, now and at boot, and enables and starts their services.
  - Protocols that the module turned on and that are no longer declared are turned off. Their services are stopped and disabled,
    and their modules are not loaded at the next boot. Loaded modules stay loaded, because file systems may depend on them.
  - Nothing else is changed. Protocols that were turned on by other means stay on.
  - The role C(ofed) and M(rdma.ofed.driver_stack) install the packages.
extends_documentation_fragment:
  - rdma.ofed.attributes.state
options:
  protocols:
    description:
      - The protocols to turn on, client side. A protocol that the module has turned on and that is no longer listed is turned
        off.
      - V(ibacm) keeps a cache of addresses and paths. C(ibacm.socket) is started, and C(ibacm.service) where there is an RDMA device.
      - V(srp) logs in to SRP targets, with C(ib_srp) and C(srp_daemon.service). With MLNX_OFED and DOCA-OFED C(SRP_LOAD) of
        C(openib.conf) is set, too.
      - V(iser) is iSCSI over RDMA, with C(ib_iser) and C(iscsid.socket).
      - V(nfsrdma) mounts NFS over RDMA, with C(rpcrdma).
      - V(nvmf) is NVMe over RDMA, with C(nvme_rdma). C(nvmf-autoconnect.service) is enabled, and first started at boot.
      - V(rds) is Reliable Datagram Sockets over RDMA, with C(rds_rdma). Only the kernel of the distribution may have it.
    type: list
    elements: str
    default: []
  source:
    description: The origin of the installed stack.
    type: str
    choices: [inbox, mlnx_ofed, doca]
    default: inbox
  openib_conf:
    description: The keys of C(/etc/infiniband/openib.conf) that are declared elsewhere. They are not reset when a protocol is turned off.
    type: dict
    default: {}
  renewed:
    description:
      - Whether the stack or its driver has just been replaced, or in check mode would have been. All protocols are then turned
        on again, because the new packages may have reset anything.
    type: bool
    default: false
  start:
    description: Whether to load modules and start services now. With V(false), for a loaded driver that is not the installed one, the next boot does so.
    type: bool
    default: true
  image:
    description:
      - Whether the host is the tree of an image, reached through a chroot or a container, in place of a running system.
        Packages and files are put into it, and units are enabled in it. Nothing is started, nothing of the system that
        builds the image is looked at or changed, and the kernels are those that are installed in the image.
      - What needs a running system is left out, and named at the end of the run. See C(docs/images.md).
    type: bool
    default: false
notes:
  - The modules are listed in C(/etc/modules-load.d/rdma-ofed-ulps.conf), which belongs to the collection whole. Lists of others are not changed.
  - What was turned on is kept in C(/var/lib/rdma.ofed/ulps.json).
  - A service that other transports use as well, such as C(iscsid.socket), is turned off only if the module has enabled it.
seealso:
  - module: rdma.ofed.driver_stack
  - module: rdma.ofed.kernel_modules
"""

EXAMPLES = r"""
- name: Use SRP targets, and a cache of paths
  rdma.ofed.ulps:
    protocols: [ibacm, srp]

- name: Mount NFS over RDMA with MLNX_OFED
  rdma.ofed.ulps:
    protocols: [nfsrdma]
    source: mlnx_ofed

- name: Turn off what was turned on
  rdma.ofed.ulps:
    protocols: []
"""

RETURN = r"""
changes:
  description: What was changed, or would be, in words and in order.
  returned: success
  type: list
  elements: str
  sample: ["create file /etc/modules-load.d/rdma-ofed-ulps.conf", "upper-layer protocol srp: off -> on"]
pending:
  description:
    - With O(start=false), the modules that are loaded only with the installed driver. Each entry has C(kind), C(subject), C(aspect), C(before),
      C(after), C(needs) and C(why).
  returned: success
  type: list
  elements: dict
  sample:
    - {kind: module, subject: ib_srp, aspect: "", before: not loaded, after: loaded, needs: driver_reload, why: []}
reboot_required:
  description: Whether a reboot is needed. It never is.
  returned: success
  type: bool
  sample: false
reasons:
  description: Why something is not as declared although nothing failed. Always empty.
  returned: success
  type: list
  elements: str
  sample: []
protocols:
  description: The declared protocols as they are now.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Its name.
      type: str
      sample: srp
    modules:
      description: Its kernel modules, and whether they are loaded.
      type: dict
      sample: {ib_srp: true}
    services:
      description: Its units, and whether they are active.
      type: dict
      sample: {srp_daemon.service: true}
problems:
  description: Everything that is wrong with the input or with the node, one entry each.
  returned: failure because of wrong input
  type: list
  elements: str
  sample: ["ofed_ulps[0] is 'sdp'; allowed: ibacm, srp, iser, nfsrdma, nvmf, rds"]
"""

from ..module_utils._host._answer import answer_on_node
from ..module_utils._protocols._converge import converge
from ..module_utils._schema._ulps import OPTIONS


def main() -> None:
    answer_on_node(OPTIONS, lambda module, node: converge(module, node.run, node.release, root=node.root), root=True)


if __name__ == "__main__":
    main()
