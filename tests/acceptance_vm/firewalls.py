# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A machine with two IPoIB interfaces and a firewall, and a peer in a network namespace that connects to both interfaces."""

from __future__ import annotations

import json
import pathlib
import shlex
import typing as t

import records
from cluster import Cluster, Run
from interfaces import run, within

NODE = "node1"
ADDRESSES = {"ib0": "10.20.0.1", "ib1": "10.23.0.1"}
VARIABLES: dict[str, t.Any] = {"ofed_tools": False, "ipoib_interfaces": [{"name": "ib0", "addresses": [ADDRESSES["ib0"] + "/24"]}]}
"""ib1 is not declared."""
TRUSTED = ("-e", "ipoib_network_firewall=trusted")
PLAY = [{"name": "The network", "hosts": "rdma", "gather_facts": False, "roles": [{"role": "rdma.ofed.ipoib_network", "vars": VARIABLES}]}]
# ib2 gets into another host, and ib1 an address. Both answer for their own addresses only: one that is trusted would receive the packets for the other one.
_PEER = """
set -e
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
modprobe ib_ipoib
ip netns add peer
ip link set ib2 netns peer
ip -n peer address add 10.20.0.3/24 dev ib2
ip -n peer address add 10.23.0.3/24 dev ib2
ip -n peer link set ib2 up
ip address add 10.23.0.1/24 dev ib1
ip link set ib1 up
systemd-run --quiet --unit=listener python3 -m http.server 4711
"""
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 4711), 5)"
_FILES = "cd / && find etc/firewalld etc/ufw -type f ! -name 'trusted.xml*' -exec sha256sum {} + | sort"


class Site(t.NamedTuple):
    machine: Cluster
    playbook: pathlib.Path

    def run(self, script: str) -> str:
        return run(self.machine, NODE, script)

    def play(self, *arguments: str) -> Run:
        return self.machine.play(str(self.playbook), *arguments)

    def connect(self) -> None:
        """Set the peer up."""
        self.run(_PEER)

    def site(self, *arguments: str) -> Run:
        done = self.machine.play("site", "-e", json.dumps(VARIABLES), *arguments)
        assert done.status == 0, done.output
        return done

    def changes(self, *arguments: str) -> list[t.Any]:
        done = self.play(*arguments)
        assert done.status == 0, done.output
        return [change for changes in records.changes(done.events).values() for each in changes for change in each]

    def verified(self, *arguments: str) -> str:
        return self.machine.play("verify", "-e", json.dumps(VARIABLES), *arguments).output

    def files(self) -> str:
        """Return the checksums of the files of the firewalls, apart from that of the zone `trusted`."""
        return self.run(_FILES)

    def is_ready(self) -> bool:
        return within(120, self._has_carriers)

    def _has_carriers(self) -> bool:
        return self.run("cat /sys/class/net/ib0/carrier /sys/class/net/ib1/carrier").split() == ["1", "1"]

    def reached(self) -> set[str]:
        """Return the interfaces whose addresses the peer can connect to."""
        script = "ip netns exec peer python3 -c %s %s 2>/dev/null && echo yes || echo no"
        return {name for name, address in ADDRESSES.items() if self.run(script % (shlex.quote(_CONNECT), address)) == "yes"}

    def answer(self) -> str:
        return self.run("firewall-cmd --get-zone-of-interface=ib0 2>&1 || true")
