# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Mounts and swap areas, and the servers of network file systems. Pure."""

from __future__ import annotations

import ipaddress
import re
import typing as t

# The kernel escapes tab, newline, blank, number sign and backslash only.
_ESCAPED = {"011": "\t", "012": "\n", "040": " ", "043": "#", "134": "\\"}
_ESCAPE = re.compile(r"\\(%s)" % "|".join(_ESCAPED))
_NETWORKS = ("o2ib", "tcp")
_OF_ADDRESS = "0123456789ABCDEFabcdef.:"
_PORT = re.compile(r"^(\[[^]]*\]|[^:]*):[0-9]+\Z")


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
    """/proc/mounts: source, target, type, options; blanks within are written in octal."""
    rows = [line.split(" ") for line in text.splitlines()]
    return tuple(Mount(_plain(row[0]), _plain(row[1]), row[2], tuple(row[3].split(","))) for row in rows if len(row) >= 4)


def parse_swaps(text: str) -> tuple[str, ...]:
    """/proc/swaps: the files and devices swapped to, after one line of headings."""
    return tuple(_plain(line.split()[0]) for line in text.splitlines()[1:] if line.strip())


def parse_hosts(text: str) -> dict[str, str]:
    """/etc/hosts: the first address of each name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        for name in fields[1:]:
            found.setdefault(name, fields[0])
    return found


def server_address(word: str, hosts: t.Mapping[str, str]) -> str:
    """The address of `10.1.0.9`, `10.1.0.9:6789`, `[fd00::9]:6789`, or of a name in /etc/hosts; "" where that is all that is known."""
    match = _PORT.match(word)
    plain = (match.group(1) if match else word).strip("[]").partition("%")[0]
    plain = hosts.get(plain, plain)
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        return ""


def _ceph(mount: Mount) -> list[str]:
    """The monitors. `mon1,mon2:/path`, or `user@fsid.name=/path` with the option mon_addr, whose slashes separate (ceph_show_options in fs/ceph/super.c)."""
    named = mount.option("mon_addr")
    return named.split("/") if named else mount.source.partition(":/")[0].split(",")


def _gluster(mount: Mount) -> list[str]:
    """`server1,server2:/volume`; a volume may be named without the slash."""
    return mount.source.rpartition(":")[0].split(",")


def _panfs(mount: Mount) -> list[str]:
    """`panfs://server/volume`, `panfs://server:global/volume`."""
    server = mount.source.partition("://")[2].partition("/")[0]
    return [server if server.startswith("[") else server.partition(":")[0]]


_SERVERS: t.Mapping[str, t.Callable[[Mount], t.List[str]]] = {"ceph": _ceph, "fuse.glusterfs": _gluster, "panfs": _panfs}


def lustre_servers(mount: Mount) -> list[tuple[str, str]]:
    """Addresses and networks, `o2ib` or `tcp`, in `10.9.0.1@o2ib:10.9.0.2@o2ib:/name`."""
    found = []
    parts = mount.source.split("@")
    for before, behind in zip(parts, parts[1:]):
        network = next((name for name in _NETWORKS if behind.startswith(name)), "")
        plain = before[:-1] if before.endswith("]") else before
        head = plain.rstrip(_OF_ADDRESS)
        address = plain[len(head) :]
        # What stands before it may end in letters that an address has, too: o2ib:10.9.0.2.
        address = address.partition(":")[2] if head and head[-1] not in "[," else address
        if network and address:
            found.append((address, network))
    return found


def servers(mount: Mount, hosts: t.Mapping[str, str]) -> tuple[str, ...]:
    """The addresses of a mount's servers; "" stands for one that is known by its name only."""
    if mount.type == "lustre":
        return tuple(address for address, _network in lustre_servers(mount))
    words = _SERVERS[mount.type](mount) if mount.type in _SERVERS else [mount.option("addr")]
    return tuple(server_address(word, hosts) for word in words)
