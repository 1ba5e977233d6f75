# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An IPoIB interface that gets its address from a DHCP server. The server is in a network namespace with the third port of the machine, as if on another host.

Kernel, ib_ipoib, systemd-networkd and dnsmasq are Debian's. The tests depend on each other.
"""

from __future__ import annotations

import collections.abc
import json
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import run, within
from proofs import REAL

NODE = "node1"
FILE = "/etc/systemd/network/50-rdma-ib0.network"
INSTALL = "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends dnsmasq-base >/dev/null"
PEER = """
set -e
modprobe ib_ipoib
ip netns list | grep -q peer || ip netns add peer
ip link set ib2 netns peer
ip -n peer address add 10.20.0.3/24 dev ib2
ip -n peer link set ib2 up
"""
SERVER = (
    "ip netns exec peer dnsmasq --port=0 --interface=ib2 --bind-interfaces --user=root --no-ping"
    " --dhcp-leasefile=/tmp/dnsmasq.leases --pid-file=/run/dnsmasq-peer.pid --log-dhcp --log-facility=/tmp/dnsmasq.log"
    " --dhcp-range=10.20.0.50,10.20.0.59,1h --dhcp-option=3,10.20.0.254 --dhcp-option=6,10.20.0.9"
)


@pytest.fixture(scope="module")
def machine() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-dhcp", "three-ports", INSTALL):
        run(cluster, NODE, PEER)
        yield cluster


def play(machine: Cluster, playbook: str, *arguments: str, **interface: t.Any) -> Run:
    variables = {"ofed_tools": False, "ipoib_interfaces": [{"name": "ib0", **interface}]}
    return machine.play(playbook, "-e", json.dumps(variables), *arguments)


def addresses(machine: Cluster) -> list[str]:
    found = json.loads(run(machine, NODE, "ip -j -4 address show dev ib0"))
    return [one["local"] for link in found if link for one in link["addr_info"] if one]


@pytest.mark.proves("networkd", "check_mode", debian12=REAL)
def test_without_a_server_the_address_is_missed(machine: Cluster) -> None:
    predicted, done = play(machine, "site", "--check", dhcp=True), play(machine, "site", dhcp=True, addresses=["10.20.0.1/24"])
    assert "interface ib0 dhcp" in " ".join(done.output.split()), done.output
    assert predicted.status == 0, predicted.output
    assert "ClientIdentifier=duid" in run(machine, NODE, "cat " + FILE)
    assert addresses(machine) == ["10.20.0.1"]


@pytest.mark.proves("networkd", "verify", "unchanged", debian12=REAL)
def test_a_server_gives_the_address_and_nothing_else(machine: Cluster) -> None:
    run(machine, NODE, SERVER)
    run(machine, NODE, "networkctl reconfigure ib0")
    assert within(180, lambda: any(address.startswith("10.20.0.5") for address in addresses(machine))), run(
        machine, NODE, "networkctl status ib0; cat /tmp/dnsmasq.log"
    )
    assert "10.20.0.1" in addresses(machine)
    # RFC 4390: the server knows the client by an identifier of RFC 4361 (type 255), and by no hardware address.
    (lease,) = run(machine, NODE, "cat /tmp/dnsmasq.leases").splitlines()
    assert lease.split()[-1].startswith("ff:"), lease
    assert run(machine, NODE, "ip route show default dev ib0") == ""
    assert "10.20.0.9" not in run(machine, NODE, "cat /etc/resolv.conf; networkctl status ib0")
    declared: dict[str, t.Any] = {"dhcp": True, "addresses": ["10.20.0.1/24"]}
    again = play(machine, "site", **declared)
    assert (again.status, records.changes(again.events)) == (0, {}), again.output
    assert play(machine, "verify", **declared).status == 0
    run(machine, NODE, "ping -c 2 -W 5 10.20.0.3")


@pytest.mark.proves("networkd", "check_mode", debian12=REAL)
def test_without_the_declaration_the_address_goes(machine: Cluster) -> None:
    predicted, done = (play(machine, "site", *check, addresses=["10.20.0.1/24"]) for check in (["--check"], []))
    assert done.status == 0, done.output
    assert records.differences(predicted.events, done.events) == []
    assert within(60, lambda: addresses(machine) == ["10.20.0.1"]), addresses(machine)
