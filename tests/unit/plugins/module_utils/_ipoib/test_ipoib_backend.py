# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which network stack is taken, and when the choice is left to the user."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Evidence, choose, in_use


def evidence(
    *active: str, tools: str = "", enabled: str = "", netplan: tuple[str, ...] = (), networkd: tuple[str, ...] = (), ifupdown: tuple[str, ...] = ()
) -> Evidence:
    units = {name + ".service": Unit(name + ".service", "loaded", "active") for name in active}
    if enabled:
        units[enabled + ".service"] = Unit(enabled + ".service", "loaded", "inactive", "dead", "enabled")
    return Evidence(units, frozenset(tools.split()), netplan, networkd, ifupdown)


IFCFG = ("/etc/sysconfig/network-scripts/ifcfg-eth0",)
ETH = ("/etc/systemd/network/10-eth.network",)


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        ("auto", evidence("systemd-networkd"), "systemd-networkd"),
        ("auto", evidence("systemd-networkd", networkd=ETH), "systemd-networkd"),
        ("auto", evidence("networking", tools="ifup"), "ifupdown"),
        ("auto", evidence(enabled="networking", tools="ifup"), "ifupdown"),
        # ifupdown is on every Debian; networkd runs only where somebody wants it.
        ("auto", evidence("systemd-networkd", "networking", tools="ifup", ifupdown=("lo",)), "systemd-networkd"),
        ("auto", evidence("systemd-networkd", "networking", tools="ifup", ifupdown=("eth0",)), "ifupdown"),
        ("ifupdown", evidence("systemd-networkd", tools="ifup", networkd=ETH), "ifupdown"),
        ("systemd-networkd", evidence("systemd-networkd", "NetworkManager"), "systemd-networkd"),
        ("auto", evidence("NetworkManager", tools="nmcli"), "networkmanager"),
        # One that nobody has given anything to is no second one.
        ("auto", evidence("NetworkManager", "systemd-networkd", tools="nmcli"), "networkmanager"),
        ("auto", evidence("wickedd", tools="wicked"), "wicked"),
        ("auto", evidence("systemd-networkd", tools="netplan", netplan=("/etc/netplan/01.yaml",)), "netplan"),
        # netplan is in front of NetworkManager, which reads Red Hat's files itself.
        ("auto", evidence("NetworkManager", tools="nmcli netplan", netplan=("/etc/netplan/01.yaml",))._replace(netplan_renderer="NetworkManager"), "netplan"),
        ("auto", evidence("network", tools="ifup")._replace(ifcfg_files=IFCFG), "ifcfg"),
        ("auto", evidence("NetworkManager", "network", tools="nmcli ifup")._replace(ifcfg_files=IFCFG), "networkmanager"),
        ("ifcfg", evidence("NetworkManager", tools="nmcli")._replace(ifcfg_files=IFCFG), "ifcfg"),
    ],
)
def test_choice(asked: str, found: Evidence, expected: str) -> None:
    assert choose(asked, found) == expected


@pytest.mark.parametrize(
    ("asked", "found", "words"),
    [
        (
            "auto",
            evidence("systemd-networkd", "networking", tools="ifup", networkd=ETH, ifupdown=("eth0", "lo")),
            ["systemd-networkd", "10-eth.network", "ifupdown", "configures eth0", "ipoib_backend: systemd-networkd or ifupdown"],
        ),
        ("auto", evidence("NetworkManager", "systemd-networkd", networkd=ETH), ["NetworkManager.service", "ipoib_backend: networkmanager or systemd-networkd"]),
        ("auto", evidence("NetworkManager", "systemd-networkd", tools="netplan", netplan=("/etc/netplan/01.yaml",)), ["01.yaml", "NetworkManager.service"]),
        ("auto", evidence(tools="netplan", netplan=("/etc/netplan/01.yaml",)), ["systemd-networkd.service is not active"]),
        ("networkmanager", evidence("systemd-networkd", tools="nmcli"), ["NetworkManager.service is not active"]),
        ("wicked", evidence("systemd-networkd"), ["wickedd.service is not active"]),
        ("netplan", evidence("systemd-networkd"), ["netplan is not installed"]),
        ("ifcfg", evidence("systemd-networkd"), ["neither network-scripts (ifup) nor NetworkManager"]),
        ("systemd-networkd", evidence("networking", tools="ifup"), ["systemd-networkd.service is not active"]),
        ("ifupdown", evidence("systemd-networkd"), ["ifup is not installed"]),
    ],
)
def test_refusals(asked: str, found: Evidence, words: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        choose(asked, found)
    for word in words:
        assert word in caught.value.msg


def test_no_stack_at_all() -> None:
    with pytest.raises(Unsupported, match="none of systemd-networkd, ifupdown, networkmanager, netplan, ifcfg, wicked is in use"):
        choose("auto", evidence())


def test_stacks_whose_files_matter() -> None:
    found = evidence("NetworkManager", tools="nmcli")._replace(ifcfg_files=IFCFG)
    assert in_use(found) == {"networkmanager", "ifcfg"}
