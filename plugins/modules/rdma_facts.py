#!/usr/bin/python
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: rdma_facts
short_description: Collect what a node is, in terms of RDMA
version_added: 1.0.0
description:
  - Collects the RDMA software, the kernels that have it, adapters, ports, network interfaces, users of RDMA, and the
    way by which the node is managed, and returns all of it as the fact C(rdma).
  - Reads C(/sys), C(/proc) and the package database, and starts a handful of short processes at most. No tool that
    needs the InfiniBand fabric is used, so it never waits for a subnet manager.
  - Works, with empty lists, on a node without adapter and without any RDMA software.
options:
  gather:
    description:
      - The parts to collect. The distribution (C(os)) is always collected, and C(adapters) come with V(hcas).
      - A later call replaces the whole fact C(rdma), so keep the default where other roles of the collection follow.
    type: list
    elements: str
    choices: [stack, kernels, modules, hcas, ports, netdevs, usage, ssh, machine, soft_links, gpu]
    default: [stack, kernels, modules, hcas, ports, netdevs, usage, ssh, machine, soft_links, gpu]
  keep_look:
    description:
      - Whether to keep, on the controller and for this run, what the planners of the collection's modules need to know of the node.
        The modules that follow are then planned on the controller, and run only on nodes where something is to be done.
      - Set it in a playbook in which no other tasks change the node between this one and the roles of the collection.
      - What is kept is in no variable of the host and in no log.
    type: bool
    default: false
  discover:
    description:
      - Whether to keep, in the same way, what the node has by declarations of the collection, whoever has set it up, for M(rdma.ofed.report) with
        C(kind=discovery). It has no effect with O(keep_look).
      - It queries the firmware of the adapters, which takes some seconds, and at most 100 where an adapter hangs.
      - Values of secret settings stay on the node.
    type: bool
    default: false
  reuse:
    description:
      - Whether facts that this run has already gathered will do. Those of earlier runs, from a fact cache, never do.
      - Nothing is then done on the node, and nothing is looked at again.
    type: bool
    default: false
  image:
    description:
      - Whether this is the tree of an image, and no running system. The facts are then those of the files. There is no running kernel, no module is
        loaded, and there are neither adapters nor interfaces. C(machine.kind) is V(chroot).
      - The variable C(rdma_image) of the host sets it.
    type: bool
    default: false
  require_root:
    description: Whether to refuse others than root, because what follows changes the node. It makes no difference where O(reuse) leaves nothing to do.
    type: bool
    default: false
  find_python:
    description:
      - Whether to find the Python that modules run with, as M(rdma.ofed.interpreter) does, and to return what is RV(wrong) with it instead of a failure.
      - The task M(rdma.ofed.validate_site) that follows reports it with what is wrong with the input.
      - A Python that is declared is looked at only where the module does not run.
      - It has no effect on delegated and asynchronous tasks.
    type: bool
    default: false
  keep_failure:
    description:
      - Whether to keep why a host does not answer, or why the module fails there, instead of failing.
      - The task M(rdma.ofed.validate_site) that follows leaves the host out. The task itself returns it in RV(left_out).
    type: bool
    default: false
  look:
    description:
      - Set by action plugins of the collection. The concerns to look at, each with what to look for.
      - The one of M(rdma.ofed.node_check) asks the live fabric.
    type: dict
    default: {}
extends_documentation_fragment:
  - rdma.ofed.attributes.info
attributes:
  facts:
    description: Returns C(ansible_facts), which are added to the facts of the host.
    support: full
notes:
  - Run it as root. Other users can't see which processes have an RDMA device open, nor the part number of an adapter.
  - GUIDs are texts of C(0x) and 16 lower case hexadecimal digits, P_Keys of C(0x) and four. Lists are sorted by name.
"""

EXAMPLES = r"""
- name: Collect everything
  rdma.ofed.rdma_facts:

- name: Collect everything, and let the roles that follow visit only the nodes where something is to be done
  rdma.ofed.rdma_facts:
    keep_look: true

- name: Collect everything, unless this run has done so
  rdma.ofed.rdma_facts:
    reuse: true

- name: Show the InfiniBand ports that are not active
  ansible.builtin.debug:
    msg: "{{ ansible_facts['rdma']['ports'] | selectattr('link_layer', 'eq', 'InfiniBand') | rejectattr('state', 'eq', 'ACTIVE') }}"

- name: Collect only what a driver reload would disturb
  rdma.ofed.rdma_facts:
    gather: [usage, ssh]

- name: Refuse to go on where RDMA is in use
  ansible.builtin.assert:
    that: not ansible_facts['rdma']['usage']['in_use']
    fail_msg: "In use by {{ ansible_facts['rdma']['usage']['users'] }}"
"""

RETURN = r"""
ansible_facts:
  description: The facts; only the requested parts are present.
  returned: always
  type: complex
  contains:
    rdma:
      description: What the node is, in terms of RDMA.
      type: dict
      contains:
        os:
          description: The distribution.
          type: dict
          sample: {family: Debian, id: debian, version: "12", name: "Debian GNU/Linux 12 (bookworm)"}
          contains:
            family:
              description: V(Debian), V(RedHat), V(Suse), V(Arch) or V(Unknown).
              type: str
            id:
              description: C(ID) of os-release.
              type: str
            version:
              description: C(VERSION_ID) of os-release.
              type: str
            name:
              description: C(PRETTY_NAME) of os-release.
              type: str
        run:
          description: The run that gathered the facts. With it, the collection recognises those that a fact cache has kept from an earlier run.
          type: str
          sample: ansible-local-4711kq3x0d2m
        machine:
          description: Where the system runs.
          returned: when V(machine) is in O(gather)
          type: dict
          sample: {kind: container, container: docker, hypervisor: "", systemd: true, hostname: node1}
          contains:
            kind:
              description: V(host), V(vm), V(container) or V(chroot).
              type: str
            container:
              description: The container manager, or empty.
              type: str
            hypervisor:
              description: The hypervisor below, or empty; V(unknown) where there is one that does not say its name.
              type: str
            systemd:
              description: Whether systemd runs the services.
              type: bool
            hostname:
              description: The host name that the kernel knows.
              type: str
        stack:
          description: The RDMA software.
          returned: when V(stack) is in O(gather)
          type: dict
          sample:
            kind: inbox
            version: "44.0"
            evidence: "package rdma-core 44.0-2"
            ofed_version: ""
            loaded: inbox
            ulps: [srp]
            complete: true
            protected: false
            appliance: {name: NVIDIA DGX Server, release: 5.2.0, marker: /etc/dgx-release}
            third_party: []
          contains:
            kind:
              description: V(inbox) (the distribution's own), V(mlnx_ofed), V(doca) or V(none).
              type: str
            version:
              description: Version of MLNX_OFED, of DOCA, or of the distribution's rdma-core.
              type: str
            evidence:
              description: How that is known.
              type: str
            ofed_version:
              description: Release of the OFED drivers in MLNX_OFED and DOCA, or empty.
              type: str
            loaded:
              description: Whose drivers are loaded, V(inbox) or V(ofed); empty for none.
              type: str
            ulps:
              description: The upper-layer protocols that M(rdma.ofed.ulps) has turned on.
              type: list
              elements: str
            complete:
              description:
                - Whether the installation of a vendor's stack was completed. MLNX_OFED that was installed by its installer reports C(OFED-internal) until then,
                  and has no metapackage of a repository.
              type: bool
            protected:
              description:
                - Whether the collection keeps the packages of a vendor's stack from being replaced by an update of the system, or did so for a stack
                  that has gone since.
              type: bool
            appliance:
              description:
                - The image that the stack belongs to, with its release, which may be empty, and the path by which it was recognised. It is DGX OS, or an HPC
                  image of Azure or of Oracle Cloud. Null on all other nodes, and where the collection has changed the stack.
              type: dict
              contains:
                name: {description: The name of the image., type: str}
                release: {description: 'Its release, where it tells.', type: str}
                marker: {description: The path., type: str}
            third_party:
              description:
                - The third-party modules on record that were built on a former stack and did not fit the present one when M(rdma.ofed.third_party_modules) last
                  looked at them.
              type: list
              elements: str
        kernels:
          description: The installed kernels.
          returned: when V(kernels) is in O(gather)
          type: dict
          contains:
            running:
              description: Release of the running kernel.
              type: str
              sample: 6.1.0-50-amd64
            next_boot:
              description: Release of the kernel that boots next, by the menu of GRUB or systemd-boot; empty if that can't be determined.
              type: str
              sample: 6.1.0-51-amd64
            next_boot_evidence:
              description: How that is known.
              type: str
              sample: "GRUB's entry 0 in /boot/grub/grub.cfg: Debian GNU/Linux"
            secure_boot:
              description: Whether UEFI Secure Boot is on. The kernel then loads only signed modules.
              type: bool
            dkms_order_due:
              description:
                - The files in C(/etc/dkms) and C(/etc/kernel) that M(rdma.ofed.third_party_modules) would write or remove, so that the stack is built before
                  third-party modules for a new kernel.
              type: list
              elements: str
              sample: []
            installed:
              description: The kernels below C(/lib/modules).
              type: list
              elements: dict
              contains:
                release:
                  description: Its release.
                  type: str
                running:
                  description: Whether it is the running one.
                  type: bool
                modules:
                  description: For each module that this collection cares for, whether the kernel has it.
                  type: dict
                  sample: {ib_core: true, ib_ipoib: true, mlx5_core: true}
                rdma:
                  description: Whether C(ib_core), C(ib_uverbs), C(ib_umad) and C(ib_ipoib) are all there.
                  type: bool
                stack:
                  description: Whose C(ib_core) it would load, V(inbox), V(ofed), or V(none).
                  type: str
                dkms:
                  description: Whether DKMS has built the vendor's driver for it, V(built) or V(missing). Empty where DKMS has none to build.
                  type: str
        modules:
          description: The loaded modules that belong to the RDMA stack or use it.
          returned: when V(modules) is in O(gather)
          type: list
          elements: dict
          contains:
            name:
              description: Its name.
              type: str
              sample: ib_core
            refcount:
              description: Number of its users, modules included.
              type: int
            used_by:
              description: The modules that use it.
              type: list
              elements: str
            srcversion_loaded:
              description: Identity of the loaded build; empty for a module that has none, as in some distributions' kernels.
              type: str
            srcversion_disk:
              description: Identity of what would be loaded now; empty if it can't be determined or was not looked up.
              type: str
            differs:
              description: Whether the two differ, so that a reload or reboot would change the driver.
              type: bool
        hcas:
          description: The RDMA devices. Their driver must be loaded.
          returned: when V(hcas) is in O(gather)
          type: list
          elements: dict
          contains:
            name:
              description: Its name.
              type: str
              sample: mlx5_0
            type:
              description: The kind of adapter, as its driver calls it.
              type: str
              sample: MT4119
            driver:
              description: The driver of its PCI function.
              type: str
              sample: mlx5_core
            pci:
              description: Its PCI function; empty for devices in software.
              type: str
              sample: "0000:03:00.0"
            functions:
              description: All PCI functions of the same card.
              type: list
              elements: str
              sample: ["0000:03:00.0", "0000:03:00.1"]
            virtual:
              description: Whether it is a virtual function (SR-IOV).
              type: bool
            psid:
              description: Board identity (PSID), which selects the firmware image.
              type: str
              sample: MT_0000000008
            firmware:
              description: Version of the running firmware.
              type: str
              sample: 16.35.2000
            part_number:
              description: Part number in the Vital Product Data, or empty.
              type: str
              sample: MCX556A-ECAT
            node_guid:
              description: Node GUID. It is not the GUID of a port.
              type: str
              sample: "0x0c42a10300000010"
            node_description:
              description: The name that the fabric sees.
              type: str
              sample: node1 mlx5_0
            numa_node:
              description: NUMA node, V(-1) where the platform has none, null for devices in software.
              type: int
            apart:
              description:
                - Why no default takes the device. V(nvswitch) is a management function of an NVSwitch, V(smi) a sub-device of an adapter with
                  several planes (XDR). Empty for an HCA.
              type: str
        adapters:
          description:
            - The PCI functions that can do RDMA, whether or not a driver makes RDMA devices of them.
            - A node whose C(adapters) and C(hcas) are both empty has no HCA; one with only C(adapters) lacks a driver.
          returned: when V(hcas) is in O(gather)
          type: list
          elements: dict
          contains:
            pci:
              description: The PCI function.
              type: str
              sample: "0000:03:00.0"
            vendor:
              description: PCI vendor.
              type: str
              sample: "0x15b3"
            device:
              description: PCI device.
              type: str
              sample: "0x1017"
            driver:
              description: The driver, or empty.
              type: str
              sample: mlx5_core
            rdma:
              description: The RDMA devices on it.
              type: list
              elements: str
              sample: [mlx5_0]
            infiniband:
              description: Whether its PCI class is that of an InfiniBand controller.
              type: bool
            virtual:
              description: Whether it is a virtual function.
              type: bool
        rails:
          description: The PCI functions of the rails for which the collection has written a rule for udev, by name. See C(rdma_rails).
          returned: when V(hcas) is in O(gather)
          type: dict
          sample: {rdma0: "0000:18:00.0"}
        ports:
          description: The ports of all RDMA devices.
          returned: when V(ports) is in O(gather)
          type: list
          elements: dict
          contains:
            name:
              description: Device and port in the notation of C(rdma link).
              type: str
              sample: mlx5_0/1
            device:
              description: The RDMA device.
              type: str
            port:
              description: Number of the port, from 1.
              type: int
            port_guid:
              description: Port GUID.
              type: str
              sample: "0x0c42a10300000011"
            gid:
              description: GID 0.
              type: str
            link_layer:
              description: V(InfiniBand) or V(Ethernet).
              type: str
            state:
              description: Logical state, V(ACTIVE), V(ARMED), V(INIT) or V(DOWN). Without a subnet manager it stays V(INIT).
              type: str
            phys_state:
              description: Physical state, such as V(LinkUp), V(Polling) or V(Disabled).
              type: str
            rate:
              description: Rate in the kernel's words.
              type: str
              sample: 100 Gb/sec (4X EDR)
            rate_gbps:
              description: Rate in Gbit/s.
              type: float
            width:
              description: Number of lanes.
              type: str
              sample: 4X
            speed:
              description: Speed of a lane; empty where the kernel leaves the word out, for SDR.
              type: str
              sample: EDR
            lid:
              description: LID, V(0) where none is assigned.
              type: int
            sm_lid:
              description: LID of the subnet manager.
              type: int
            pkeys:
              description: The P_Keys that the subnet manager gave to the port.
              type: list
              elements: str
              sample: ["0xffff"]
            netdevs:
              description: The network interfaces of the port, P_Key children included.
              type: list
              elements: str
              sample: [ib0]
            connected_capable:
              description:
                - Whether IPoIB on this port can do connected mode. Without an interface the driver decides.
                - Null if it can't be determined before C(ib_ipoib) is loaded.
              type: bool
            connected_reason:
              description: How that is known.
              type: str
            pci:
              description: PCI function of the device; empty for devices in software.
              type: str
              sample: "0000:03:00.0"
            apart:
              description: Why no default takes the port, as of its device. Empty for a port of an HCA.
              type: str
            rails:
              description: The names that the port has from C(rdma_rails), such as V(rdma0/1) and V(rdma0).
              returned: where the adapter of the port is a rail
              type: list
              elements: str
        netdevs:
          description:
            - The IPoIB interfaces, other hardware interfaces, and bonds, VLANs and bridges of these.
            - Purely virtual interfaces, such as those of containers, are left out.
          returned: when V(netdevs) is in O(gather)
          type: list
          elements: dict
          contains:
            name:
              description: Its name.
              type: str
              sample: ib0
            kind:
              description: V(ipoib), V(ipoib_child), V(bond), V(vlan), V(bridge), V(team), V(ethernet) or V(other).
              type: str
            port:
              description: The RDMA port below it, or empty.
              type: str
              sample: mlx5_0/1
            port_guid:
              description: GUID of that port.
              type: str
            parent:
              description: The interface below a P_Key child or VLAN.
              type: str
            pkey:
              description: P_Key of an IPoIB interface.
              type: str
              sample: "0xffff"
            mode:
              description: V(datagram) or V(connected); empty if it is not an IPoIB interface.
              type: str
            mtu:
              description: MTU.
              type: int
            up:
              description: Whether it is switched on.
              type: bool
            carrier:
              description: Whether it has a carrier.
              type: bool
            addresses:
              description: Configured addresses, without IPv6 link-local ones.
              type: list
              elements: str
              sample: ["10.1.0.1/24"]
            dynamic_addresses:
              description: Addresses with a limited lifetime, from DHCP or router advertisements.
              type: list
              elements: str
            master:
              description: The bond or bridge that it is a member of.
              type: str
            members:
              description: The members of a bond or bridge.
              type: list
              elements: str
            hwaddr:
              description: Hardware address. Of the 20 bytes of InfiniBand only the last 8 are permanent.
              type: str
            driver:
              description: Driver of the device, or empty.
              type: str
            connected_capable:
              description: Whether it can do connected mode.
              type: bool
            connected_reason:
              description: How that is known.
              type: str
        soft_links:
          description: The software RDMA links that this collection made and keeps. RV(ansible_facts.rdma.ports) tells whether they are there.
          returned: when V(soft_links) is in O(gather)
          type: list
          elements: dict
          contains:
            name:
              description: The RDMA device.
              type: str
            type:
              description: V(rxe) or V(siw).
              type: str
            netdev:
              description: The network interface.
              type: str
          sample: [{name: rxe0, type: rxe, netdev: eth0}]
        gpu:
          description:
            - NVIDIA's GPUs, their driver, and what stands between it and the RDMA adapters.
            - All but C(managed) is empty on a node without such a GPU.
          returned: when V(gpu) is in O(gather)
          type: dict
          contains:
            devices:
              description: The GPUs, whatever driver they have.
              type: list
              elements: dict
              sample: [{pci: "0000:18:00.0", device_id: "0x2330", driver: nvidia, numa_node: 0}]
            driver:
              description:
                - NVIDIA's kernel driver with C(version), C(flavour) (V(open), V(proprietary)) and whether it is C(loaded).
                - C(dkms) is what DKMS builds it from, empty where it came otherwise, and C(cuda) the toolkit in C(/usr/local/cuda).
                - C(unbuilt) means that DKMS has not installed the loaded one for the running kernel, so it will be missing after the next boot.
              type: dict
              sample: {version: 535.104.05, flavour: open, loaded: true, dkms: nvidia/535.104.05, cuda: 12.2.0, unbuilt: false}
            peers:
              description:
                - The modules C(nvidia_peermem) and C(nv_peer_mem) with their C(file), what modprobe calls it, empty where the running
                  kernel has none; whether they are C(linked) with the RDMA stack on disk, without which they can't be loaded,
                  or of an C(other_build) of it; whether they are C(loaded); their C(users), and the parameter C(peerdirect_support) of the loaded one.
              type: list
              elements: dict
              sample: [{name: nvidia_peermem, file: nvidia_peermem, linked: true, other_build: false, loaded: true, users: 0, peerdirect_support: "0"}]
            peer_memory:
              description:
                - The modules that offer peer memory, C(installed) for the running kernel and C(loaded). Empty for none, as in the stacks
                  of most distributions. C(core) is whether C(ib_core) is loaded at all.
              type: dict
              sample: {installed: ib_core, loaded: ib_core, core: true}
            clients:
              description: What has registered with the stack, on releases that show it.
              type: list
              elements: str
              sample: [nv_mem]
            topology:
              description:
                - How each GPU reaches each RDMA device, in the words of C(nvidia-smi topo -m), V(PIX), V(PXB), V(PHB), V(NODE) or V(SYS).
                - C(acs) names the bridges between whose access control sends the traffic up to the root complex.
              type: list
              elements: dict
              sample: [{gpu: "0000:18:00.0", hca: mlx5_0, path: PIX, acs: []}]
            managed:
              description: The files of the role C(gpudirect) that exist.
              type: list
              elements: str
              sample: [/etc/systemd/system/rdma-ofed-gpudirect.service]
            masked:
              description: Of the units that load peer memory at boot, those that an administrator has masked.
              type: list
              elements: str
              sample: [nv_peer_mem.service]
        usage:
          description: Who would suffer if the RDMA drivers were unloaded now.
          returned: when V(usage) is in O(gather)
          type: dict
          contains:
            in_use:
              description: Whether there is any user. A port that is merely up is none.
              type: bool
            users:
              description: All users.
              type: list
              elements: dict
              contains:
                kind:
                  description:
                    - V(mount) for network file systems, V(root) for the root file system and swap, V(ulp) for storage sessions and
                      other upper layers, V(module) for modules outside of the stack, V(process) for processes with an
                      RDMA device open, V(sm) for subnet managers, V(connection) for programs and parts of the kernel with connections over
                      an interface of an RDMA adapter, V(link) for bridges, Open vSwitch, macvlan and others on top of such an interface,
                      V(namespace) for containers that have one, V(vf) for virtual functions.
                  type: str
                name:
                  description: The mount point, session, module, program or interface.
                  type: str
                detail:
                  description: In what way, in words.
                  type: str
                via:
                  description: Network interfaces and files of C(/dev/infiniband) that it is known to use; empty if that can't be determined.
                  type: list
                  elements: str
        ssh:
          description: The way back to the controller; all empty where the node is not managed over SSH.
          returned: when V(ssh) is in O(gather)
          type: dict
          sample: {client: 10.1.0.254, device: bond0, port: mlx5_0/1, ports: [mlx5_0/1, mlx5_1/1], over_rdma: true}
          contains:
            client:
              description: Address of the client.
              type: str
            device:
              description: The interface that answers leave through.
              type: str
            port:
              description: The RDMA port below it, the first of several.
              type: str
            ports:
              description: All RDMA ports below it.
              type: list
              elements: str
            over_rdma:
              description: Whether it stands on an RDMA adapter, be it as InfiniBand or as Ethernet.
              type: bool
wrong:
  description: Why the modules can't run as the host is declared, and what to do.
  returned: with O(find_python), where they can't
  type: list
  elements: str
left_out:
  description: Why nothing is known of the host.
  returned: with O(keep_failure), where that is so
  type: str
"""

import os
import typing as t

from ..module_utils._facts._gather import gather
from ..module_utils._host._answer import answer_on_node, require_root
from ..module_utils._schema._rdma_facts import OPTIONS
from ..module_utils._site._looks import look_at

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..module_utils._host._node import Node


def main() -> None:
    answer_on_node(OPTIONS, _result)


def _result(module: AnsibleModule, node: Node) -> dict[str, t.Any]:
    if module.params["require_root"]:
        require_root()
    rdma, warnings = gather(node.run, module.params["gather"], node.environ, root=node.root, running="" if node.image else node.release)
    for warning in warnings:
        module.warn(warning)
    result: dict[str, t.Any] = {"ansible_facts": {"rdma": rdma}}
    # Users other than root don't see everything that a plan depends on, and later tasks may run as root.
    if module.params["look"] and os.geteuid() == 0:
        result["look"] = look_at(node, module.params["look"])
    return result


if __name__ == "__main__":
    main()
