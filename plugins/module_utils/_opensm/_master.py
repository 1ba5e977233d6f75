# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identify a subnet manager, and tell which of two wins the election. Pure.

The port GUID identifies it where it is known. Otherwise the node description does: rdma-ndd starts it with the host name.
"""

from __future__ import annotations

import re
import typing as t

from .._codes import normal_guid
from .._foreign import hexadecimal

# Node descriptions before rdma-ndd sets the host name: the board or the driver.
_NAMELESS = re.compile(r"^(MT\d+\b|ConnectX|Mellanox|NVIDIA|Connect-IB|HFI)", re.IGNORECASE)


LOWEST = 0
"""The lowest priority."""


class Known(t.NamedTuple):
    """Which subnet managers may be master besides the one on this port."""

    own: frozenset[str] = frozenset()
    """Port GUIDs of this host."""
    guids: frozenset[str] = frozenset()
    """Port GUIDs of other hosts that may run a subnet manager."""
    hosts: tuple[str, ...] = ()
    """The hosts of the inventory."""
    anyone: bool = False
    outranked: bool = False
    """Whether ours may outrank a stranger that has a lower priority."""
    guids_of: t.Mapping[str, t.Sequence[str]] = {}
    """All known port GUIDs of the hosts of the inventory."""
    elsewhere: frozenset[str] = frozenset()
    """Port GUIDs on other fabrics: a master on one of them means that a cable is in the wrong fabric."""

    def host(self, guid: str, description: str) -> str:
        """The host of the inventory with that port GUID. The host name in a node description counts only for hosts whose GUIDs are unknown."""
        owner = next((host for host, guids in self.guids_of.items() if guid in guids), "")
        return owner or host_of(description, [host for host in self.hosts if not self.guids_of.get(host)])


def known_of(options: t.Mapping[str, t.Any]) -> Known:
    """The hosts of the inventory, from the options `known_hosts` and `known_guids` of a module."""
    guids = options.get("known_guids") or {}
    return Known(hosts=tuple(options["known_hosts"]), guids_of={host: tuple(map(normal_guid, own)) for host, own in guids.items()})


class Master(t.NamedTuple):
    """A master subnet manager that is not on this host."""

    guid: str
    lid: int
    priority: int
    description: str
    """Node description; "" where the node did not answer."""
    host: str = ""
    """The inventory name; "" for a stranger, and where only the GUID is known."""
    known: bool = False
    """Whether it runs on a host of the inventory."""

    def __str__(self) -> str:
        return "port GUID %s, LID %d, node description %r" % (self.guid, self.lid, self.description or "(no answer)")

    @property
    def name(self) -> str:
        return self.host or self.guid

    def details(self) -> dict[str, t.Any]:
        """The master in the shape that a module returns."""
        return {"port_guid": self.guid, "lid": self.lid, "priority": self.priority, "node_description": self.description, "host": self.host}


def names_host(description: str) -> bool:
    """Whether a node description contains a host name."""
    return bool(description) and not _NAMELESS.match(description)


def host_of(description: str, hosts: t.Iterable[str]) -> str:
    """The host, out of `hosts`, that a node description such as `node1 mlx5_0` belongs to, with or without domain; "" for a stranger."""
    words = description.split()
    if not words:
        return ""
    name = words[0].lower()
    by_name = {host.lower(): host for host in hosts}
    by_short = {host.split(".", 1)[0]: full for host, full in by_name.items()}
    return by_name.get(name) or by_short.get(name.split(".", 1)[0], "")


def runs_on(guid: str, description: str, *, guids: t.Collection[str], names: t.Iterable[str]) -> bool | None:
    """Whether a subnet manager runs on the host with these port GUIDs and names; None where that can't be told."""
    if guids:
        return guid in guids
    hosts = [name for name in names if name]
    if not hosts or not names_host(description):
        return None
    # The host name is not always the first word: sites change the format of rdma-ndd.
    return any(host_of(word, hosts) for word in re.split(r"[\s;:,]+", description))


def outranks(one: tuple[int, str], other: tuple[int, str]) -> bool:
    """Whether `one` wins the election against `other`. Each is `(priority, port GUID)`; at equal priority the lower GUID wins."""
    return one[0] > other[0] or (one[0] == other[0] and hexadecimal(one[1], 0) < hexadecimal(other[1], 0))
