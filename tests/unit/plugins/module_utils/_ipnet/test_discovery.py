# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones and rules that were set by hand, as declarations."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._discovery import read
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._firewall._found import Firewall, Firewalld, Ufw
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._tools._firewalld import Zone
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ufw import parse_rules

RULE = "### tuple ### allow any any 0.0.0.0/0 any 0.0.0.0/0 in_%s\n"
FACTS = {"netdevs": [{"name": name, "addresses": addresses} for name, addresses in (("ib0", ["10.0.0.1/24"]), ("ib1", ["10.1.0.1/24"]), ("ib2", []))]}


def declared(zones: t.Mapping[str, str], rules: t.Sequence[str] = (), *, running: bool = True) -> tuple[dict[str, t.Any], list[str]]:
    """Return the values, and what is left. `zones`: by interface."""
    entries = {zone: Zone("/etc/x", frozenset(name for name, own in zones.items() if own == zone)) for zone in ("trusted", "public", "work", *zones.values())}
    ufw = Ufw(bool(rules), True, (4,), tuple(parse_rules("".join(RULE % name for name in rules), 4)))
    found = Found(examined=frozenset(["ib0", "ib1", "ib2"]), firewall=Firewall(True, Firewalld(True, running, zones=entries), ufw))
    reading = read(Subject("node1", facts=FACTS, found=found))
    return {value.variable: value.value for value in reading.values}, [left.what for left in reading.left]


TRUSTED = {"ipoib_network_firewall": "trusted"}


@pytest.mark.parametrize(
    ("zones", "rules", "values"),
    [
        ({}, [], {}),
        ({"ib0": "public", "ib1": "public"}, [], {}),
        ({"ib0": "trusted", "ib1": "trusted"}, [], TRUSTED),
        ({"ib0": "work", "ib1": "work", "ib2": "public"}, [], {**TRUSTED, "ipoib_network_firewall_zone": "work"}),
        ({}, ["ib0", "ib1"], TRUSTED),
        ({}, ["eth0"], {}),
    ],
)
def test_what_all_interfaces_have_is_declared(zones: dict[str, str], rules: list[str], values: dict[str, str]) -> None:
    assert declared(zones, rules) == (values, [])


def test_what_some_of_them_have_is_named() -> None:
    assert declared({"ib0": "trusted"}) == ({}, ["zone trusted of ib0 in firewalld"])
    assert declared({"ib0": "trusted", "ib1": "work"}) == ({}, ["zone trusted of ib0 in firewalld", "zone work of ib1 in firewalld"])
    assert declared({}, ["ib1"]) == ({}, ["a rule of ufw for ib1"])


def test_the_zone_in_a_profile_of_networkmanager_is_declared() -> None:
    """As firewall-cmd and nmcli write it on systems where NetworkManager manages the interface."""
    now = dict.fromkeys(("ib0", "ib1"), "work")
    firewalld = Firewalld(True, True, zones={"work": Zone("/etc/x")}, now=now, elsewhere=dict.fromkeys(now, "1234"))
    found = Found(examined=frozenset(now), firewall=Firewall(True, firewalld))
    reading = read(Subject("node1", facts=FACTS, found=found))
    assert {value.variable: value.value for value in reading.values} == {**TRUSTED, "ipoib_network_firewall_zone": "work"}


def test_a_firewalld_that_is_switched_off_tells_nothing() -> None:
    assert declared({"ib0": "trusted", "ib1": "trusted"}, running=False) == ({}, [])
