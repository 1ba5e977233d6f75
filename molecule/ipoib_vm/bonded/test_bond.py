# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A bond of two ports in connected mode: traffic continues when one port is taken off the fabric."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import pytest
from kernel import Host, Interface, interface, number, others, reaches, untruths

testinfra_hosts = ["ansible://rdma"]
LAB = pathlib.Path(os.environ["MOLECULE_PROJECT_DIRECTORY"]) / "tests/lab/lab"


def cable(host: Host, state: str) -> None:
    argv = [sys.executable, str(LAB), "fault", "link", host.backend.host, state]
    subprocess.run([*argv, "--port", "mlx4_0/1"], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def active(host: Host) -> str:
    return str(host.check_output("cat /sys/class/net/bond0/bonding/active_slave"))


@pytest.mark.proves("check_mode", "unchanged", debian12="real")
def test_check_mode_and_a_second_run_tell_the_truth() -> None:
    assert untruths("bond") == []


@pytest.mark.proves("bonds", "networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_the_bond_is_as_declared(host: Host) -> None:
    found = interface(host, "bond0")
    assert found is not None
    assert found[1:] == (65520, True, True, "", ("10.20.0.%s/24" % number(host),))
    for name in ("ib0", "ib1"):
        assert interface(host, name) == Interface("connected", 65520, True, True, "bond0", ())
    options = host.check_output("cd /sys/class/net/bond0/bonding; cat mode fail_over_mac primary miimon").split("\n")
    assert [option.split()[0] for option in options] == ["active-backup", "active", "ib0", "100"]


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_what_is_not_declared_any_more_is_gone(host: Host) -> None:
    assert interface(host, "ib0.8001") is None
    assert host.check_output("ip route show 10.99.0.0/24") == ""


@pytest.mark.proves("ipoib_modes", debian12="real")
def test_the_largest_datagram_mtu(host: Host) -> None:
    assert interface(host, "ib2") == Interface("datagram", 4092, True, True, "", ("10.23.0.%s/24" % number(host),))
    for other in others(host):
        assert reaches(host, "10.23.0.%s" % other, 4064)


@pytest.mark.proves("bonds", debian12="real")
def test_traffic_goes_on_over_the_other_port(host: Host) -> None:
    for other in others(host):
        assert reaches(host, "10.20.0.%s" % other, 65000)
    cable(host, "down")
    try:
        for other in others(host):
            assert reaches(host, "10.20.0.%s" % other)
        assert active(host) == "ib1"
    finally:
        cable(host, "up")
    for other in others(host):
        assert reaches(host, "10.20.0.%s" % other)
