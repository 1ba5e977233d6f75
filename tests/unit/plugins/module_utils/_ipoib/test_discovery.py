# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Interfaces that were configured by hand: what is declared, what is dangerous, and what no declaration can express."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reading, Reference
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._facts._ports import Hca, Port
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._discovery import read
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import BondState, Claim, Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._parsed import Parsed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._readers import Described, Said, described
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Route

GUID = "0x0002c903000f0001"
IB0 = Netdev("ib0", "ipoib", port="mlx5_0/1", port_guid=GUID, mode="datagram", mtu=2044, up=True)
HCA = Hca("mlx5_0", "MT4119", "mlx5_core", "0000:03:00.0")
PORT = Port("mlx5_0/1", "mlx5_0", 1, GUID, link_layer="InfiniBand")
NETWORKD = {"systemd-networkd": Presence(Claim("it has files", 2)), "ifupdown": Presence(None)}


def reading(netdevs: t.Sequence[Netdev] = (IB0,), said: t.Mapping[str, tuple[Said, ...]] | None = None, **fields: t.Any) -> Reading:
    known = {"hcas": (HCA,), "ports": (PORT,), "backends": NETWORKD, **fields}
    static = {netdev.name: netdev.addresses for netdev in netdevs}
    return read(Subject("node1", found=Described(Found({netdev.name: netdev for netdev in netdevs}, **known), static, said or {})))


def values(found: Reading) -> dict[str, t.Any]:
    return {value.variable: value.value for value in found.values}


def file(*, ours: bool = False, backend: str = "systemd-networkd", path: str = "/etc/x", **parsed: t.Any) -> dict[str, tuple[Said, ...]]:
    return {"ib0": (Said(backend, (path,), ours, Parsed(**parsed)),)}


def test_dhcp_in_a_file_of_ours_is_declared_and_in_one_of_others_reported() -> None:
    netdev = IB0._replace(addresses=("fd00::1/64",))
    ours = reading([netdev], file(ours=True, addresses=("fd00::1/64",), dynamic=True))
    (entry,) = values(ours)["ipoib_interfaces"]
    assert entry == {"pci": "0000:03:00.0", "dhcp": True, "addresses": [Reference("found_ib0_address")]}
    assert list(ours.dangers) == []
    others = reading([netdev], file(dynamic=True))
    assert "dhcp" not in values(others).get("ipoib_interfaces", [{}])[0]
    assert "gets addresses by DHCP" in others.dangers[0]


def test_what_a_file_says() -> None:
    netdev = IB0._replace(mode="connected", mtu=65520, addresses=("10.20.0.1/24",))
    found = reading([netdev], file(addresses=("10.20.0.1/24",), routes=(Route("10.30.0.0/16", "10.20.0.254", 7),), left=("Network.DNS (/etc/x line 3)",)))
    assert values(found) == {
        "ipoib_interfaces": [
            {
                "pci": "0000:03:00.0",
                "mode": "connected",
                "addresses": [Reference("found_ib0_address")],
                "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254", "metric": 7}],
            }
        ],
        "found_ib0_address": "10.20.0.1/24",
    }
    assert [left.what for left in found.left] == ["Network.DNS (/etc/x line 3) of ib0", "/etc/x, which configures ib0"]
    assert "or taken out of it with ipoib_adopt: true" in found.left[1].why
    assert list(found.dangers) == []


def test_files_that_an_interface_can_not_be_taken_out_of_are_named_apart() -> None:
    own, any_ib, vendor = "/etc/systemd/network/10-ib0.network", "/etc/systemd/network/20-any.network", "/usr/lib/systemd/network/80-ib.network"
    files = {own: "[Match]\nName=ib0\n", any_ib: "[Match]\nName=ib*\n", vendor: "[Match]\nName=ib0\n"}
    whole = Found({"ib0": IB0}, files)
    found = read(Subject("node1", found=described(whole, whole)))
    assert [left.what for left in found.left] == ["%s, which configures ib0" % own, "%s, %s, which configures ib0" % (any_ib, vendor)]
    assert "taken out of it with ipoib_adopt: true" in found.left[0].why
    assert "it can't be taken out of them with ipoib_adopt, so remove it there yourself" in found.left[1].why


def test_addresses_that_others_have_assigned() -> None:
    netdev = IB0._replace(addresses=("10.20.0.1/24",), dynamic_addresses=("2001:db8::5/64", "fe80::1/64"))
    whole = Found({"ib0": netdev}, {"/etc/systemd/network/10-ib0.network": "[Match]\nName=ib0\n[Network]\nAddress=10.20.0.1/24\n"})
    found = read(Subject("node1", found=described(whole, whole)))
    assert list(found.dangers) == ["ib0 has 2001:db8::5/64 from DHCP or a router: the collection sets fixed addresses only, so ipoib_adopt refuses to lose it"]


def test_what_no_file_says() -> None:
    found = reading([IB0._replace(addresses=("10.20.0.1/24", "fe80::1/64"), mtu=1500)], routes={"ib0": (Route("10.31.0.0/16"),)})
    (entry,) = values(found)["ipoib_interfaces"]
    assert (entry["mtu"], entry["routes"]) == (1500, [{"to": "10.31.0.0/16"}])
    assert found.values[1].source == "the kernel; no file has it"
    assert reading() == Reading([], [], [])


def test_files_and_kernel_that_differ() -> None:
    netdev = IB0._replace(addresses=("10.20.0.9/24",))
    routes = {"ib0": (Route("10.31.0.0/16"),)}
    found = reading([netdev], file(addresses=("10.20.0.1/24",), mode="connected", mtu=4092), routes=routes)
    assert list(found.dangers) == [
        "ib0 has the addresses 10.20.0.9/24, and its files say 10.20.0.1/24",
        "ib0 is in datagram mode, and its files say connected",
        "ib0 has an MTU of 2044, and its files say 4092",
        "ib0 has routes that no file has: 10.31.0.0/16. The next boot would lose them; they were declared",
    ]
    assert values(found)["found_ib0_address"] == "10.20.0.1/24"


def test_addresses_of_others() -> None:
    found = reading(said=file(dynamic=True))
    assert "gets addresses by DHCP: the collection sets fixed addresses only" in found.dangers[0]
    assert values(found) == {"ipoib_interfaces": [{"pci": "0000:03:00.0"}]}


def test_two_back_ends() -> None:
    both = {"ib0": (*file(backend="ifupdown", mtu=2000)["ib0"], *file(mtu=2044)["ib0"])}
    found = reading(said=both)
    assert "configured by more than one back-end: ifupdown (/etc/x); systemd-networkd (/etc/x)" in found.dangers[0]
    # That of the node counts.
    assert values(found) == {"ipoib_interfaces": [{"pci": "0000:03:00.0", "mtu": 2044}]}
    assert values(reading(said=file(backend="ifupdown")))["ipoib_backend"] == "ifupdown"


def test_a_port_without_an_address_and_a_card_with_two_ports() -> None:
    (entry,) = values(reading(said=file(), hcas=()))["ipoib_interfaces"]
    assert entry == {"port_guid": Reference("found_ib0_port")}
    other = PORT._replace(name="mlx5_0/2", port=2, port_guid="0x0002c903000f0002")
    (entry,) = values(reading(said=file(), ports=(PORT, other)))["ipoib_interfaces"]
    assert entry == {"pci": "0000:03:00.0/1"}


def test_a_bond_of_another_mode_and_a_bond_of_others() -> None:
    bond = Netdev("bond0", "bond", members=("ib0",), mtu=2044, addresses=("10.20.0.1/24",))
    found = reading([IB0._replace(master="bond0"), bond], bonds={"bond0": BondState("802.3ad", 50, "ib0", "none")})
    assert values(found)["ipoib_interfaces"] == [
        {"name": "bond0", "addresses": [Reference("found_bond0_address")], "bond": {"ports": ["ib0"], "primary": "ib0", "miimon": 50}}
    ]
    assert found.left[0].what == "mode 802.3ad of the bond bond0"
    assert values(reading([Netdev("eth0", "ethernet", master="bond0"), bond._replace(members=("eth0",))])) == {}


def test_what_no_declaration_has() -> None:
    found = reading([IB0._replace(name="ib{{ 7 }}", addresses=("10.20.0.1/24",))], hcas=())
    assert values(found)["ipoib_interfaces"] == [{"port_guid": Reference("found_ib___7____port"), "addresses": [Reference("found_ib___7____address")]}]
    found = reading([IB0._replace(addresses=("10.20.0.0/24",))])
    assert values(found) == {} and "no declaration can have it" in found.left[0].why


def test_an_interface_that_files_configure_and_that_does_not_exist() -> None:
    files = {
        "/etc/systemd/network/20-child.network": "[Match]\nName=ib0.8001\n[Network]\nAddress=10.21.0.1/24\n",
        "/etc/systemd/network/21-next.network": "[Match]\nName=ib1\n[Network]\nAddress=10.22.0.1/24\n",
        "/etc/systemd/network/22-other.network": "[Match]\nName=eth0.8001 xib0.8001\n[Network]\nAddress=10.23.0.1/24\n",
    }
    second = PORT._replace(name="mlx5_1/1", device="mlx5_1", port_guid="0x0002c903000f0002")
    whole = Found({"ib0": IB0}, files, hcas=(HCA,), ports=(PORT, second), backends=NETWORKD)
    found = read(Subject("node1", found=described(whole, whole)))
    assert list(found.dangers) == [
        "ib0.8001 is configured in /etc/systemd/network/20-child.network, and does not exist, so it was not declared",
        "ib1 is configured in /etc/systemd/network/21-next.network, and does not exist, so it was not declared",
    ]
