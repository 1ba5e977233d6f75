# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Output of the tools for a large fabric: a fat tree with three levels of 36-port switches, and one adapter per host."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output

HALF = 18
_LINK = "==( 4X      25.78125 Gbps Active/  LinkUp)==>  "
_DOWN = '==(                Down/ Polling)==>             [  ] "" ( )\n'


class Place(t.NamedTuple):
    """A port of a node."""

    node: int
    port: int


class Fabric(t.NamedTuple):
    """A fabric with numbered nodes: hosts first, then leaves, spines and cores."""

    hosts: int
    names: t.Sequence[str]
    links: t.Mapping[Place, Place]
    """Links in both directions."""

    def guid(self, node: int) -> str:
        return "%016x" % (0x0002C90300000000 + 16 * node + 1)

    def lid(self, node: int) -> int:
        return node + 1

    def is_host(self, node: int) -> bool:
        return node < self.hosts

    def ports(self, node: int) -> range:
        return range(1, 2 if self.is_host(node) else 2 * HALF + 1)


def fat_tree(hosts: int) -> Fabric:
    leaves = -(-hosts // HALF)
    pods = -(-leaves // HALF)
    spines, cores = pods * HALF, HALF * HALF
    assert pods <= 2 * HALF
    names = ["node%d mlx5_0" % number for number in range(hosts)]
    for level, count in (("leaf", leaves), ("spine", spines), ("core", cores)):
        names += ["MF0;%s%d:MQM8700/U1" % (level, number) for number in range(count)]
    found: dict[Place, Place] = {}

    def connect(one: Place, other: Place) -> None:
        found.update({one: other, other: one})

    for host in range(hosts):
        connect(Place(host, 1), Place(hosts + host // HALF, host % HALF + 1))
    for leaf in range(leaves):
        for up in range(HALF):
            connect(Place(hosts + leaf, HALF + up + 1), Place(hosts + leaves + leaf // HALF * HALF + up, leaf % HALF + 1))
    for spine in range(spines):
        for up in range(HALF):
            connect(Place(hosts + leaves + spine, HALF + up + 1), Place(hosts + leaves + spines + spine % HALF * HALF + up, spine // HALF + 1))
    return Fabric(hosts, names, found)


def ibnetdiscover(fabric: Fabric) -> str:
    lines = ["#\n# Topology file: generated on Fri Aug  8 06:33:24 2025\n#\n# Initiated from node %s port %s\n" % ((fabric.guid(0),) * 2)]
    for node, name in enumerate(fabric.names):
        guid, host = fabric.guid(node), fabric.is_host(node)
        lines.append("\nvendid=0x2c9\ndevid=0x%s\nsysimgguid=0x%s\n" % ("1017" if host else "d2f0", guid.lstrip("0")))
        if host:
            lines.append('caguid=0x%s\nCa\t1 "H-%s"\t\t# "%s"\n' % (guid.lstrip("0"), guid, name))
        else:
            form = 'switchguid=0x%s(%s)\nSwitch\t36 "S-%s"\t\t# "%s" enhanced port 0 lid %d lmc 0\n'
            lines.append(form % (guid.lstrip("0"), guid.lstrip("0"), guid, name, fabric.lid(node)))
        for port in fabric.ports(node):
            peer = fabric.links.get(Place(node, port))
            if peer is None:
                continue
            far = '"%s-%s"[%d]' % ("H" if fabric.is_host(peer.node) else "S", fabric.guid(peer.node), peer.port)
            behind = '"%s" lid %d 4xEDR\n' % (fabric.names[peer.node], fabric.lid(peer.node))
            if host:
                lines.append("[%d](%s) \t%s\t\t# lid %d lmc 0 %s" % (port, guid.lstrip("0"), far, fabric.lid(node), behind))
            else:
                of_host = "(%s) " % fabric.guid(peer.node).lstrip("0") if fabric.is_host(peer.node) else ""
                lines.append("[%d]\t%s%s\t\t# %s" % (port, far, of_host, behind))
    return "".join(lines)


def iblinkinfo(fabric: Fabric) -> str:
    lines = []
    for node, name in enumerate(fabric.names):
        for port in fabric.ports(node):
            near = '0x%s "%30s" %6d %4d[  ] ' % (fabric.guid(node), name, fabric.lid(node), port)
            peer = fabric.links.get(Place(node, port))
            if peer is None:
                lines.append(near + _DOWN)
            else:
                lines.append(
                    '%s%s0x%s %6d %4d[  ] "%s" ( )\n' % (near, _LINK, fabric.guid(peer.node), fabric.lid(peer.node), peer.port, fabric.names[peer.node])
                )
    return "".join(lines)


def sm_records(fabric: Fabric) -> str:
    form = (
        "SMInfoRecord dump:\n\t\tRID\n\t\tLID...................1\n\t\tSMInfo dump:\n\t\tGUID..................0x%s\n\t\tSM_Key................0x0\n"
        "\t\tActCount..............126\n\t\tPriority..............14\n\t\tSMState...............3\n"
    )
    return form % fabric.guid(0)


def mc_members(fabric: Fabric, trusted: bool) -> str:
    """Return the broadcast group of IPoIB with all hosts as members."""
    form = (
        "MCMember Record dump:\n\t\tMGID....................ff12:401b:ffff::ffff:ffff\n\t\tPortGid.................%s\n\t\tqkey....................0xb1b\n"
        "\t\tmlid....................0xc000\n\t\tmtu.....................0x84\n\t\tTClass..................0x0\n\t\tpkey....................0xffff\n"
        "\t\trate....................0x83\n\t\tpkt_life................0x92\n\t\tSL......................0x0\n\t\tFlowLabel...............0x0\n"
        "\t\tHopLimit................0x0\n\t\tScope...................0x2\n\t\tJoinState...............0x1\n\t\tProxyJoin...............0x0\n"
    )
    if not trusted:
        return form % "::"
    return "".join(form % ("fe80::%x:%x:%x:%x" % tuple(int(fabric.guid(host)[at : at + 4], 16) for at in (0, 4, 8, 12))) for host in range(fabric.hosts))


def pkey_tables(fabric: Fabric) -> str:
    """Return the tables of all ports, including those of switches."""
    form = (
        "PKeyTableRecord dump:\n\t\tLID........................%d\n\t\tPort.......................%d\n\t\tBlock......................0\n\t\tPKey Table:\n%s\n"
    )
    rows = "\t\t0xffff" + " 0x0000" * 7 + "\n" + ("\t\t0x0000" + " 0x0000" * 7 + "\n") * 3
    found = []
    for node in range(len(fabric.names)):
        ports = fabric.ports(node) if fabric.is_host(node) else range(2 * HALF + 1)
        found += [form % (fabric.lid(node), port, rows) for port in ports]
    return "".join(found)


class Tools:
    """The Runner of a host on the fabric."""

    def __init__(self, fabric: Fabric) -> None:
        self._said = {
            "ibnetdiscover": ibnetdiscover(fabric),
            "iblinkinfo": iblinkinfo(fabric),
            "SMIR": sm_records(fabric),
            "PKTR": pkey_tables(fabric),
            "MCMR": mc_members(fabric, trusted=False),
            "members": mc_members(fabric, trusted=True),
        }

    def has(self, tool: str) -> bool:
        return True

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        what = argv[-1] if argv[0] == "saquery" else argv[0]
        return Output(0, self._said["members" if what == "MCMR" and "--smkey" in argv else what], "")
