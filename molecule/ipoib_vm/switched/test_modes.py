# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The mode of an active interface is switched both ways."""

from __future__ import annotations

import pytest
from kernel import Host, Interface, interface, number, others, reaches, untruths

testinfra_hosts = ["ansible://rdma"]


@pytest.mark.proves("check_mode", "unchanged", debian12="real")
def test_check_mode_and_a_second_run_tell_the_truth() -> None:
    assert untruths("switch") == []


@pytest.mark.proves("ipoib_modes", debian12="real")
def test_from_connected_to_datagram(host: Host) -> None:
    own = number(host)
    assert interface(host, "ib0") == Interface("datagram", 2044, True, True, "", ("10.20.0.%s/24" % own, "fd20::%s/64" % own))
    assert interface(host, "ib0.8001") == Interface("datagram", 2044, True, True, "", ("10.21.0.%s/24" % own,))


@pytest.mark.proves("ipoib_modes", debian12="real")
def test_from_datagram_to_connected(host: Host) -> None:
    assert interface(host, "ib1") == Interface("connected", 65520, True, True, "", ("10.22.0.%s/24" % number(host),))


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_a_route_that_is_no_longer_declared_is_gone(host: Host) -> None:
    assert host.check_output("ip route show 10.99.0.0/24") == ""


@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12="real")
def test_all_others_are_reached(host: Host) -> None:
    for other in others(host):
        assert reaches(host, "10.20.0.%s" % other, 2000), other
        assert reaches(host, "10.21.0.%s" % other, 2000), other
        assert reaches(host, "10.22.0.%s" % other, 65000), other
