# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two IPoIB interfaces of one machine in one subnet: which of them answers ARP requests, and which addresses its own requests name,
and by which of them packets leave.

Kernel, ib_ipoib, udev and the boot are Debian's. The third port of the machine is in a network namespace, as if in another host, and hears all of it. The tests
depend on each other.
"""

from __future__ import annotations

import collections.abc
import json
import shlex
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import run, within
from proofs import REAL

NODE = "node1"
PEER = "10.20.0.3"
ADDRESSES = {"ib0": "10.20.0.1", "ib1": "10.20.0.2"}
VARIABLES: dict[str, t.Any] = {
    "ofed_tools": False,
    "ipoib_interfaces": [{"name": name, "addresses": [address + "/24"]} for name, address in ADDRESSES.items()],
}
OURS = "/etc/sysctl.d/90-rdma-ofed.conf"
SERVICE = "rdma-ofed-ipoib-routes.service"
ROUTING = ("-e", json.dumps({"ipoib_network_policy_routing": True}))
_PEER = """
set -e
modprobe ib_ipoib
ip netns list | grep -q peer || ip netns add peer
ip link set ib2 netns peer
ip -n peer address add %s/24 dev ib2
ip -n peer link set ib2 up
"""
# Each side asks for the addresses of the other one until it has an answer. The peer prints what it heard: the address and the hardware address of each sender.
_CLAIMS = """
import select, socket, subprocess
listener = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0806))
listener.bind(("ib2", 0x0806))
peer, *addresses = %r
heard = set()
def ask(*command):
    assert any(subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0 for _try in range(30)), command
for turn in range(5):
    for address in addresses:
        subprocess.run(["ip", "neigh", "flush", "dev", "ib2"], check=True)
        ask("ping", "-c", "1", "-W", "2", address)
        for name in ("ib0", "ib1"):
            subprocess.run(["nsenter", "--net=/proc/1/ns/net", "ip", "neigh", "flush", "dev", name], check=True)
        ask("nsenter", "--net=/proc/1/ns/net", "ping", "-c", "1", "-W", "2", "-I", address, peer)
while select.select([listener], [], [], 2)[0]:
    packet = listener.recv(100)
    length = packet[4]
    heard.add((socket.inet_ntoa(packet[8 + length : 12 + length]), packet[8 : 8 + length].hex(":")))
for claim in sorted(heard):
    print(*claim)
"""


@pytest.fixture(scope="module")
def machine() -> collections.abc.Iterator[Cluster]:
    for cluster in running(PREFIX + "-network", "three-ports"):
        run(cluster, NODE, _PEER % PEER)
        yield cluster


def site(machine: Cluster, *arguments: str) -> Run:
    done = machine.play("site", "-e", json.dumps(VARIABLES), *arguments)
    assert done.status == 0, done.output
    return done


def claims(machine: Cluster) -> set[tuple[str, str]]:
    """Return what the node has told the peer by ARP: its addresses, each with the interface that it named for it."""
    script = "ip netns exec peer python3 -c %s" % shlex.quote(_CLAIMS % ([PEER, *ADDRESSES.values()],))
    names = {run(machine, NODE, "cat /sys/class/net/%s/address" % name): name for name in ADDRESSES}
    heard = (line.split() for line in run(machine, NODE, script).splitlines())
    return {(address, names[hardware]) for address, hardware in heard if address != PEER}


def have_carrier(machine: Cluster) -> bool:
    return run(machine, NODE, "cat %s; true" % " ".join("/sys/class/net/%s/carrier" % name for name in ADDRESSES)).split() == ["1", "1"]


RIGHT = {(address, name) for name, address in ADDRESSES.items()}


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_without_the_role_addresses_are_claimed_by_the_wrong_interface(machine: Cluster) -> None:
    """So the tests below prove something."""
    run(machine, NODE, "".join("ip address add %s/24 dev %s; ip link set %s up;" % (address, name, name) for name, address in ADDRESSES.items()))
    assert within(120, lambda: have_carrier(machine))
    assert claims(machine) > RIGHT
    run(machine, NODE, "".join("ip address flush dev %s; ip link set %s down;" % (name, name) for name in ADDRESSES))


@pytest.mark.proves("ipoib_network", "check_mode", debian12=REAL)
def test_one_run_makes_each_interface_answer_for_itself(machine: Cluster) -> None:
    predicted, done = site(machine, "--check"), site(machine)
    assert records.differences(predicted.events, done.events) == []
    assert within(120, lambda: have_carrier(machine))
    assert claims(machine) == RIGHT


@pytest.mark.proves("ipoib_network", "reboot", "unchanged", debian12=REAL)
def test_it_is_so_after_a_reboot_and_a_second_run_changes_nothing(machine: Cluster) -> None:
    machine.command("restart", NODE)
    run(machine, NODE, _PEER % PEER)
    assert within(120, lambda: have_carrier(machine))
    assert claims(machine) == RIGHT
    assert records.changes(site(machine).events) == {}


def way(machine: Cluster) -> dict[str, str]:
    """Return the interface by which packets to the peer leave, by that of their source address."""
    rows = {name: json.loads(run(machine, NODE, "ip -j route get %s from %s" % (PEER, address))) for name, address in ADDRESSES.items()}
    return {name: row[0]["dev"] for name, row in rows.items()}


def answers(machine: Cluster) -> dict[str, int]:
    """Return how many packets each interface has sent while the peer has pinged the second address 20 times."""
    script = "cat %s" % " ".join("/sys/class/net/%s/statistics/tx_packets" % name for name in ADDRESSES)
    before = run(machine, NODE, script).split()
    run(machine, NODE, "ip netns exec peer ping -q -c 20 -i 0.2 -W 5 %s" % ADDRESSES["ib1"])
    return {name: int(new) - int(old) for name, old, new in zip(ADDRESSES, before, run(machine, NODE, script).split())}


OWN_WAY = {"ib0": "ib0", "ib1": "ib1"}


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_by_default_all_packets_leave_by_one_interface(machine: Cluster) -> None:
    assert len(set(way(machine).values())) == 1


@pytest.mark.proves("ipoib_network", "check_mode", "unchanged", debian12=REAL)
def test_with_policy_routing_each_address_leaves_by_its_own_interface(machine: Cluster) -> None:
    predicted, done = site(machine, *ROUTING, "--check"), site(machine, *ROUTING)
    assert records.differences(predicted.events, done.events) == []
    assert way(machine) == OWN_WAY
    sent = answers(machine)
    assert sent["ib1"] >= 20 > sent["ib0"]
    assert records.changes(site(machine, *ROUTING).events) == {}


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_it_returns_with_an_interface_and_after_a_restart_of_networkd(machine: Cluster) -> None:
    run(machine, NODE, "ip link set ib1 down; ip link set ib1 up; networkctl reconfigure ib1")
    assert within(120, lambda: have_carrier(machine) and way(machine) == OWN_WAY)
    run(machine, NODE, "systemctl restart systemd-networkd")
    assert within(120, lambda: way(machine) == OWN_WAY)
    run(machine, NODE, "ip rule delete priority 30701; ip route flush table 30700; systemctl restart %s" % SERVICE)
    assert within(120, lambda: way(machine) == OWN_WAY)


@pytest.mark.proves("ipoib_network", "reboot", debian12=REAL)
def test_it_is_there_after_a_reboot(machine: Cluster) -> None:
    machine.command("restart", NODE)
    run(machine, NODE, _PEER % PEER)
    assert within(120, lambda: have_carrier(machine) and way(machine) == OWN_WAY)


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_absent_gives_the_settings_back(machine: Cluster) -> None:
    site(machine, *ROUTING, "-e", "ipoib_network_state=absent")
    assert len(set(way(machine).values())) == 1
    left = run(machine, NODE, "ip rule; ls /etc/systemd/system /usr/local/libexec 2>/dev/null || true")
    assert not [word for word in ("3070", "ipoib-routes") if word in left]
    assert run(machine, NODE, "test -e %s || echo gone" % OURS) == "gone"
    assert claims(machine) > RIGHT
