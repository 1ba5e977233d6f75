# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Generates topology files: pure text, in the format of ibnetdiscover."""

from __future__ import annotations

import typing as t

LEAF_HOSTS = 8
SPINES = 2
# A switch of the simulator has up to 254 ports.
LARGE, LARGE_LEAF_HOSTS = 500, 24
_CONNECTX3, _CONNECTX5 = 0x1003, 0x1017


class _Link(t.NamedTuple):
    port: int
    peer: str
    peer_port: int
    peer_name: str
    peer_port_guid: int
    """0 for a switch."""
    rate: str


def generate(hosts: int, containers: int = 0) -> str:
    """Return a fabric of `hosts` nodes: one switch, or leaves of eight hosts (24 in large fabrics) below two spines.

    Hosts are like node1 (ConnectX-5, systemd-networkd); node3 and then every sixth is a ConnectX-3 with ifupdown. With `containers`, only that many nodes run;
    the others are only ports on the fabric.
    """
    leaf_hosts = LEAF_HOSTS if hosts <= LARGE else LARGE_LEAF_HOSTS
    leaves = max(1, -(-hosts // leaf_hosts))
    spines = SPINES if leaves > 1 else 0
    names = ["leaf%d" % (n + 1) for n in range(leaves)] if spines else ["switch1"]
    names += ["spine%d" % (n + 1) for n in range(spines)]
    switch_ids = {name: 0x0002C90300F00000 + 0x10 * (n + 1) for n, name in enumerate(names)}

    old = [n for n in range(1, hosts + 1) if n % 6 == 3]
    text = "#\n# %d nodes%s.\n" % (hosts, ", %d leaf switches and %d spines" % (leaves, spines) if spines else " on one switch")
    text += "".join("# lab node%d network=ifupdown\n" % n for n in old if not containers or n <= containers)
    text += "".join("# lab node%d container=no\n" % n for n in range(containers + 1, hosts + 1) if containers) + "#\n"
    for index, name in enumerate(names):
        links: list[_Link] = []
        if index < leaves:
            for port, n in enumerate(range(index * leaf_hosts + 1, min(hosts, (index + 1) * leaf_hosts) + 1), 1):
                links.append(_Link(port, _ca(n), 1, "node%d" % n, _guid(n) + 1, _rate(n in old)))
            for n in range(spines):
                spine = names[leaves + n]
                links.append(_Link(leaf_hosts + 1 + n, "S-%016x" % switch_ids[spine], index + 1, spine, 0, "4xEDR"))
        else:
            for n in range(leaves):
                links.append(_Link(n + 1, "S-%016x" % switch_ids[names[n]], leaf_hosts + 1 + index - leaves, names[n], 0, "4xEDR"))
        guid = switch_ids[name]
        text += "\nvendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0x%x\nswitchguid=0x%x(%x)\n" % (guid, guid, guid)
        width = max(36, leaves)
        text += 'Switch\t%d "S-%016x"\t\t# "%s" base port 0 lid 0 lmc 0\n' % (width, guid, name)
        for link in links:
            port_guid = "(%x) " % link.peer_port_guid if link.peer_port_guid else ""
            text += '[%d]\t"%s"[%d]%s\t\t# "%s" lid 0 %s\n' % (link.port, link.peer, link.peer_port, port_guid, link.peer_name, link.rate)
    for n in range(1, hosts + 1):
        leaf = names[(n - 1) // leaf_hosts]
        text += "\nvendid=0x2c9\ndevid=0x%x\nsysimgguid=0x%x\ncaguid=0x%x\n" % (_CONNECTX3 if n in old else _CONNECTX5, _guid(n), _guid(n))
        text += 'Ca\t1 "%s"\t\t# "node%d"\n' % (_ca(n), n)
        text += '[1](%x) \t"S-%016x"[%d]\t\t# lid 0 lmc 0 "%s" lid 0 %s\n' % (_guid(n) + 1, switch_ids[leaf], (n - 1) % leaf_hosts + 1, leaf, _rate(n in old))
    return text


def _guid(host: int) -> int:
    return 0x0002C90300001000 + 0x10 * (host - 1)


def _ca(host: int) -> str:
    return "H-%016x" % _guid(host)


def _rate(old: bool) -> str:
    return "4xFDR" if old else "4xEDR"
