#!/usr/bin/python

# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_check
short_description: Compares an InfiniBand node with its declared state
version_added: 2.0.0
description:
  - Reports everything about ports, subnet manager, IPoIB interfaces, kernel modules, firmware and GPU memory that is not as declared.
  - Interfaces, kernel modules and GPU memory are as declared where the modules M(rdma.ofed.ipoib), M(rdma.ofed.kernel_modules) and
    M(rdma.ofed.gpudirect) would change nothing. So the options of these that were applied have to be given here, too.
  - Changes nothing. It queries the subnet manager with C(sminfo), and reads the rest from the node itself.
  - The module M(rdma.ofed.rdma_facts) looks first. Where that finds the node as declared, this one is not run on it.
extends_documentation_fragment:
  - rdma.ofed.attributes.info
  - rdma.ofed.adapters.checked
attributes:
  check_mode:
    details: In check mode it looks once and does not wait.
options:
  from_variables:
    description:
      - Names of variables of the host by option. An option has the value of its variable where that is set and the task does not give the option itself.
    type: dict
    default: {}
  ports:
    description:
      - The ports that must be C(ACTIVE) and C(LinkUp), by PCI address and number, such as V(0000:03:00.0/1), by port GUID, or by device and
        number, such as V(mlx5_0/1).
      - With an empty list, all InfiniBand ports of physical functions, and those under O(interfaces). On a node that has virtual functions alone, and no
        such interfaces, the ports of these.
    type: list
    elements: str
    default: []
  interfaces:
    description:
      - All declared IPoIB interfaces, as in O(rdma.ofed.ipoib#module:interfaces). With an empty list, interfaces are not checked.
    type: list
    elements: dict
    default: []
  ipoib_backend:
    description: See O(rdma.ofed.ipoib#module:backend).
    type: str
    choices: [auto, systemd-networkd, ifupdown, netplan, networkmanager, ifcfg, wicked]
    default: auto
  ipoib_network_state:
    description: See O(rdma.ofed.ipoib_network#module:state).
    type: str
    choices: [present, absent]
    default: present
  ipoib_network_arp:
    description: See O(rdma.ofed.ipoib_network#module:arp).
    type: str
    choices: [auto, keep]
    default: auto
  ipoib_network_neighbours:
    description: See O(rdma.ofed.ipoib_network#module:neighbours).
    type: str
    default: auto
  modules:
    description: All declared kernel modules, as in O(rdma.ofed.kernel_modules#module:load). With an empty list, modules are not checked.
    type: list
    elements: str
    default: []
  kernel_modules_options:
    description: See O(rdma.ofed.kernel_modules#module:options).
    type: dict
    default: {}
  kernel_modules_mechanism:
    description: See O(rdma.ofed.kernel_modules#module:mechanism).
    type: str
    choices: [auto, rdma-core, modules-load.d]
    default: auto
  kernel_modules_load_now:
    description: See O(rdma.ofed.kernel_modules#module:load_now).
    type: bool
    default: true
  kernel_modules_initramfs_drivers:
    description: See O(rdma.ofed.kernel_modules#module:initramfs_drivers).
    type: list
    elements: str
    default: []
  kernel_modules_memlock:
    description:
      - See O(rdma.ofed.kernel_modules#module:memlock). With O(modules), a session and a service of their own are started, and their limits
        compared.
    type: str
    default: unlimited
  kernel_modules_nofile:
    description: See O(rdma.ofed.kernel_modules#module:nofile). Compared like O(kernel_modules_memlock).
    type: str
    default: keep
  kernel_modules_initramfs_cmdline:
    description: See O(rdma.ofed.kernel_modules#module:initramfs_cmdline).
    type: list
    elements: str
    default: []
  device_names:
    description:
      - How the RDMA devices of adapters must be named, as in O(rdma.ofed.kernel_modules#module:device_names). V(unmanaged) does not check.
    type: str
    choices: [unmanaged, kernel, persistent]
    default: unmanaged
  rails:
    description:
      - The rails whose RDMA devices must be there with their names, as in O(rdma.ofed.kernel_modules#module:rails). With an empty mapping, names are
        not checked.
    type: raw
    default: {}
  ofed_source:
    description:
      - The source of the RDMA stack, as in O(rdma.ofed.driver_stack#module:source), or V(inbox) for that of the distribution. V(none) does
        not check.
    type: str
    choices: [none, inbox, mlnx_ofed, doca]
    default: none
  ofed_version:
    description: See O(rdma.ofed.driver_stack#module:version). Without it, and without a release in the name of O(ofed_bundle), any does.
    type: str
    default: ""
  ofed_bundle:
    description: See O(rdma.ofed.driver_stack#module:bundle). Only its name is read.
    type: str
    default: ""
  cables:
    description:
      - Whether to read the links and cables of the checked ports that are up, with C(mlxlink) of MFT or C(mstlink) of mstflint, as
        M(rdma.ofed.mlxlink_info) does. It takes some seconds for each port.
    type: bool
    default: false
  cable_part_numbers:
    description: See O(rdma.ofed.mlxlink_info#module:part_numbers).
    type: list
    elements: str
    default: []
  min_speed:
    description: See O(rdma.ofed.mlxlink_info#module:min_speed).
    type: str
    default: ""
  port_count:
    description:
      - How many InfiniBand ports of physical functions must be C(ACTIVE) and C(LinkUp), and have O(min_speed) and O(min_width). Those that no option
        names are not judged one by one then. V(0) judges each.
    type: int
    default: 0
  min_width:
    description:
      - How many lanes the links of the ports must have. Without it, two of HDR and faster, as HDR100 and NDR200 have, and four of EDR.
    type: str
    choices: ["", 1X, 2X, 4X, 8X, 12X]
    default: ""
  max_effective_ber:
    description: See O(rdma.ofed.mlxlink_info#module:max_effective_ber).
    type: float
    default: 1.0e-12
  pcie:
    description:
      - Whether the PCI Express links of the adapters under the checked ports must have all lanes, and the speed, that card and slot can do.
      - A slot with fewer lanes than the card is no finding. Nothing is checked where the kernel does not know a link, and in virtual machines.
    type: bool
    default: false
  pcie_accepted:
    description: PCI addresses of adapters whose PCI Express link is accepted as it is, in quotes, such as V("0000:03:00.0").
    type: list
    elements: str
    default: []
  performance:
    description:
      - How to judge what slows down the adapters under the checked ports, such as small read requests on PCI Express, an IOMMU that translates, or CPUs
        that save power.
      - V(report) makes each a finding with the severity C(notice), which does not count. V(fail) makes it an error. V(none) does not check.
      - Files of sysfs and procfs are read, and no process is started. Nothing is checked in virtual machines and containers.
    type: str
    choices: [none, report, fail]
    default: none
  firmware:
    description:
      - Whether the firmware of adapters and its parameters must be what the following options declare, and be effective.
      - It needs C(mstflint) and C(mstconfig), or C(flint) and C(mlxconfig) of MFT, on the node, and takes some seconds. All adapters are queried at the
        same time. Nothing is burned, set or downloaded.
    type: bool
    default: false
  hca_firmware_devices:
    description: See O(rdma.ofed.mstflint#module:devices).
    type: list
    elements: dict
    default: [{all: true}]
  hca_firmware_images:
    description:
      - See O(rdma.ofed.mstflint#module:images). An image at a URL that was never downloaded to the node can't be compared, which is a finding.
    type: raw
    default: {}
  hca_firmware_versions:
    description: See O(rdma.ofed.mstflint#module:versions).
    type: dict
    default: {}
  hca_firmware_allow_downgrade:
    description: See O(rdma.ofed.mstflint#module:allow_downgrade).
    type: bool
    default: false
  hca_firmware_config:
    description: See O(rdma.ofed.mlxconfig#module:devices).
    type: list
    elements: dict
    default: []
  hca_firmware_missing:
    description: See O(rdma.ofed.mstflint#module:missing).
    type: str
    choices: [fail, ignore]
    default: ignore
  gpudirect:
    description:
      - How adapters must reach GPU memory, as in O(rdma.ofed.gpudirect#module:method). A node without an NVIDIA GPU conforms to
        all of these. V(none) does not check.
      - The module of the method must be registered with the RDMA stack where the stack shows that. What is pending until the
        installed stack is loaded is no finding.
    type: str
    choices: [none, auto, nvidia_peermem, nv_peer_mem, dmabuf]
    default: none
  gpudirect_peerdirect_support:
    description: See O(rdma.ofed.gpudirect#module:peerdirect_support).
    type: str
    choices: [auto, "0", "1"]
    default: auto
  gpudirect_allow_rebuild:
    description: See O(rdma.ofed.gpudirect#module:allow_rebuild).
    type: bool
    default: false
  gpudirect_source:
    description: See O(rdma.ofed.gpudirect#module:source).
    type: str
    default: https://github.com/Mellanox/nv_peer_memory.git
  gpudirect_commit:
    description: See O(rdma.ofed.gpudirect#module:commit).
    type: str
    default: d9a0a126bc31279e63e4b47bfb59ee767cea7aad
  gpudirect_checksum:
    description: See O(rdma.ofed.gpudirect#module:checksum).
    type: str
    default: ""
  fabrics:
    description:
      - The fabrics that the ports are on, and who manages each of them, as the filter P(rdma.ofed.fabric_managers#filter) returns it.
      - With an empty list, one fabric named V(ib), whose master may be any host or switch.
    type: list
    elements: dict
    default: []
    suboptions:
      fabric:
        description: The name of the fabric.
        type: str
        default: ib
      ports:
        description: The ports that are on it, for a node on several fabrics, named as in O(ports). With an empty list, all of its ports.
        type: list
        elements: str
        default: []
      designated:
        description:
          - Whether this node is its designated subnet manager.
          - The designated node runs opensm and the only master. A node that is neither designated nor O(fabrics[].standby) must not run or enable opensm.
        type: bool
        default: false
      standby:
        description: Whether this node runs a standby subnet manager.
        type: bool
        default: false
      designated_host:
        description:
          - The host that must run the master subnet manager.
          - Other nodes recognise it by O(fabrics[].designated_guids) where they are given, whatever its node description is. Else they recognise it by
            the node description, which C(rdma-ndd) sets to the host name.
        type: str
        default: ""
      designated_absent:
        description: Whether O(fabrics[].designated_host) is outside of the hosts of this run, as with C(--limit). If so, findings name it as a possible cause.
        type: bool
        default: false
      designated_names:
        description: Other names of O(fabrics[].designated_host) that its node description may contain.
        type: list
        elements: str
        default: []
      designated_guids:
        description: The port GUIDs of O(fabrics[].designated_host), where they are known.
        type: list
        elements: str
        default: []
      standbys:
        description:
          - The hosts that stand by for O(fabrics[].designated_host), with their port GUIDs where they are known, and other names that their node
            descriptions may contain. A master on one of them is a warning.
        type: dict
        default: {}
      partitions:
        description:
          - The partitions that all ports of the node on the fabric are members of, by P_Key, such as C("0x0001"), with V(full), V(limited) or V(both).
          - In the playbooks, they are those in which C(opensm_partitions) names the host or one of its groups.
        type: dict
        default: {}
  subnet_manager:
    description: Whether to check the subnet managers of O(fabrics).
    type: bool
    default: true
  host:
    description: The name of this node in the inventory, for O(accepted), and where this node is named in a finding.
    type: str
    default: ""
  accepted:
    description:
      - Findings that are accepted. Such a finding is returned with the key C(accepted), and does not fail the check until it expires.
      - Each entry has the C(code) of the finding and a C(reason), and one of C(host), a shell pattern, and C(port), named as in O(ports). C(until) is the
        last day, such as V(2026-12-31).
    type: list
    elements: dict
    default: []
  today:
    description: The date with which C(until) is compared. Without it, nothing has expired.
    type: str
    default: ""
  wait:
    description: How long to wait for the declared state, in seconds. V(0) checks once.
    type: int
    default: 0
  fail:
    description: Whether to fail where there are errors that are not accepted.
    type: bool
    default: true
  ipoib_network_firewall:
    description:
      - Whether the firewall of the node is to accept all that arrives on the declared IPoIB interfaces (V(trusted)), or
        to stay as the site has set it up (V(keep)). With V(keep), C(rdma.ofed.verify) reports interfaces whose traffic
        it drops.
      - V(trusted) puts exactly these interfaces into a zone of firewalld, or adds a rule for each of them to ufw. Where
        neither runs, nothing is changed.
    type: str
    choices: [keep, trusted]
    default: keep
  ipoib_network_firewall_zone:
    description:
      - The zone of firewalld for V(trusted). It must exist on the node. The zone C(trusted) of firewalld accepts
        everything.
    type: str
    default: trusted
  ipoib_network_policy_routing:
    description:
      - Whether packets from an address of one of several IPoIB interfaces in one IPv4 subnet leave by that interface.
        By default, all packets to the subnet leave by the interface whose route the kernel finds first.
      - A unit of systemd keeps a rule for each address and a routing table for each interface, whatever configures the
        interfaces.
    type: bool
    default: false
seealso:
  - module: rdma.ofed.rdma_facts
"""

EXAMPLES = r"""
- name: Check that the port is up, and that the designated host of group opensm holds the master
  rdma.ofed.node_check:
    ports: ["0000:03:00.0/1"]
    fabrics: "{{ groups | rdma.ofed.fabric_managers(hostvars, inventory_hostname, {'fabric': 'ib'}) }}"

- name: Check the interface within half a minute
  rdma.ofed.node_check:
    interfaces:
      - name: ib0
        addresses: ["{{ ib_address }}"]
    modules: [ib_ipoib, ib_umad]
    fabrics: "{{ groups | rdma.ofed.fabric_managers(hostvars, inventory_hostname, {'fabric': 'ib'}) }}"
    wait: 30

- name: Collect the findings, and go on
  rdma.ofed.node_check:
    ports: ["0000:03:00.0/1"]
    subnet_manager: false
    fail: false
  register: outcome
"""

RETURN = r"""
ok:
  description: Whether everything is as declared. Warnings, notices, and findings in O(accepted), do not count.
  returned: success
  type: bool
  sample: true
deviations:
  description: Everything that is not as declared.
  returned: always
  type: list
  elements: dict
  contains:
    severity:
      description: V(error); or V(warning) or V(notice) for what does not fail the check.
      type: str
      sample: error
    code:
      description: What is wrong, such as V(link_down). V(differs) for a value that is not the declared one. Each code has a paragraph in
        C(docs/findings.md).
      type: str
      sample: link_down
    kind:
      description: What RV(deviations[].subject) names, such as V(port), V(adapter), V(subnet_manager), V(interface), V(module), V(unit) or V(file).
      type: str
      sample: port
    subject:
      description: The object; empty where a node has only one of the kind.
      type: str
      sample: mlx5_0/1
    aspect:
      description: The property of the object; empty if the finding is about the object itself.
      type: str
      sample: ""
    object:
      description: Object and property in words.
      type: str
      sample: port mlx5_0/1
    found:
      description: The state found, in words.
      type: str
      sample: DOWN and Polling
    expected:
      description: The declared state in words.
      type: str
      sample: ACTIVE and LinkUp
    cause:
      description: The likely cause, where one is known.
      type: str
      sample: ""
    next_step:
      description: What to do next.
      type: str
      sample: look at the cable and the switch port
    accepted:
      description: Of a finding in O(accepted), C(until), C(reason), and whether it has C(expired).
      type: dict
      sample: {"until": "2026-12-31", "reason": "a cable is ordered", "expired": false}
deviation_lines:
  description: The errors that are not accepted, in words, one line for each object.
  returned: always
  type: list
  elements: str
rows:
  description: One line of a table for each declared interface and port.
  returned: always
  type: list
  elements: dict
  sample: [{"port": "mlx5_0/1", "state": "ACTIVE", "interface": "ib0", "result": "OK"}]
fabrics:
  description: For each of O(fabrics), its name, its C(designated_host), and the port GUID of its master, which is empty where there is none.
  returned: always
  type: list
  elements: dict
  sample: [{"fabric": "ib", "designated_host": "node1", "master_guid": "0x0c42a10300000011"}]
adapters:
  description: The adapters under the checked ports.
  returned: always
  type: list
  elements: dict
  sample: [{"pci": "0000:03:00.0", "psid": "MT_0000000008", "firmware": "16.35.2000"}]
stack:
  description: The RDMA stack in C(kind) and C(version); empty where O(ofed_source) does not have it checked.
  returned: always
  type: dict
  sample: {"kind": "doca", "version": "24.10-1.1.4.0"}
waited:
  description: Seconds until the declared state was reached, or the wait was over.
  returned: always
  type: float
  sample: 0.0
"""

import platform

from ..module_utils._check._check import check
from ..module_utils._host._answer import answer
from ..module_utils._schema._node_check import OPTIONS


def main() -> None:
    answer(OPTIONS, lambda module, run: check(module, run, platform.release()))


if __name__ == "__main__":
    main()
