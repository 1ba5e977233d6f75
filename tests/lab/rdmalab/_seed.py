# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files on a virtual machine's second disk, which make it a node of a topology. Pure: tuples in, texts out."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import typing as t

from ._hardware import description as describe
from ._hardware import device_names, port_names
from ._say import LabError
from ._topology import Device, Node, Topology

WIRE = "labwire"
"""The Ethernet interface that carries the fabric (vm/node/etc/udev)."""
FIRST_LID = 2
SET = "/usr/lib/rdmalab/ibdummy-set"
MANAGEMENT = {"kernel": "eth0", "predictable": "enp0s3"}
"""The management interface, by naming scheme."""
KERNEL_NAMES = "[Match]\nOriginalName=*\n\n[Link]\nAlternativeNamesPolicy=database onboard slot path\nMACAddressPolicy=persistent\n"
"""systemd's rule for all interfaces without the line that renames them. An initramfs includes it."""
_ROUTER = "10.0.2.3"


class File(t.NamedTuple):
    content: str
    mode: int = 0o644


# For NetworkManager.
_NOT_THE_WIRE = {"/etc/NetworkManager/conf.d/lab.conf": File("[keyfile]\nunmanaged-devices=interface-name:%s\n" % WIRE)}


def adapter_options(topology: Topology, node: Node) -> str:
    """Return the driver parameters of one machine: its own adapters, and the locations of the other machines' ports."""
    lids = lids_of(topology)
    hcas = describe(node, "", "")["hcas"]
    own = {
        "ports": [str(len(hca["ports"])) for hca in hcas],
        "name": [hca["device"] for hca in hcas],
        "type": [hca["type"] for hca in hcas],
        "board": [hca["psid"] for hca in hcas],
        "driver": [hca["driver"] for hca in hcas],
        "guid": [hca["node_guid"] for hca in hcas],
        "lid": [str(lids[hca.guid]) for hca in node.hcas],
        "enhanced": ["0" if hca["connected_capable"] else "1" for hca in hcas],
    }
    peers = [
        "0x%x:%d" % (hca.guid + port, lids[hca.guid] + port - 1) for hca in _adapters(topology) if hca not in node.hcas for port in range(1, hca.ports + 1)
    ]
    words = ["%s=%s" % (key, ",".join(values)) for key, values in own.items()]
    if topology.simulated:
        return "options ibdummy %s wire=%s managed=1\n" % (" ".join(words), WIRE)
    words += ["wire=" + WIRE] + (["peers=" + ",".join(peers)] if peers else []) + ["ports_down=0x%x" % uncabled(node)]
    return "options ibdummy %s\n" % " ".join(words)


def lids_of(topology: Topology) -> dict[int, int]:
    """Return the LID of the first port of each adapter, by node GUID, assigned in the order of the file."""
    lids: dict[int, int] = {}
    free = FIRST_LID
    for hca in _adapters(topology):
        lids[hca.guid] = free
        free += hca.ports
    return lids


def port_bit(node: Node, port: str) -> int:
    """Return the bit of a port such as mlx4_0/2 in the driver parameter ports_down."""
    bit = 1
    for name, hca in zip(device_names(node), node.hcas):
        for number in range(1, hca.ports + 1):
            if port == "%s/%d" % (name, number):
                if port not in port_names(node):
                    raise LabError("%s of %s has no cable in the topology." % (port, node.name))
                return bit
            bit <<= 1
    raise LabError("%s has no port '%s'. It has: %s." % (node.name, port, ", ".join(port_names(node))))


def uncabled(node: Node) -> int:
    """Return the bits of the ports without a link in the topology."""
    total = (1 << sum(hca.ports for hca in node.hcas)) - 1
    for port in port_names(node):
        total &= ~port_bit(node, port)
    return total


def _adapters(topology: Topology) -> list[Device]:
    return [hca for node in topology.nodes for hca in node.hcas]


def seed(topology: Topology, node: Node, names: str) -> dict[str, File]:
    """Return files by path, except those of `identity`. `names` is a key of MANAGEMENT."""
    return {
        "/etc/hostname": File(node.name + "\n"),
        "/etc/hosts": File("127.0.0.1 localhost\n127.0.1.1 %s\n::1 localhost ip6-localhost ip6-loopback\n" % node.name),
        "/etc/modprobe.d/ibdummy.conf": File(adapter_options(topology, node)),
        "/etc/resolv.conf": File("nameserver %s\n" % _ROUTER),
        **({"/etc/systemd/network/99-default.link": File(KERNEL_NAMES)} if names == "kernel" else {}),
        **management(node.network, MANAGEMENT[names]),
        **({"/etc/lab/fabric.json": File(simulated_ports(node))} if topology.simulated else {}),
    }


def simulated_ports(node: Node) -> str:
    """Return the input of fabricd.py: adapter number, port, and the port's name in the simulator, which knows clients by an adapter's first port."""
    return json.dumps([[number, 1, hca.node_id] for number, hca in enumerate(node.hcas) if hca.links and hca.links[0].port == 1]) + "\n"


def identity(public_key: str, place: str) -> dict[str, File]:
    """Return the files in which two labs of the same sources differ. `place` determines the machine ID."""
    return {
        "/etc/machine-id": File(hashlib.sha256(place.encode()).hexdigest()[:32] + "\n"),
        "/root/.ssh/authorized_keys": File(public_key, 0o600),
    }


def management(stack: str, interface: str) -> dict[str, File]:
    """Return the configuration of the management interface (DHCP) for a network stack."""
    if stack == "networkd":
        return {"/etc/systemd/network/10-management.network": File("[Match]\nName=%s\n\n[Network]\nDHCP=ipv4\n" % interface)}
    if stack == "ifupdown":
        text = "source /etc/network/interfaces.d/*\n\nauto lo\niface lo inet loopback\n\nauto %s\niface %s inet dhcp\n" % (interface, interface)
        return {"/etc/network/interfaces": File(text)}
    if stack == "ifcfg":
        text = "DEVICE=%s\nTYPE=Ethernet\nONBOOT=yes\nBOOTPROTO=dhcp\nIPV6INIT=no\n" % interface
        return {"/etc/sysconfig/network-scripts/ifcfg-%s" % interface: File(text), **_NOT_THE_WIRE}
    if stack == "networkmanager":
        profile = "[connection]\nid=management\ntype=ethernet\ninterface-name=%s\n\n[ipv4]\nmethod=auto\n\n[ipv6]\nmethod=ignore\n" % interface
        return {
            "/etc/NetworkManager/system-connections/management.nmconnection": File(profile, 0o600),
            **_NOT_THE_WIRE,
        }
    renderer = "NetworkManager" if stack == "netplan-nm" else "networkd"
    text = "network:\n  version: 2\n  renderer: %s\n  ethernets:\n    %s:\n      dhcp4: true\n" % (renderer, interface)
    return {"/etc/netplan/10-management.yaml": File(text, 0o600), **(_NOT_THE_WIRE if stack == "netplan-nm" else {})}


def archive(files: t.Mapping[str, File]) -> bytes:
    """Return a tar archive to unpack over the root file system. Directories with secrets are closed to other users."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, file in files.items():
            if path.startswith("/root/.ssh/"):
                folder = tarfile.TarInfo("root/.ssh")
                folder.type, folder.mode = tarfile.DIRTYPE, 0o700
                tar.addfile(folder)
            data = file.content.encode()
            member = tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(data), file.mode
            tar.addfile(member, io.BytesIO(data))
    return buffer.getvalue()
