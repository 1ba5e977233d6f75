# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which network stack is taken, and when the choice is left to the user."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Unit
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Evidence, choose


def evidence(
    *active: str, tools: str = "", enabled: str = "", netplan: tuple[str, ...] = (), networkd: tuple[str, ...] = (), ifupdown: tuple[str, ...] = ()
) -> Evidence:
    units = {name + ".service": Unit(name + ".service", "loaded", "active") for name in active}
    if enabled:
        units[enabled + ".service"] = Unit(enabled + ".service", "loaded", "inactive", "dead", "enabled")
    return Evidence(units, frozenset(tools.split()), netplan, networkd, ifupdown)


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
        ("auto", evidence("NetworkManager", "systemd-networkd", networkd=ETH), ["NetworkManager", "ipoib_backend: systemd-networkd"]),
        ("systemd-networkd", evidence("networking", tools="ifup"), ["systemd-networkd.service is not active"]),
        ("ifupdown", evidence("systemd-networkd"), ["ifup is not installed"]),
    ],
)
def test_refusals(asked: str, found: Evidence, words: list[str]) -> None:
    with pytest.raises(Refused) as caught:
        choose(asked, found)
    for word in words:
        assert word in caught.value.msg


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (evidence("NetworkManager"), "NetworkManager (NetworkManager.service is active): planned, not in this release"),
        (evidence("wickedd"), "wicked"),
        (evidence("systemd-networkd", tools="netplan", netplan=("/etc/netplan/01.yaml",)), "netplan (/etc/netplan/01.yaml exists)"),
        (evidence(), "neither systemd-networkd nor ifupdown"),
    ],
)
def test_unsupported(found: Evidence, words: str) -> None:
    with pytest.raises(Unsupported) as caught:
        choose("auto", found)
    assert words in caught.value.msg
