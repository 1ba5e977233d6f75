# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each node is as its inventory declares, checked with standard tools instead of those of the collection."""

from __future__ import annotations

import typing as t

import pytest

testinfra_hosts = ["ansible://rdma"]

Host = t.Any


def declared(host: Host) -> t.Dict[str, t.Any]:
    return t.cast(t.Dict[str, t.Any], host.ansible.get_variables())


def designated(host: Host) -> bool:
    return "opensm" in declared(host)["group_names"]


@pytest.mark.proves("packages", "opensm", debian12="real")
def test_the_declared_port_is_active(host: Host) -> None:
    for name in declared(host)["rdma_ports"]:
        place, port = name.split("/")
        output = host.check_output("ibstat $(ls /sys/bus/pci/devices/%s/infiniband) %s" % (place, port))
        assert "State: Active" in output
        assert "Physical state: LinkUp" in output


@pytest.mark.proves("opensm", debian12="real")
def test_the_master_is_the_designated_host(host: Host) -> None:
    master = host.check_output("sminfo")
    assert "SMINFO_MASTER" in master
    guids = {
        name: other.check_output("cat /sys/class/infiniband/*/ports/1/gids/0").replace(":", "")[-16:]
        for name in ("node1", "node2", "node3")
        for other in [host.get_host("ansible://%s" % name, ansible_inventory=host.backend.ansible_inventory)]
    }
    guid = master.split("sm guid 0x")[1].split(",")[0].rjust(16, "0")
    assert [name for name, found in guids.items() if found == guid] == ["node1"]


@pytest.mark.proves("opensm", debian12="real")
def test_opensm_runs_on_the_designated_host_only(host: Host) -> None:
    state = host.check_output("systemctl show -p ActiveState -p LoadState --value rdma-opensm@ib.service").split()
    if designated(host):
        assert sorted(state) == ["active", "loaded"]
        assert host.service("rdma-opensm@ib").is_enabled
    else:
        assert sorted(state) == ["inactive", "not-found"]
    # The package's unit must not start a second subnet manager, even if it is enabled.
    assert host.check_output("systemctl show -p LoadState --value opensm.service").strip() == "masked"
    assert len(host.process.filter(comm="opensm")) == designated(host)


@pytest.mark.proves("networkd", "ifupdown", debian12="real")
def test_the_interface_is_as_declared(host: Host) -> None:
    for wanted in declared(host)["ipoib_interfaces"]:
        interface = host.interface(wanted["name"])
        assert interface.exists
        addresses = host.check_output("ip -o addr show dev %s scope global" % wanted["name"])
        for address in wanted["addresses"]:
            assert " %s " % address in addresses
        folder = "/sys/class/net/%s" % wanted["name"]
        if wanted["mode"] != "auto":
            assert host.file("%s/mode" % folder).content_string.strip() == wanted["mode"]
        if "mtu" in wanted:
            assert host.file("%s/mtu" % folder).content_string.strip() == str(wanted["mtu"])


@pytest.mark.parametrize("name", ["ib_umad", "ib_uverbs", "rdma_ucm", "ib_ipoib"])
@pytest.mark.proves("modules", debian12="real")
def test_the_module_is_loaded_now_and_at_boot(host: Host, name: str) -> None:
    assert name in host.check_output("lsmod").split()
    assert host.run("grep -rqx %s /etc/rdma/modules /etc/modules-load.d" % name).rc == 0


def test_nothing_of_ours_failed(host: Host) -> None:
    failed = host.check_output("systemctl --failed --plain --no-legend")
    assert not [line for line in failed.splitlines() if any(word in line for word in ("opensm", "modules-load", "networkd", "networking"))]
