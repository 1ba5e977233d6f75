# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which back end is chosen, and when the user must choose."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Evidence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._registry import choose

NETPLAN = {"/etc/netplan/01.yaml": "network: {}\n"}
BY_NM = {"/etc/netplan/01.yaml": "network:\n  renderer: NetworkManager\n"}
IFCFG = {"/etc/sysconfig/network-scripts/ifcfg-eth0": "DEVICE=eth0\n"}
ETH = {"/etc/systemd/network/10-eth.network": "[Match]\nName=eth0\n"}
LO = {"/etc/network/interfaces": "iface lo inet loopback\n"}
BOTH = {"/etc/network/interfaces": "iface lo inet loopback\niface eth0 inet dhcp\n"}


def evidence(*active: str, tools: str = "", enabled: str = "", files: t.Mapping[str, str] = types.MappingProxyType({})) -> Evidence:
    units = {name + ".service": Unit(name + ".service", "loaded", "active") for name in active}
    if enabled:
        units[enabled + ".service"] = Unit(enabled + ".service", "loaded", "inactive", "enabled")
    return Evidence(units, frozenset(tools.split()), files)


def presences(found: Evidence) -> dict[str, Presence]:
    return {backend.name: backend.recognise(found) for backend in _registry.BACKENDS}


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        ("auto", evidence("systemd-networkd"), "systemd-networkd"),
        ("auto", evidence("systemd-networkd", files=ETH), "systemd-networkd"),
        ("auto", evidence("networking", tools="ifup"), "ifupdown"),
        ("auto", evidence(enabled="networking", tools="ifup"), "ifupdown"),
        # Every Debian has ifupdown; networkd runs only if it was enabled.
        ("auto", evidence("systemd-networkd", "networking", tools="ifup", files=LO), "systemd-networkd"),
        ("auto", evidence("systemd-networkd", "networking", tools="ifup", files=BOTH), "ifupdown"),
        ("ifupdown", evidence("systemd-networkd", tools="ifup", files=ETH), "ifupdown"),
        ("systemd-networkd", evidence("systemd-networkd", "NetworkManager"), "systemd-networkd"),
        ("auto", evidence("NetworkManager", tools="nmcli"), "networkmanager"),
        # networkd without any configuration does not compete.
        ("auto", evidence("NetworkManager", "systemd-networkd", tools="nmcli"), "networkmanager"),
        ("auto", evidence("wickedd", tools="wicked"), "wicked"),
        ("auto", evidence("systemd-networkd", tools="netplan", files=NETPLAN), "netplan"),
        # netplan configures NetworkManager, which reads Red Hat's files itself.
        ("auto", evidence("NetworkManager", tools="nmcli netplan", files=BY_NM), "netplan"),
        ("auto", evidence("network", tools="ifup", files=IFCFG), "ifcfg"),
        ("auto", evidence("NetworkManager", "network", tools="nmcli ifup", files=IFCFG), "networkmanager"),
        ("ifcfg", evidence("NetworkManager", tools="nmcli", files=IFCFG), "ifcfg"),
    ],
)
def test_choice(asked: str, found: Evidence, expected: str) -> None:
    assert choose(asked, presences(found)).name == expected


@pytest.mark.parametrize(
    ("asked", "found", "words"),
    [
        (
            "auto",
            evidence("systemd-networkd", "networking", tools="ifup", files={**ETH, **BOTH}),
            ["systemd-networkd", "10-eth.network", "ifupdown", "configures eth0", "ipoib_backend: systemd-networkd or ifupdown"],
        ),
        ("auto", evidence("NetworkManager", "systemd-networkd", files=ETH), ["NetworkManager.service", "ipoib_backend: systemd-networkd or networkmanager"]),
        ("auto", evidence("NetworkManager", "systemd-networkd", tools="netplan", files=NETPLAN), ["01.yaml", "NetworkManager.service"]),
        ("auto", evidence(tools="netplan", files=NETPLAN), ["systemd-networkd.service is not active"]),
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
        choose(asked, presences(found))
    for word in words:
        assert word in caught.value.msg


def test_no_backend_at_all() -> None:
    with pytest.raises(Unsupported, match="none of %s is in use" % ", ".join(backend.name for backend in _registry.BACKENDS)):
        choose("auto", presences(evidence()))


def test_backends_whose_files_matter() -> None:
    found = evidence("NetworkManager", tools="nmcli", files=IFCFG)
    assert {name for name, presence in presences(found).items() if presence.in_use} == {"networkmanager", "ifcfg"}
