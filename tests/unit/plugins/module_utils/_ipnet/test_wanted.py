# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the declared interfaces to what the network needs."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipnet._wanted import Reference, counted, hosts_of, reference_of, wanted_of

GUID = "0x0002c903000f0001"
OPTIONS: dict[str, t.Any] = {"firewall": "keep", "firewall_zone": "trusted", "policy_routing": False, "state": "present", "arp": "auto", "neighbours": "100"}


def entry(name: str, *addresses: str, **more: t.Any) -> dict[str, t.Any]:
    return {"name": name, "addresses": list(addresses), **more}


def shared(*entries: dict[str, t.Any], **options: t.Any) -> tuple[str, ...]:
    return wanted_of({**OPTIONS, **options, "interfaces": list(entries)}, {GUID: "ib1"}).shared


def test_interfaces_of_one_subnet() -> None:
    one, other = entry("ib0", "10.20.0.1/16"), entry("ib1", "10.20.1.1/16")
    assert shared(one, other) == ("ib0", "ib1")
    assert shared(one, other, arp="keep") == ()
    assert shared(one, other, state="absent") == ()
    assert shared(one) == ()
    assert shared(one, entry("ib1", "10.21.0.1/16")) == ()
    # A subnet within another one.
    assert shared(one, entry("ib1", "10.20.1.1/24")) == ("ib0", "ib1")
    assert shared(entry("ib0", "10.20.0.1/16", "10.20.1.1/16")) == ()
    assert shared(entry("ib0", "fd00::1/64"), entry("ib1", "fd00::2/64")) == ()
    assert shared(one, entry("ib1", "10.20.1.1/32")) == ()
    assert shared(one, {**other, "state": "absent"}) == ()


def test_interfaces_that_are_declared_by_their_ports() -> None:
    one = entry("ib0", "10.20.0.1/16")
    assert shared(one, {"port_guid": GUID, "addresses": ["10.20.1.1/16"]}) == ("ib0", "ib1")
    assert shared(one, {"parent": GUID, "pkey": "0x8001", "addresses": ["10.20.1.1/16"]}) == ("ib0", "ib1.8001")
    assert shared(one, {"pci": "0000:03:00.0", "addresses": ["10.20.1.1/16"]}) == ()
    late = wanted_of({**OPTIONS, "interfaces": [one, entry("storage", "10.20.1.1/16", port_guid=GUID)]}, {})
    assert (late.shared, late.late) == (("ib0", "storage"), {"storage"})


def test_a_bond_has_the_addresses_of_its_ports() -> None:
    bond = entry("bond0", "10.20.0.1/16", bond={"ports": ["ib0", "ib1"]})
    assert shared(bond, entry("ib2", "10.20.1.1/16")) == ("bond0", "ib2")


def test_neighbours_are_counted_by_ip_version_and_interface() -> None:
    entries = [entry("ib0", "10.20.0.1/16", "fd00::1/64"), entry("ib1", "10.21.0.1/16")]
    assert wanted_of({**OPTIONS, "interfaces": entries}, {}).neighbours == {4: 200, 6: 100}
    assert wanted_of({**OPTIONS, "interfaces": entries, "neighbours": "keep"}, {}).neighbours == {}
    assert wanted_of({**OPTIONS, "interfaces": []}, {}).neighbours == {}


@pytest.mark.parametrize(
    "item",
    [
        "ib0",
        {"name": 3, "addresses": ["10.20.0.1/16"]},
        {"parent": "ib0", "pkey": "no", "addresses": ["10.20.0.1/16"]},
        {"name": "ib0"},
        {"name": "ib0", "state": "absent", "addresses": ["10.20.0.1/16"]},
    ],
)
def test_entries_that_have_no_part(item: t.Any) -> None:
    assert reference_of(item) is None


def test_no_name_leads_elsewhere() -> None:
    """Names become paths below /proc/sys."""
    assert Reference("../../../etc").on({}) == ""
    assert Reference("", "", "../..", 0x8001).on({}) == ""
    assert Reference("", GUID).on({GUID: "a/b"}) == ""


def test_the_hosts_of_an_inventory() -> None:
    groups = {"all": ["a", "b", "c"], "rdma": ["a", "b"], "ib": ["a"]}
    assert hosts_of(groups) == 2
    assert hosts_of(groups, "ib") == 1
    assert hosts_of(groups, "rdma:!x") == 3
    assert hosts_of({}) == 1
    assert counted("auto", groups) == "2"
    assert counted("keep", groups) == "keep"


@pytest.mark.parametrize("value", ["auto", "keep", 1, "4000", 1000000])
def test_numbers_of_hosts(value: t.Any) -> None:
    assert problems({"ipoib_network_neighbours": value}) == []


@pytest.mark.parametrize("value", [0, -1, "many", True, 1000001, "9" * 5000, [], None])
def test_wrong_numbers_of_hosts(value: t.Any) -> None:
    (problem,) = problems({"ipoib_network_neighbours": value})
    assert "from 1 to 1000000" in str(problem)
