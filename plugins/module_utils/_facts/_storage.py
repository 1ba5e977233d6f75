# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Storage that may be remote: mounts and swap areas with their servers, and block devices.

Block devices over RDMA are NVMe over Fabrics, iSER and SRP; those over IP are iSCSI, RBD of Ceph, DRBD and NBD.
"""

from __future__ import annotations

import ipaddress
import os
import re
import typing as t

from .._host._files import under
from ._sysfs import attribute, entries

_NVME = re.compile(r"^nvme(\d+)(?:c\d+)?n\d+")
_HOST = re.compile(r"^host\d+$")
_TRADDR = re.compile(r"(?:^|,)traddr=([^,]+)")
_SCSI = {"iscsi_iser": "iSER", "ib_srp": "SRP"}
_UNKNOWN = "%s, whose peer is unknown"
_MINOR = re.compile(r"(?:\bminor\s+|/dev/drbd)([0-9]{1,7})\b")
_ADDRESS = re.compile(r"\baddress\s+(?:[a-z0-9]+\s+)?(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]+")
_CONNECTED = re.compile(r"^[^\S\n]*([0-9]{1,7}): cs:(\w+)", re.MULTILINE)
_DRBD9 = re.compile(r"^version:\s*(?:[1-9][0-9]|9)\.")
# States without a connection: `drbd_conn_str` in drivers/block/drbd/drbd_strings.c, and the word of drbd_seq_show for an unconfigured device.
_ALONE = ("Unconfigured", "StandAlone")
_DRBD_CONFIGURATION = ("etc/drbd.d", "var/lib/linstor.d")
# The kernel escapes only tab, newline, blank, number sign and backslash.
_ESCAPED = {"011": "\t", "012": "\n", "040": " ", "043": "#", "134": "\\"}
_ESCAPE = re.compile(r"\\(%s)" % "|".join(_ESCAPED))
_NETWORKS = ("o2ib", "tcp")
_OF_ADDRESS = "0123456789ABCDEFabcdef.:"
_PORT = re.compile(r"^(\[[^]]*\]|[^:]*):[0-9]+\Z")


class Session(t.NamedTuple):
    """One connection to a storage target, or one target exported to others."""

    name: str
    """`nvme1`, `host5`, `nvmet port 1`, `rbd0`."""
    protocol: str
    """`NVMe over RDMA`, `iSER`, `SRP`, `RBD`."""
    address: str = ""
    """The target's address, or the node's own address for it if only that is known."""


def nvme_address(text: str) -> str:
    """The target's address in `traddr=10.1.0.9,trsvcid=4420`; "" where there is none."""
    match = _TRADDR.search(text)
    return match.group(1) if match else ""


def read_sessions(root: str, hosts: t.Mapping[str, str]) -> tuple[Session, ...]:
    """All storage sessions over RDMA, and those of IP transports, whose address tells whether they use an RDMA adapter.

    A device with several addresses has one entry for each. `hosts`: addresses by host name.
    """
    sessions = []
    for name in entries(root, "sys/class/nvme"):
        transport = attribute(root, "sys/class/nvme", name, "transport")
        if transport in ("rdma", "tcp"):
            address = nvme_address(attribute(root, "sys/class/nvme", name, "address"))
            sessions.append(Session(name, "NVMe over %s" % transport.upper(), address))
    for name in entries(root, "sys/class/scsi_host"):
        protocol = _SCSI.get(attribute(root, "sys/class/scsi_host", name, "proc_name"))
        if protocol:
            sessions.append(Session(name, protocol))
    for name in entries(root, "sys/class/iscsi_connection"):
        address = attribute(root, "sys/class/iscsi_connection", name, "persistent_address")
        sessions.append(Session(name, "iSCSI", address))
    ports = "sys/kernel/config/nvmet/ports"
    for name in entries(root, ports):
        if attribute(root, ports, name, "addr_trtype") == "rdma" and entries(root, ports, name, "subsystems"):
            sessions.append(Session("nvmet port " + name, "NVMe over RDMA", attribute(root, ports, name, "addr_traddr")))
    return (*sessions, *_rbd(root), *_drbd(root), *_nbd(root, hosts))


def block_session(device: str, sessions: t.Sequence[Session], root: str = "/") -> Session | None:
    """The session that a block device (`/dev/nvme1n1p2`, `/dev/mapper/root`) depends on, through partitions, RAID and LVM."""
    by_name = {session.name: session for session in sessions}
    base = os.path.join(root, "sys/class/block")
    path = under(root, device)
    todo = [os.path.basename(os.path.realpath(path) if os.path.exists(path) else path)]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        real = os.path.realpath(os.path.join(base, name))
        nvme = _NVME.match(name)
        holders = [name, *filter(_HOST.match, real.split("/"))]
        if nvme:
            # With multipath, the number is that of the subsystem, and its controllers are beside the namespace.
            holders += ["nvme" + nvme.group(1), *entries(root, "sys/class/nvme-subsystem", "nvme-subsys" + nvme.group(1))]
        for holder in holders:
            if holder in by_name:
                return by_name[holder]
        todo += entries(base, name, "slaves")
        if os.path.exists(os.path.join(base, name, "partition")):
            todo.append(os.path.basename(os.path.dirname(real)))
    return None


def parse_drbd(text: str) -> tuple[str, ...]:
    """Parse /proc/drbd of DRBD 8 (` 0: cs:Connected ro:Primary/Secondary ...`): the numbers of the devices that have or expect a peer."""
    return tuple(minor for minor, state in _CONNECTED.findall(text) if state not in _ALONE)


def parse_drbd_configuration(text: str) -> dict[str, tuple[str, ...]]:
    """The addresses of each device, by its number, from all resources."""
    found: dict[str, tuple[str, ...]] = {}
    for resource in re.split(r"(?m)^[^\S\n]*resource\s", text)[1:]:
        addresses = tuple(dict.fromkeys(address.strip("[]") for address in _ADDRESS.findall(resource)))
        for minor in _MINOR.findall(resource):
            found[minor] = tuple(dict.fromkeys((*found.get(minor, ()), *addresses)))
    return found


def _rbd(root: str) -> list[Session]:
    # The node's own address, `10.1.0.1:0/3487526345` (rbd_client_addr_show in drivers/block/rbd.c).
    base = os.path.join(root, "sys/bus/rbd/devices")
    found = [(name, server_address(attribute(base, name, "client_addr").partition("/")[0], {})) for name in entries(base)]
    return [Session("rbd" + name, "RBD" if address else _UNKNOWN % "RBD", address) for name, address in found]


def _drbd(root: str) -> list[Session]:
    status = attribute(root, "proc/drbd")
    if not status:
        return []
    # DRBD 9 lists no devices there, and creates each only when it is set up.
    there = [name[len("drbd") :] for name in entries(root, "sys/class/block") if re.match(r"drbd[0-9]+\Z", name)]
    minors = there if _DRBD9.match(status) else parse_drbd(status)
    paths = [("etc/drbd.conf",), *((folder, name) for folder in _DRBD_CONFIGURATION for name in entries(root, folder) if name.endswith(".res"))]
    addresses = parse_drbd_configuration("\n".join(attribute(root, *path) for path in paths))
    found = []
    for minor in minors:
        found += [Session("drbd" + minor, "DRBD", address) for address in addresses.get(minor, ())] or [Session("drbd" + minor, _UNKNOWN % "DRBD")]
    return found


def _nbd(root: str, hosts: t.Mapping[str, str]) -> list[Session]:
    found = []
    for name in entries(root, "sys/class/block"):
        # The PID of the process that connected the device; the file exists while it is connected (pid_show in drivers/block/nbd.c).
        pid = attribute(root, "sys/class/block", name, "pid") if re.match(r"nbd[0-9]+\Z", name) else ""
        if not pid:
            continue
        words = attribute(root, "proc", pid, "cmdline").split("\0")
        address = next((server_address(word, hosts) for word in words[1:] if server_address(word, hosts)), "")
        local = "qemu-nbd" in words[0] or any(word in ("-u", "-unix") for word in words)
        if not local:
            found.append(Session(name, "NBD" if address else _UNKNOWN % "NBD", address))
    return found


class Mount(t.NamedTuple):
    """One line of /proc/mounts."""

    source: str
    target: str
    type: str
    options: tuple[str, ...] = ()

    def option(self, name: str) -> str:
        """The value of `name=value`, or ""."""
        return next((option.partition("=")[2] for option in self.options if option.partition("=")[0] == name), "")


def _plain(field: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPED[match.group(1)], field)


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Parse /proc/mounts: source, target, type, options; blanks within a field are octal escapes."""
    rows = [line.split(" ") for line in text.splitlines()]
    return tuple(Mount(_plain(row[0]), _plain(row[1]), row[2], tuple(row[3].split(","))) for row in rows if len(row) >= 4)


def parse_swaps(text: str) -> tuple[str, ...]:
    """Parse /proc/swaps: the swap files and devices, after one heading line."""
    return tuple(_plain(line.split()[0]) for line in text.splitlines()[1:] if line.strip())


def parse_hosts(text: str) -> dict[str, str]:
    """Parse /etc/hosts: the first address of each name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        for name in fields[1:]:
            found.setdefault(name, fields[0])
    return found


def server_address(word: str, hosts: t.Mapping[str, str]) -> str:
    """The address in `10.1.0.9`, `10.1.0.9:6789` or `[fd00::9]:6789`, or that of a name in /etc/hosts; "" for any other name."""
    match = _PORT.match(word)
    plain = (match.group(1) if match else word).strip("[]").partition("%")[0]
    plain = hosts.get(plain, plain)
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        return ""


def _server_words(mount: Mount) -> list[str]:
    """The words that name the servers. Most network file systems have them in the option `addr`."""
    if mount.type == "ceph":
        # The monitors: `mon1,mon2:/path`, or `user@fsid.name=/path` with the option mon_addr, separated by slashes (ceph_show_options in fs/ceph/super.c).
        named = mount.option("mon_addr")
        return named.split("/") if named else mount.source.partition(":/")[0].split(",")
    if mount.type == "fuse.glusterfs":
        # `server1,server2:/volume`; the volume may lack the slash.
        return mount.source.rpartition(":")[0].split(",")
    if mount.type == "panfs":
        # `panfs://server/volume`, `panfs://server:global/volume`.
        server = mount.source.partition("://")[2].partition("/")[0]
        return [server if server.startswith("[") else server.partition(":")[0]]
    return [mount.option("addr")]


def lustre_servers(mount: Mount) -> list[tuple[str, str]]:
    """Addresses and networks, `o2ib` or `tcp`, from `10.9.0.1@o2ib:10.9.0.2@o2ib:/name`."""
    found = []
    parts = mount.source.split("@")
    for before, behind in zip(parts, parts[1:]):
        network = next((name for name in _NETWORKS if behind.startswith(name)), "")
        plain = before[:-1] if before.endswith("]") else before
        head = plain.rstrip(_OF_ADDRESS)
        address = plain[len(head) :]
        # The network before an address may end in characters of an address: o2ib:10.9.0.2.
        address = address.partition(":")[2] if head and head[-1] not in "[," else address
        if network and address:
            found.append((address, network))
    return found


def servers(mount: Mount, hosts: t.Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of a mount's servers; "" stands for a server whose address is unknown."""
    if mount.type == "lustre":
        return tuple(address for address, _network in lustre_servers(mount))
    return tuple(server_address(word, hosts) for word in _server_words(mount))
