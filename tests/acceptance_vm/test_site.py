# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole site on one machine: kernel, ib_ipoib, systemd-networkd, udev and the boot are Debian's.

The second port of its adapter is in a network namespace, as if in another machine: traffic between the ports passes ib_ipoib on both sides. The tests depend on
each other.
"""

from __future__ import annotations

import collections.abc
import json
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import Look, look, run, within
from proofs import REAL

pytestmark = pytest.mark.quick

NODE = "node1"
VARIABLES: dict[str, t.Any] = {
    "ofed_tools": False,
    "kernel_modules_options": {"ib_ipoib": {"send_queue_size": 256}},
    "ipoib_interfaces": [
        {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.1/24"]},
        {"parent": "ib0", "pkey": 0x8001, "mode": "connected", "addresses": ["10.21.0.1/24"]},
    ],
}
# The largest packets of connected mode, over the port and over its partition. The peer ends with the script.
_TRAFFIC = """
set -e
ip netns add peer
trap 'ip -n peer link set ib1 netns 1; ip netns delete peer' EXIT
ip link set ib1 netns peer
ip netns exec peer sh -c 'echo connected >/sys/class/net/ib1/mode'
ip -n peer link set ib1 mtu 65520 up
ip -n peer link add link ib1 name ib1.8001 type ipoib pkey 0x8001 mode connected
ip -n peer link set ib1.8001 mtu 65520 up
ip -n peer address add 10.20.0.2/24 dev ib1
ip -n peer address add 10.21.0.2/24 dev ib1.8001
for peer in 10.20.0.2 10.21.0.2; do
    for try in $(seq 30); do ping -q -c 1 -W 2 $peer >/dev/null && break; done
    ping -q -c 3 -i 0.2 -W 5 -M do -s 65000 $peer
done
cat /sys/class/net/ib0/statistics/rx_bytes /sys/class/net/ib0.8001/statistics/rx_bytes
"""


@pytest.fixture(scope="module")
def machine() -> collections.abc.Iterator[Cluster]:
    yield from running(PREFIX + "-site", "one-machine")


def site(machine: Cluster, *arguments: str) -> Run:
    done = machine.play("site", "-e", json.dumps(VARIABLES), *arguments)
    assert done.status == 0, done.output
    return done


def queue_size(machine: Cluster) -> str:
    return run(machine, NODE, "cat /sys/module/ib_ipoib/parameters/send_queue_size")


def check_interfaces(machine: Cluster) -> None:
    for name, address in (("ib0", "10.20.0.1/24"), ("ib0.8001", "10.21.0.1/24")):
        expected = Look("connected", 65520, True, (address,))
        assert within(60, lambda name=name, expected=expected: look(machine, NODE, name) == expected), look(machine, NODE, name)  # type: ignore[misc]


def check_traffic(machine: Cluster) -> None:
    *_, port, child = run(machine, NODE, _TRAFFIC).split()
    assert int(port) > 3 * 65000, port
    assert int(child) > 3 * 65000, child


@pytest.mark.proves("check_mode", debian12=REAL)
def test_check_mode_predicts_the_run(machine: Cluster) -> None:
    predicted, done = site(machine, "--check"), site(machine)
    assert records.differences(predicted.events, done.events) == []
    assert {host for _play, _task, host in records.changes(done.events)} == {NODE}


@pytest.mark.proves("networkd", "pkeys", debian12=REAL)
def test_both_partitions_have_traffic(machine: Cluster) -> None:
    check_interfaces(machine)
    check_traffic(machine)


@pytest.mark.proves("modules", debian12=REAL)
def test_sessions_and_services_may_lock_all_memory(machine: Cluster) -> None:
    assert run(machine, NODE, "su -l -s /bin/sh -c 'ulimit -l' nobody 2>/dev/null") == "unlimited"
    assert run(machine, NODE, "systemd-run --quiet --wait --pipe --collect /bin/sh -c 'ulimit -l'") == "unlimited"


@pytest.mark.proves("reboot", debian12=REAL)
def test_all_of_it_is_there_after_a_reboot(machine: Cluster) -> None:
    assert queue_size(machine) != "256"
    machine.command("restart", NODE)
    assert queue_size(machine) == "256"
    check_interfaces(machine)
    check_traffic(machine)


@pytest.mark.proves("unchanged", debian12=REAL)
def test_a_second_run_changes_nothing(machine: Cluster) -> None:
    assert records.changes(site(machine).events) == {}
