# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""RDMA devices get the names of rails at a boot, from the udev and the rdma_rename of Debian. The tests depend on each other.

Each adapter is a PCI function of its own whose driver is software. Only hardware can show when the driver of a card has filled its GID table, which the rule
for a port GUID reads, and how devices of virtual functions, subfunctions and bonded ports are named.
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
RULE = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
# By device: the PCI function behind it.
_DEVICES = 'cd /sys/class/infiniband; for name in *; do echo "$name $(basename $(readlink -f $name/device))"; done'


@pytest.fixture(scope="module")
def machine() -> collections.abc.Iterator[Cluster]:
    yield from running(PREFIX + "-rails", "three-ports")


def devices(machine: Cluster) -> dict[str, str]:
    return dict(line.split() for line in run(machine, NODE, _DEVICES).splitlines())


def play(machine: Cluster, playbook: str, *arguments: str, **variables: t.Any) -> Run:
    done = machine.play(playbook, "-e", json.dumps({"ofed_tools": False, **variables}), *arguments)
    assert done.status == 0, done.output
    return done


def pending(run: Run) -> str:
    return " ".join(run.output.split())


@pytest.mark.proves("names", "check_mode", "unchanged", debian12=REAL)
def test_after_a_boot_devices_have_the_names_of_their_rails(machine: Cluster) -> None:
    before = devices(machine)
    assert sorted(before) == ["mlx4_0", "mlx5_0"]
    guid = run(machine, NODE, "cat /sys/class/infiniband/mlx5_0/ports/1/gids/0").replace(":", "")[-16:]
    # The order of the names is not that of the driver.
    declared = {"rdma1": {"pci": before["mlx4_0"]}, "rdma0": {"port_guid": "0x" + guid, "interface": "rail0"}}
    interfaces = [{"rail": "rdma0", "addresses": ["10.23.0.1/24"]}]
    variables = {"rdma_rails": declared, "rdma_ports": ["rdma1/1", "rdma1/2", "rdma0"], "ipoib_interfaces": interfaces}
    play(machine, "site", "--check", **variables)
    done = play(machine, "site", **variables)
    assert "RDMA device mlx4_0 name: mlx4_0 -> rdma1" in pending(done), done.output
    assert "RDMA device mlx5_0 name: mlx5_0 -> rdma0" in pending(done), done.output
    address = "ip -brief address show dev rail0"
    assert "10.23.0.1/24" in run(machine, NODE, address)
    machine.command("restart", NODE)
    assert devices(machine) == {"rdma1": before["mlx4_0"], "rdma0": before["mlx5_0"]}
    assert run(machine, NODE, "cat /sys/class/net/rail0/address").replace(":", "")[-16:] == guid
    assert within(60, lambda: "10.23.0.1/24" in run(machine, NODE, address))
    assert records.changes(play(machine, "site", **variables).events) == {}
    play(machine, "verify", **variables)
    # What no rail is named as rdma-core names it.
    assert 'ENV{RDMA_OFED_RAIL}=="", PROGRAM="rdma_rename %k NAME_FALLBACK"' in run(machine, NODE, "cat %s" % RULE)


@pytest.mark.long
@pytest.mark.proves("names", debian12=REAL)
def test_the_order_of_addresses_names_adapters_and_its_end_gives_the_names_back(machine: Cluster) -> None:
    places = sorted(devices(machine).values())
    play(machine, "site", rdma_rails="pci_order", rdma_ports=["rdma0/1", "rdma1/1"])
    play(machine, "verify", rdma_rails="pci_order", rdma_ports=["rdma0/1", "rdma1/1"], node_check_rails={})
    machine.command("restart", NODE)
    assert devices(machine) == {"rdma%d" % number: place for number, place in enumerate(places)}
    play(machine, "verify", rdma_rails="pci_order", rdma_ports=["rdma0/1", "rdma1/1"])
    play(machine, "site")
    machine.command("restart", NODE)
    assert sorted(name[:3] for name in devices(machine)) == ["ibp", "ibp"]
