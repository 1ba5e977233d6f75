# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing of the collection is left."""

from __future__ import annotations

import pytest
from kernel import Host, interface, untruths

testinfra_hosts = ["ansible://rdma"]


@pytest.mark.proves("check_mode", "unchanged", debian12="real")
def test_check_mode_and_a_second_run_tell_the_truth() -> None:
    assert untruths("remove") == []


@pytest.mark.parametrize("name", ["ib0", "ib1", "ib2"])
@pytest.mark.proves("remove", debian12="real")
def test_interfaces_are_as_the_kernel_makes_them(host: Host, name: str) -> None:
    found = interface(host, name)
    assert found is not None
    assert (found.mode, found.master, found.addresses, found.up) == ("datagram", "", (), False)


@pytest.mark.proves("bonds", "remove", debian12="real")
def test_the_bond_is_gone(host: Host) -> None:
    assert interface(host, "bond0") is None


@pytest.mark.proves("remove", debian12="real")
def test_no_file_is_left(host: Host) -> None:
    folders = "/etc/systemd/network /etc/network /etc/NetworkManager /etc/netplan /etc/systemd/system /etc/udev/rules.d /usr/local/libexec"
    assert host.run("find %s -name '*rdma*' ! -name '*rdmalab*' 2>/dev/null" % folders).stdout == ""
