# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Small root directories of nodes: a dictionary of paths, written below a temporary directory.

The shape of the trees (the files, and symbolic links from the classes into /sys/devices) is the kernel's. Values come from recorded outputs where a function
says so.
"""

from __future__ import annotations

import json
import pathlib
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "corpus"


class Link(t.NamedTuple):
    """A symbolic link; the target is written as if the tree were the root directory."""

    target: str


Tree = t.Dict[str, t.Union[str, bytes, Link]]


def write(root: pathlib.Path, tree: Tree) -> str:
    """Write the tree. Returns the root in the form that the readers expect."""
    for name, content in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Link):
            if not content.target.startswith("/"):
                path.symlink_to(content.target)
            else:
                path.symlink_to(root / content.target[1:])
        elif isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
    return str(root)


class FakeRunner:
    """A Runner with recorded outputs. A command that was not recorded fails the test."""

    def __init__(self, outputs: t.Mapping[str, str | Output] | None = None) -> None:
        self.outputs = outputs or {}
        self.ran: list[str] = []

    def has(self, tool: str) -> bool:
        return any(command.split()[0] == tool for command in self.outputs)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        command = " ".join(argv)
        self.ran.append(command)
        output = self.outputs[command] if command in self.outputs else self.outputs[argv[0]]
        return output if isinstance(output, Output) else Output(0, output, "")


def grouped(guid: str) -> str:
    """Convert 0x0c42a10300000011 to 0c42:a103:0000:0011."""
    digits = guid[2:]
    return ":".join(digits[at : at + 4] for at in range(0, 16, 4))


def hwaddr(guid: str, first: str = "00") -> str:
    """Return the 20-byte address of the port's IPoIB interface."""
    digits = guid[2:]
    return ":".join([first, "00", "02", "08", "fe", "80", *["00"] * 6, *[digits[at : at + 2] for at in range(0, 16, 2)]])


def pci_path(pci: str) -> str:
    return "sys/devices/pci0000:00/0000:00:02.0/%s" % pci


def rdma(
    name: str,
    pci: str,
    node_guid: str,
    driver: str = "mlx5_core",
    type: str = "MT4119",  # noqa: A002
    psid: str = "MT_0000000008",
    firmware: str = "16.35.2000",
    vpd: bytes = b"",
) -> Tree:
    """Return one RDMA device on a PCI function."""
    device = pci_path(pci)
    base = "%s/infiniband/%s" % (device, name)
    return {
        "sys/class/infiniband/" + name: Link("/" + base),
        "sys/bus/pci/devices/" + pci: Link("/" + device),
        "sys/bus/pci/drivers/%s/module" % driver: "",
        device + "/vendor": "0x15b3\n",
        device + "/device": "0x1017\n",
        device + "/class": "0x020700\n",
        device + "/driver": Link("/sys/bus/pci/drivers/" + driver),
        device + "/numa_node": "0\n",
        device + "/vpd": vpd,
        base + "/device": Link("../../"),
        base + "/node_guid": grouped(node_guid) + "\n",
        base + "/node_desc": "node1 %s\n" % name,
        base + "/hca_type": type + "\n",
        base + "/board_id": psid + "\n",
        base + "/fw_ver": firmware + "\n",
    }


def port(name: str, pci: str, guid: str, link_layer: str = "InfiniBand", netdev: str = "", **values: str) -> Tree:
    """Return one port, such as `mlx5_0/1`, of a function that `rdma` created."""
    device, _slash, number = name.partition("/")
    base = "%s/infiniband/%s/ports/%s" % (pci_path(pci), device, number)
    found = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "100 Gb/sec (4X EDR)",
        "lid": "0x1",
        "sm_lid": "0x1",
        "link_layer": link_layer,
        "gids/0": "fe80:0000:0000:0000:" + grouped(guid),
        "pkeys/0": "0xffff",
        "pkeys/1": "0x0000",
        **values,
    }
    if netdev:
        found["gid_attrs/ndevs/0"] = netdev
    return {"%s/%s" % (base, key): value + "\n" for key, value in found.items()}


def netdev(name: str, pci: str = "", type: int = 32, address: str = "", **values: str) -> Tree:  # noqa: A002
    """One network interface, below its PCI function or below `virtual`."""
    base = "%s/net/%s" % (pci_path(pci) if pci else "sys/devices/virtual", name)
    found = {"type": str(type), "address": address, "mtu": "2044", "flags": "0x1003", "carrier": "1", "dev_port": "0", **values}
    tree: Tree = {"%s/%s" % (base, key): value + "\n" for key, value in found.items()}
    tree["sys/class/net/" + name] = Link("/" + base)
    if pci:
        tree[base + "/device"] = Link("/" + pci_path(pci))
    return tree


def link(name: str, **values: t.Any) -> dict[str, t.Any]:
    """Return one row of `ip -j -d addr`."""
    return {"ifname": name, "addr_info": [], **values}


def address(local: str, **values: t.Any) -> dict[str, t.Any]:
    """Return one address of such a row."""
    host, _slash, length = local.partition("/")
    return {"family": "inet6" if ":" in host else "inet", "local": host, "prefixlen": int(length), "scope": "global", **values}


def ip_addr(*rows: dict[str, t.Any]) -> str:
    return json.dumps(list(rows))


CX5 = ("0000:03:00.0", "0000:03:00.1")
CX5_GUIDS = ("0x0c42a10300000011", "0x0c42a10300000012")


def connectx5() -> Tree:
    """Return a ConnectX-5 VPI with two ports: two PCI functions, two RDMA devices, Enhanced IPoIB."""
    tree: Tree = {}
    for index, (pci, guid) in enumerate(zip(CX5, CX5_GUIDS)):
        tree.update(rdma("mlx5_%d" % index, pci, guid[:-1] + "0", vpd=vpd("MCX556A-ECAT")))
        tree.update(port("mlx5_%d/1" % index, pci, guid, lid=hex(index + 1)))
        tree.update(netdev("ib%d" % index, pci, address=hwaddr(guid), mode="datagram", pkey="0xffff"))
    return tree


CX3 = "0000:04:00.0"
CX3_GUIDS = ("0x0002c90300a4e721", "0x0002c90300a4e722")


def connectx3() -> Tree:
    """Return a ConnectX-3 with two ports on one function, values as recorded in corpus/ibstat/cx3_mt4099_dual_ib_active.txt."""
    tree = rdma("mlx4_0", CX3, "0x0002c90300a4e720", "mlx4_core", "MT4099", "MT_1090120019", "2.42.5000")
    for index, guid in enumerate(CX3_GUIDS):
        tree.update(port("mlx4_0/%d" % (index + 1), CX3, guid, rate="56 Gb/sec (4X FDR)", lid=hex(3 - index), sm_lid=hex(3 - index)))
        tree.update(netdev("ib%d" % index, CX3, address=hwaddr(guid, "80"), mode="connected", pkey="0xffff", dev_port=str(index), mtu="65520"))
    return tree


def vpd(part: str, name: str = "ConnectX-5 VPI adapter card") -> bytes:
    """Return Vital Product Data with a name, a part number and an end tag."""

    def large(tag: int, data: bytes) -> bytes:
        return bytes([tag]) + len(data).to_bytes(2, "little") + data

    fields = b"PN" + bytes([len(part)]) + part.encode() + b"EC\x02A9" + b"SN\x04MT19" + b"RV\x01\x42"
    return large(0x82, name.encode()) + large(0x90, fields) + b"\x78"


_STATUS = re.compile(r"Infiniband device '(\S+)' port (\d+) status:\n((?:\t? +\S.*\n|\t.*\n)+)")
_FILES = {"default gid": "gids/0", "base lid": "lid", "sm lid": "sm_lid", "phys state": "phys_state"}


def recorded_ports(text: str) -> Tree:
    """Return the attribute files behind an output of ibstatus(8), which prints them verbatim."""
    tree: Tree = {}
    for device, number, lines in _STATUS.findall(text):
        for line in lines.splitlines():
            key, _colon, value = line.strip().partition(":")
            tree["sys/class/infiniband/%s/ports/%s/%s" % (device, number, _FILES.get(key, key))] = value.strip() + "\n"
    return tree
