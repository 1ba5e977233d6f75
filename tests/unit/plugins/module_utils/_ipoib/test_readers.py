# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What files say about an interface: the inverse of what writes them, and what they say in the forms of others."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifcfg, _ifupdown, _netplan, _networkd, _networkmanager, _wicked
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Active, Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._parsed import Parsed, with_netmask
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._readers import Said, said_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._registry import BACKENDS, zones_kept
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Route, together
from hypothesis import given, settings
from hypothesis import strategies as st

RENDERERS: dict[str, tuple[str, t.Callable[[t.Sequence[Interface]], dict[str, str]]]] = {
    "networkd": ("systemd-networkd", _networkd.render),
    "ifupdown": ("ifupdown", _ifupdown.render),
    "networkmanager": ("networkmanager", _networkmanager.render),
    "ifcfg": ("ifcfg", _ifcfg.render),
    "ifcfg of network-scripts": ("ifcfg", lambda interfaces: _ifcfg.render(interfaces, False)),
    "wicked": ("wicked", _wicked.render),
}
READERS = {backend.name: backend.reader for backend in BACKENDS}
ADDRESSES = st.lists(st.sampled_from(["10.20.0.1/24", "10.21.0.1/16", "fd00:20::1/64", "fd00:21::1/64"]), unique=True, max_size=3)
ROUTES = st.lists(
    st.sampled_from(
        [Route("10.30.0.0/16", "10.20.0.254", 100), Route("10.31.0.0/16", "10.20.0.254"), Route("10.32.0.0/16"), Route("0.0.0.0/0", "10.20.0.254")]
    ),
    unique=True,
    max_size=3,
)
ROUTES6 = st.lists(st.sampled_from([Route("fd00:30::/32", "fd00:20::fe"), Route("::/0", "fd00:20::fe", 7), Route("fd00:32::/32")]), unique=True, max_size=2)


@st.composite
def interfaces(draw: st.DrawFn) -> tuple[Interface, ...]:
    found = []
    for number in range(draw(st.integers(1, 2))):
        addresses = draw(ADDRESSES)
        routes = draw(ROUTES) if any("." in address for address in addresses) else []
        routes += draw(ROUTES6) if any(":" in address for address in addresses) else []
        mode = draw(st.sampled_from(["datagram", "connected"]))
        found.append(Interface("ib%d" % number, mode, mtu=draw(st.sampled_from([0, 2044, 4092])), addresses=tuple(addresses), routes=tuple(routes)))
        if draw(st.booleans()):
            found.append(found[-1]._replace(name="ib%d.8001" % number, parent="ib%d" % number, pkey=0x8001))
    if draw(st.booleans()):
        ports = [each._replace(addresses=(), routes=()) for each in found if not each.is_child]
        bond = Interface("bond0", "auto", mtu=2044, addresses=("10.40.0.1/24",), bond=Bond(tuple(port.name for port in ports)))
        return together([*ports, *(each for each in found if each.is_child), bond])
    return tuple(found)


def expected(backend: str, each: Interface) -> Parsed:
    """What a back-end writes of an interface. Some leave the mode and the MTU to others."""
    mtu, mode = each.mtu, "" if each.bond is not None else each.mode
    if backend == "systemd-networkd":
        mtu = 0 if each.mode == "connected" and not each.is_child and each.bond is None else each.mtu
        mode = each.mode if each.is_child else ""
    if backend == "ifupdown":
        mode = "connected" if mode == "connected" else ""
    return Parsed(tuple(sorted(each.addresses)), mtu, mode, tuple(sorted(each.routes)))


def read(backend: str, name: str, files: t.Mapping[str, str]) -> Parsed:
    (said,) = said_of(name, Found(files=files))
    assert said.backend == backend and said.ours
    return said.parsed._replace(addresses=tuple(sorted(said.parsed.addresses)), routes=tuple(sorted(said.parsed.routes)))


@pytest.mark.parametrize("kind", RENDERERS)
@given(declared=interfaces())
@settings(max_examples=60, deadline=None)
def test_what_is_written_is_read(kind: str, declared: tuple[Interface, ...]) -> None:
    backend, render = RENDERERS[kind]
    files = render(declared)
    for each in declared:
        assert read(backend, each.name, files) == expected(backend, each)


@pytest.mark.parametrize("kind", RENDERERS)
@given(declared=interfaces())
@settings(max_examples=20, deadline=None)
def test_a_zone_of_the_firewall_is_kept_in_files_of_ours_and_is_no_setting_of_others(kind: str, declared: tuple[Interface, ...]) -> None:
    backend, render = RENDERERS[kind]
    files, names = render(declared), [each.name for each in declared]
    zoned = dict(files)
    for each in BACKENDS:
        for path in filter(None, map(each.zone_file, names)):
            if path in files:
                zoned[path] = each.zoned(files[path], "trusted")
                assert each.zone_in(zoned[path]) == "trusted"
                assert each.zoned(zoned[path], "") == files[path]
    assert zones_kept(files, names, zoned) == zoned
    assert zones_kept(files, names, {}) == zones_kept(files, names, files) == files
    assert [read(backend, name, zoned) for name in names] == [read(backend, name, files) for name in names]


def parse(backend: str, **files: str) -> Parsed:
    texts = {"/" + path.replace("__", "/"): text for path, text in files.items()}
    return READERS[backend].parse("ib0", list(texts), texts)


@pytest.mark.parametrize("addresses", [(), ("10.20.0.1/24",)])
def test_networkd_with_dhcp(addresses: tuple[str, ...]) -> None:
    """The request has a client identifier, and nothing but the address is taken from the answer."""
    files = _networkd.render([Interface("ib0", addresses=addresses, dhcp=True, routes=(Route("10.30.0.0/16", "10.20.0.254"),))])
    text = "".join(files.values())
    _before, _section, lease = text.partition("DHCP=ipv4\n\n[DHCPv4]\n")
    assert set(lease.partition("\n\n")[0].split()) == {
        "ClientIdentifier=duid",
        "RequestBroadcast=yes",
        *("Use%s=no" % what for what in ("DNS", "Domains", "Hostname", "NTP", "Routes")),
    }
    assert read("systemd-networkd", "ib0", files) == Parsed(addresses, 0, "", (Route("10.30.0.0/16", "10.20.0.254"),), dynamic=True)
    others = READERS["systemd-networkd"].parse("ib0", ["/x.network"], {"/x.network": "[Network]\nDHCP=yes\n[DHCPv4]\nUseDNS=yes\nClientIdentifier=mac\n"})
    assert [each.partition(" ")[0] for each in others.left] == ["DHCPv4.UseDNS", "DHCPv4.ClientIdentifier"]


def test_networkd_of_others() -> None:
    text = (
        "[Match]\nName=ib0\n[Link]\nMTUBytes=4092\nARP=no\n[Network]\nDHCP=ipv4\nGateway=10.0.0.254\nIPv6AcceptRA=yes\nDNS=10.0.0.9\n"
        "[Address]\nAddress=10.0.0.1/24\nLabel=x\n[Route]\nDestination=10.1.0.0/16\nGateway=10.0.0.253\nMetric=5\nTable=7\n[Route]\nGateway=fd00::1\n"
    )
    found = READERS["systemd-networkd"].parse("ib0", ["/x.network"], {"/x.network": text})
    assert (found.mtu, found.dynamic, found.addresses) == (4092, True, ("10.0.0.1/24",))
    assert found.routes == (Route("0.0.0.0/0", "10.0.0.254"), Route("10.1.0.0/16", "10.0.0.253", 5), Route("::/0", "fd00::1"))
    assert [each.partition(" ")[0] for each in found.left] == ["Link.ARP", "Network.IPv6AcceptRA", "Network.DNS", "Address.Label", "Route.Table"]
    assert found.left[0] == "Link.ARP (/x.network line 5)"


def test_networkmanager_of_others() -> None:
    text = (
        "[connection]\nid=storage\ntype=infiniband\ninterface-name=ib0\nzone=trusted\n[infiniband]\nmac-address=80:00\nmtu=65520\ntransport-mode=connected\n"
        "[ipv4]\naddress1=10.0.0.1/24,10.0.0.254\ndns=10.0.0.9;\nmethod=manual\nroute1=10.1.0.0/16,10.0.0.253,5\nroute1_options=mtu=9000\n"
        "[ipv6]\naddr-gen-mode=default\nmethod=auto\n[proxy]\n"
    )
    found = parse("networkmanager", storage=text)
    assert (found.mode, found.mtu, found.addresses, found.dynamic) == ("connected", 65520, ("10.0.0.1/24",), False)
    assert found.routes == (Route("0.0.0.0/0", "10.0.0.254"), Route("10.1.0.0/16", "10.0.0.253", 5))
    assert [each.partition(" ")[0] for each in found.left] == ["connection.zone", "ipv4.dns", "ipv4.route1_options", "ipv6.method=auto"]
    assert parse("networkmanager", x="[ipv4]\nmethod=auto\naddresses=10.0.0.1/24;10.0.0.2/24;\n").dynamic


def test_ifupdown_of_others() -> None:
    text = (
        "auto ib0 eth0\niface eth0 inet dhcp\niface ib0 inet static\n  address 10.0.0.1\n  netmask 255.255.255.0\n  gateway 10.0.0.254\n  mtu 65520\n"
        "  pre-up echo connected > /sys/class/net/ib0/mode || true\n  up ip route add 10.1.0.0/16 via 10.0.0.253 metric 5 || true\n  dns-nameservers 10.0.0.9\n"
        "  post-up /usr/local/bin/tune\niface ib0 inet6 auto\niface ib0:1 inet static\n  address 10.9.0.1/24\n"
    )
    found = parse("ifupdown", etc__network__interfaces=text)
    assert (found.mode, found.mtu, found.addresses, found.dynamic) == ("connected", 65520, ("10.0.0.1/24",), False)
    assert found.routes == (Route("0.0.0.0/0", "10.0.0.254"), Route("10.1.0.0/16", "10.0.0.253", 5))
    assert [each.partition(" (")[0] for each in found.left] == ["dns-nameservers", "post-up", "iface inet6 auto"]
    assert parse("ifupdown", x="iface ib0 inet dhcp\n").dynamic


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("pre-up echo 0x8001 > /sys/class/net/ib0/create_child", []),
        ("pre-up echo 0x0001 >/sys/class/net/ib0/create_child || true", []),
        ("pre-up [ -d /sys/class/net/ib0.8001 ] || echo 8001 > /sys/class/net/ib0/create_child", []),
        ("post-down echo 0x8001 > /sys/class/net/ib0/delete_child", []),
        ("pre-up echo 0x8002 > /sys/class/net/ib0/create_child", ["pre-up"]),
        ("pre-up echo 0x8001 > /sys/class/net/ib1/create_child", ["pre-up"]),
        ("pre-up echo 0x8001 > /sys/class/net/ib0/create_child || reboot", ["pre-up"]),
        ("up echo 0x8001 > /sys/class/net/ib0/create_child", ["up"]),
    ],
)
def test_commands_of_ifupdown_that_make_a_child(command: str, left: list[str]) -> None:
    files = {"/etc/network/interfaces": "iface ib0.8001 inet static\n  address 10.0.0.1/24\n  %s\n" % command}
    (said,) = said_of("ib0.8001", Found(files=files))
    assert [each.partition(" (")[0] for each in said.parsed.left] == left


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("pre-up modprobe ib_ipoib", []),
        ("pre-up /sbin/modprobe -q ib_ipoib || true", []),
        ("up modprobe ib_ipoib", []),
        ("pre-up modprobe ib_ipoib send_queue_size=64", ["pre-up"]),
        ("pre-up modprobe -r ib_ipoib", ["pre-up"]),
        ("pre-up modprobe mlx4_en", ["pre-up"]),
        ("pre-up modprobe ib_ipoib; /opt/tune", ["pre-up"]),
        ("post-down modprobe ib_ipoib", ["post-down"]),
    ],
)
def test_commands_of_ifupdown_that_load_the_driver(command: str, left: list[str]) -> None:
    files = {"/etc/network/interfaces": "iface ib0 inet static\n  address 10.0.0.1/24\n  %s\n" % command}
    (said,) = said_of("ib0", Found(files=files))
    assert [each.partition(" (")[0] for each in said.parsed.left] == left


def test_ifcfg_of_others() -> None:
    found = parse(
        "ifcfg",
        **{
            "n__ifcfg-ib0": "DEVICE=ib0\nBOOTPROTO=dhcp\nIPADDR=10.0.0.1\nNETMASK=255.255.0.0\nIPADDR1=10.2.0.1\nPREFIX1=24\nGATEWAY=10.0.0.254\nMTU=65520\n"
            "CONNECTED_MODE=Yes\nZONE=trusted\nIPV6ADDR=fd00::1/64\nIPV6_AUTOCONF=yes\n",
            "n__route-ib0": "# x\n10.1.0.0/16 via 10.0.0.253 dev ib0 table 7\nADDRESS0=10.3.0.0\nNETMASK0=255.255.0.0\nGATEWAY0=10.0.0.252\n",
        },
    )
    assert (found.mode, found.mtu, found.dynamic) == ("connected", 65520, True)
    assert found.addresses == ("10.0.0.1/16", "10.2.0.1/24", "fd00::1/64")
    assert found.routes == (Route("0.0.0.0/0", "10.0.0.254"), Route("10.1.0.0/16", "10.0.0.253"), Route("10.3.0.0/16", "10.0.0.252"))
    assert [each.partition(" (")[0] for each in found.left] == ["ZONE", "IPV6_AUTOCONF", "route ... table"]


def test_wicked_of_others() -> None:
    found = parse(
        "wicked",
        **{
            "n__ifcfg-ib0": "STARTMODE=auto\nBOOTPROTO='static'\nIPADDR='10.0.0.1/24'\nIPADDR_2='10.2.0.1'\nPREFIXLEN_2='24'\n"
            "MTU=''\nIPOIB_MODE=connected\nZONE=x\n",
            "n__routes": "default 10.0.0.254 - ib0\n10.9.0.0/16 10.5.0.1 - eth0\n10.1.0.0 10.0.0.253 255.255.0.0 ib0 metric 5 table 7\n",
        },
    )
    assert (found.mode, found.mtu, found.dynamic, found.addresses) == ("connected", 0, False, ("10.0.0.1/24", "10.2.0.1/24"))
    assert found.routes == (Route("0.0.0.0/0", "10.0.0.254"), Route("10.1.0.0/16", "10.0.0.253", 5))
    assert [each.partition(" (")[0] for each in found.left] == ["ZONE", "route ... table"]


def test_netplan_by_what_it_generates() -> None:
    own = "network:\n  ethernets:\n    ib0:\n      addresses: [10.0.0.1/24]\n"
    networkd = {"/etc/netplan/x.yaml": own, "/run/systemd/network/10-netplan-ib0.network": "[Match]\nName=ib0\n[Network]\nAddress=10.0.0.1/24\n"}
    (said,) = said_of("ib0", Found(files=networkd))
    assert (said.backend, said.paths, said.ours, said.parsed.addresses) == ("netplan", ("/etc/netplan/x.yaml",), False, ("10.0.0.1/24",))
    profile = "[connection]\ninterface-name=ib0\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24\n"
    (said,) = said_of("ib0", Found(files={"/etc/netplan/x.yaml": own, "/run/NetworkManager/system-connections/netplan-ib0.nmconnection": profile}))
    assert (said.backend, said.parsed.addresses) == ("netplan", ("10.0.0.1/24",))


@pytest.mark.parametrize(
    ("renderer", "path", "text"),
    [
        (
            "networkd",
            "/run/systemd/network/10-netplan-storage.network",
            "[Match]\nName=ib0\n[Network]\nAddress=10.0.0.1/24\nDNS=10.0.0.9\n[Route]\nDestination=10.1.0.0/16\nGateway=10.0.0.253\n",
        ),
        (
            "NetworkManager",
            "/run/NetworkManager/system-connections/netplan-storage.nmconnection",
            "[connection]\ntype=infiniband\ninterface-name=ib0\n[ipv4]\nmethod=manual\naddress1=10.0.0.1/24\ndns=10.0.0.9;\nroute1=10.1.0.0/16,10.0.0.253\n",
        ),
    ],
)
def test_a_definition_of_netplan_with_an_id_of_its_own(renderer: str, path: str, text: str) -> None:
    own = "network:\n  renderer: %s\n  ethernets:\n    storage:\n      match: {name: ib0}\n      addresses: [10.0.0.1/24]\n" % renderer
    (said,) = said_of("ib0", Found(files={"/etc/netplan/x.yaml": own, path: text}))
    assert (said.backend, said.paths) == ("netplan", ("/etc/netplan/x.yaml",))
    assert (said.parsed.addresses, said.parsed.routes) == (("10.0.0.1/24",), (Route("10.1.0.0/16", "10.0.0.253"),))
    assert len(said.parsed.left) == 1 and "dns" in said.parsed.left[0].lower()
    assert said_of("ib1", Found(files={"/etc/netplan/x.yaml": own, path: text})) == ()


def test_our_netplan() -> None:
    files = _netplan.render([Interface("ib0", "datagram", addresses=("10.20.0.1/24",))])
    (said,) = said_of("ib0", Found(files=files))
    assert said.backend == "netplan" and said.ours


def test_what_is_no_address_is_named() -> None:
    found = parse("networkmanager", x="[ipv4]\naddress1={{ 7 * 7 }}\nroute1=what,ever\n[infiniband]\nmtu=big\n")
    assert found.addresses == () and found.routes == () and found.mtu == 0
    assert [each.partition(" ")[0] for each in found.left] == ["ipv4.address1", "ipv4.route1", "infiniband.mtu"]
    assert with_netmask("10.0.0.1", "255.0.255.0") == "10.0.0.1"


def test_of_several_profiles_the_active_one_is_declared() -> None:
    folder, uuids = "/etc/NetworkManager/system-connections/", {"a": "6a1f3f4e-0d39-4c3b-9ad4-6a6a4d1f0a01", "z": "6a1f3f4e-0d39-4c3b-9ad4-6a6a4d1f0a02"}
    text = "[connection]\nuuid=%s\ntype=infiniband\ninterface-name=ib0\n[ipv4]\nmethod=manual\naddress1=10.20.0.%d/24\n"
    files = {folder + name: text % (uuid, number) for number, (name, uuid) in enumerate(uuids.items(), 1)}

    def of(active: str) -> Said:
        presence = Presence(in_use=True, settings={"version": "1.42"}, active={"ib0": Active("x", active)} if active else {})
        (said,) = said_of("ib0", Found(files=files, backends={"networkmanager": presence}))
        assert said.paths == tuple(files)
        return said

    assert (of(uuids["a"]).parsed.addresses, of(uuids["a"]).idle) == (("10.20.0.1/24",), (folder + "z",))
    assert (of(uuids["z"]).parsed.addresses, of(uuids["z"]).idle) == (("10.20.0.2/24",), (folder + "a",))
    # Where none of them is active, all may be.
    for other in ("", "6a1f3f4e-0d39-4c3b-9ad4-6a6a4d1f0a09"):
        assert (of(other).parsed.addresses, of(other).idle) == (("10.20.0.1/24", "10.20.0.2/24"), ())
