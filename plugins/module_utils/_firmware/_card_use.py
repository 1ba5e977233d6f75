# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The users of one card, among all users of RDMA on the node. Pure but for the readers.

A user whose card is unknown counts as a user of every card: a wrong "free" costs a mount or a job, a wrong "in use"
costs a question.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import below
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries, link_name, number, pci_address

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import SshPath
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User

# The drivers that the reset tools stop and start themselves. They refuse to touch a function of any other.
_OWN_DRIVERS = ("", "mlx5_core", "nvme", "rshim_pcie")
# One class of character devices each: verbs, and management datagrams with the flag of a subnet manager.
_CLASSES = ("infiniband_verbs", "infiniband_mad")


class Places(t.NamedTuple):
    """The PCI functions below each interface, and below each file of /dev/infiniband."""

    interfaces: t.Mapping[str, frozenset[str]]
    files: t.Mapping[str, str]

    def of(self, via: t.Iterable[str]) -> frozenset[str]:
        """The PCI functions below some interfaces and files, as far as they are known."""
        found: set[str] = set()
        for name in via:
            found |= self.interfaces.get(name, frozenset())
            found |= {self.files[name]} if name in self.files else set()
        return frozenset(found)


def read_places(root: str, netdevs: t.Sequence[Netdev]) -> Places:
    """The PCI functions below all interfaces (through bonds, VLANs and P_Key children) and character devices."""
    rdma = {name: pci_address(root, "sys/class/infiniband", name, "device") for name in entries(root, "sys/class/infiniband")}
    direct = {netdev.name: {pci_address(root, "sys/class/net", netdev.name, "device"), rdma.get(netdev.port.partition("/")[0], "")} for netdev in netdevs}
    interfaces = {netdev.name: frozenset().union(*(direct[lower.name] for lower in below(netdev.name, netdevs))) - {""} for netdev in netdevs}
    files = {}
    for kind in _CLASSES:
        for name in entries(root, "sys/class", kind):
            pci = rdma.get(attribute(root, "sys/class", kind, name, "ibdev"), "")
            if pci:
                files[name] = pci
    return Places(interfaces, files)


def users_of(functions: t.Collection[str], users: t.Sequence[User], places: Places) -> tuple[str, ...]:
    """The users of one card in words; `functions` are its PCI functions. Subnet managers and virtual functions are told of elsewhere."""
    found = []
    for user in users:
        known = places.of(user.via)
        if user.kind not in ("sm", "vf") and (not known or known & set(functions)):
            found.append("%s (%s)" % (user.name, user.detail) if user.detail else user.name)
    return tuple(found)


def ssh_over(functions: t.Collection[str], ssh: SshPath, places: Places) -> str:
    """The interface by which the connection that manages the node runs, or may run, over this card; "" where it does not."""
    if ssh.client and not ssh.device:
        return "an interface that can't be told"
    if not ssh.over_rdma:
        return ""
    known = places.of([ssh.device])
    return ssh.device if not known or known & set(functions) else ""


def interfaces_of(functions: t.Collection[str], places: Places) -> tuple[str, ...]:
    """The interfaces that go down with a card."""
    return tuple(sorted(name for name, pcis in places.interfaces.items() if pcis & set(functions)))


def read_virtual_functions(root: str, functions: t.Sequence[str]) -> int:
    """How many virtual functions a card has at the moment."""
    return sum(number(attribute(root, "sys/bus/pci/devices", pci, "sriov_numvfs")) or 0 for pci in functions)


def read_foreign_drivers(root: str, functions: t.Sequence[str]) -> tuple[str, ...]:
    """The functions that a driver holds which the reset tools don't stop: "0000:03:00.1 (vfio-pci)"."""
    drivers = [(pci, link_name(root, "sys/bus/pci/devices", pci, "driver")) for pci in functions]
    return tuple("%s (%s)" % item for item in drivers if item[1] not in _OWN_DRIVERS)
