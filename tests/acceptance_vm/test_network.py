# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two IPoIB interfaces of one machine in one subnet: which of them answers ARP requests, and which addresses its own requests name.

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


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_absent_gives_the_settings_back(machine: Cluster) -> None:
    site(machine, "-e", "ipoib_network_state=absent")
    assert run(machine, NODE, "test -e %s || echo gone" % OURS) == "gone"
    assert claims(machine) > RIGHT
