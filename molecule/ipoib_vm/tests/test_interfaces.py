# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every interface is in the declared state, now and after a reboot, and the machines reach each other."""

from __future__ import annotations

import pytest
from kernel import Host, Interface, interface, number, others, reaches

testinfra_hosts = ["ansible://rdma"]


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", "ipoib_modes", debian12="real")
def test_connected_mode_where_it_is_declared(host: Host) -> None:
    own = number(host)
    assert interface(host, "ib0") == Interface("connected", 65520, True, True, "", ("10.20.0.%s/24" % own, "fd20::%s/64" % own))


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", "ipoib_modes", debian12="real")
def test_datagram_mode_is_the_default(host: Host) -> None:
    """Includes ib1, a port that supports connected mode."""
    assert interface(host, "ib1") == Interface("datagram", 2044, True, True, "", ("10.22.0.%s/24" % number(host),))
    assert interface(host, "ib2") == Interface("datagram", 2044, True, True, "", ("10.23.0.%s/24" % number(host),))


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", "pkeys", debian12="real")
def test_a_partition(host: Host) -> None:
    assert interface(host, "ib0.8001") == Interface("connected", 65520, True, True, "", ("10.21.0.%s/24" % number(host),))


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_the_route(host: Host) -> None:
    assert "via 10.20.0.254 dev ib0" in host.check_output("ip route show 10.99.0.0/24")


@pytest.mark.parametrize(("network", "size"), [("10.20.0", 65000), ("10.21.0", 65000), ("10.22.0", 2000), ("10.23.0", 2000)])
@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_all_others_are_reached(host: Host, network: str, size: int) -> None:
    for other in others(host):
        assert reaches(host, "%s.%s" % (network, other), size), other


def test_nothing_failed(host: Host) -> None:
    assert host.check_output("systemctl --failed --plain --no-legend") == ""
