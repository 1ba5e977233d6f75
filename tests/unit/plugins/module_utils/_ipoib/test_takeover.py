# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Interfaces that are taken out of the files of others: everything else stays byte for byte, and nothing is lost silently."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Undecided
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifcfg, _ifupdown, _netplan, _networkd, _networkmanager, _wicked
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Claim, Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Route, Wanted, together
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from hypothesis import given
from hypothesis import strategies as st

IB0 = Identity("ib0", "0x0002c903000f0001", kind="infiniband")
HWADDR = "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01"
INTERFACES = _ifupdown.MAIN
ADOPT = {"backend": "auto", "ports": []}
LIVE = Netdev("ib0", "ipoib", mode="datagram", mtu=2044, up=True, addresses=("10.20.0.1/24",), port_guid=IB0.guid)
WANTED = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))

MAIN = """# The site's own.
source /etc/network/interfaces.d/*

auto lo ib0
iface lo inet loopback

# The storage network
allow-hotplug ib0
iface ib0 inet static
    address 10.20.0.1/24
    # not a route
    up echo one \\
       two
    mtu 2044

# The office
auto eth0
iface eth0 inet dhcp
"""
MAIN_LEFT = """# The site's own.
source /etc/network/interfaces.d/*

auto lo
iface lo inet loopback

# The storage network

# The office
auto eth0
iface eth0 inet dhcp
"""
YAML = """# by hand
network:
  version: 2
  ethernets:
    eth0:
      dhcp4: true
    # storage
    ib0:
      addresses:
        - 10.20.0.1/24
      mtu: 2044

    eth1: {dhcp4: true}
  bridges:
    br0:
      interfaces: [eth1]
"""
YAML_LEFT = YAML.replace("    ib0:\n      addresses:\n        - 10.20.0.1/24\n      mtu: 2044\n", "")


@pytest.mark.parametrize(
    ("form", "path", "text", "left"),
    [
        (_networkd, "/etc/systemd/network/10-ib0.network", "[Match]\nName=ib0\n[Network]\nAddress=10.20.0.1/24\n", ""),
        (_networkd, "/etc/systemd/network/10-ib0.network", "[Match]\nMACAddress=%s\n" % HWADDR, ""),
        (_networkd, "/etc/systemd/network/10-ib0.network", "[Match]\nName=ib0\nPermanentMACAddress=%s\n" % HWADDR, ""),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=ib0 ib1\n[Network]\n", "[Match]\nName=ib1\n[Network]\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=ib1 ib0\n[Network]\n", "[Match]\nName=ib1\n[Network]\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=ib0\nName=ib01 ib0.8001\n", "[Match]\nName=ib01 ib0.8001\n"),
        (_networkd, "/etc/systemd/network/10.netdev", "[NetDev]\nName=ib0\n", ""),
        (_ifupdown, INTERFACES, MAIN, MAIN_LEFT),
        (_ifupdown, INTERFACES, "auto ib0\niface ib0 inet manual\n", ""),
        (_ifupdown, "/etc/network/interfaces.d/ib0", "# mine\nauto ib0\niface ib0 inet static\n address 10.20.0.1/24\n", ""),
        (_ifupdown, "/etc/network/interfaces.d/ib", "iface ib0 inet manual\niface ib0 inet6 manual\niface ib1 inet manual", "iface ib1 inet manual"),
        (_networkmanager, "/etc/NetworkManager/system-connections/ib0.nmconnection", "[connection]\ninterface-name=ib0\n", ""),
        (_ifcfg, "/etc/sysconfig/network-scripts/route-ib0", "10.30.0.0/16 via 10.20.0.254\n", ""),
        (_ifcfg, "/etc/sysconfig/network-scripts/ifcfg-ib0", "DEVICE=ib0\nBONDING_OPTS='mode=1 arp_interval=3'\n", ""),
        (_netplan, "/etc/netplan/01.yaml", YAML, YAML_LEFT),
        (_wicked, "/etc/sysconfig/network/ifcfg-ib0", "IPADDR_0=10.20.0.1/24\n", ""),
        (_wicked, "/etc/sysconfig/network/ifroute-ib0", "10.30.0.0/16 10.20.0.254 - -\n", ""),
        (_wicked, "/etc/sysconfig/network/ifsysctl-ib0", "net/ipv6/conf/ib0/accept_ra = 0\n", ""),
        (_wicked, "/etc/sysconfig/network/routes", "# all\ndefault 10.0.0.1 - -\n10.30.0.0/16 - - ib0\n", "# all\ndefault 10.0.0.1 - -\n"),
        (_wicked, "/etc/sysconfig/network/routes", "10.30.0.0/16 10.20.0.254 - ib0\n\n10.31.0.0/16 10.20.0.254 - ib0", ""),
    ],
)
def test_an_interface_is_taken_out_and_everything_else_stays(form: t.Any, path: str, text: str, left: str) -> None:
    assert form.without(IB0, path, text) == left


@pytest.mark.parametrize(
    ("form", "path", "text"),
    [
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=ib*\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=!eth0\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nType=infiniband\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nMACAddress=%s 00:11:22:33:44:55\n" % HWADDR),
        (_networkd, "/usr/lib/systemd/network/10.network", "[Match]\nName=ib0\n"),
        (_netplan, "/etc/netplan/01.yaml", "network:\n  ethernets:\n    all:\n      match:\n        name: ib*\n"),
        (_netplan, "/etc/netplan/01.yaml", "network: {ethernets: {ib0: {mtu: 2044}}}\n"),
        (_netplan, "/run/netplan/01.yaml", YAML),
        (_networkmanager, "/etc/NetworkManager/system-connections/any.nmconnection", "[connection]\ntype=infiniband\n"),
        (_networkmanager, "/run/NetworkManager/system-connections/ib0.nmconnection", "[connection]\ninterface-name=ib0\n"),
        (_wicked, "/etc/sysconfig/network/ifcfg-bond7", "BONDING_MASTER=yes\nBONDING_SLAVE_0=ib0\n"),
        (_wicked, "/etc/sysconfig/network/routes", "10.30.0.0/16 10.20.0.254 - -\n# 10.31.0.0/16 - - ib0\n"),
        (_networkd, "/etc/systemd/network/10.network", "[Match]\nName=\n"),
        (_ifcfg, "/etc/sysconfig/network-scripts/ifcfg-any", "TYPE=InfiniBand\nBOOTPROTO=dhcp\n"),
        (_ifcfg, "/etc/sysconfig/network-scripts/ifcfg-ib0", "DEVICE=ib1\n"),
        (_ifcfg, "/etc/sysconfig/network-scripts/route-ib1", "10.30.0.0/16 dev ib0\n"),
    ],
)
def test_what_is_about_others_too_or_is_not_the_administrators_stays(form: t.Any, path: str, text: str) -> None:
    assert form.without(IB0, path, text) is None


LINES = st.lists(
    st.sampled_from(
        [
            "auto ib0 eth0",
            "auto ib0",
            "allow-hotplug eth0",
            "iface ib0 inet static",
            "iface ib0 inet6 auto",
            "iface eth0 inet dhcp",
            "  address 10.0.0.1/8",
            "  up echo",
            "# ib0",
            "",
            "source x",
            "mapping eth0",
            "  script ib0",
        ]
    ),
    max_size=14,
)


@given(LINES)
def test_of_interfaces_only_lines_about_the_interface_go(lines: list[str]) -> None:
    """What is left has no stanza of the interface, keeps all others in order, and does not change again."""
    text = "".join(line + "\n" for line in lines)
    left = _ifupdown.without(IB0, INTERFACES, text)
    assert left is not None and "ib0" not in _ifupdown.configured(left)
    assert _ifupdown.without(IB0, INTERFACES, left) == left
    others = [name for name in _ifupdown.configured(text) if name != "ib0"]
    assert list(_ifupdown.configured(left)) == others
    kept = iter(line.replace("auto ib0 ", "auto ") for line in lines)
    assert all(any(line == other for other in kept) for line in left.splitlines()), "the rest of the lines, in order"


def node(backend: str, files: t.Mapping[str, str], **more: t.Any) -> Found:
    presence = Presence(Claim("it is there", 2), in_use=True)
    return Found(
        netdevs={"ib0": LIVE}, files=files, backends={each.name: presence if each.name == backend else Presence() for each in _registry.BACKENDS}, **more
    )


NETWORKD_FILE = "/etc/systemd/network/10-ib0.network"
KEYFILE = "/etc/NetworkManager/system-connections/ib0.nmconnection"
NODES = {
    "systemd-networkd": {NETWORKD_FILE: "[Match]\nName=ib0\n\n[Network]\nAddress=10.20.0.1/24\n"},
    "ifupdown": {INTERFACES: "auto ib0\niface ib0 inet static\n address 10.20.0.1/24\n"},
    "networkmanager": {KEYFILE: "[connection]\ninterface-name=ib0\ntype=infiniband\n[ipv4]\nmethod=manual\naddress1=10.20.0.1/24\n"},
    "netplan": {"/etc/netplan/01.yaml": "network:\n  ethernets:\n    ib0: {addresses: [10.20.0.1/24]}\n"},
    "wicked": {"/etc/sysconfig/network/ifcfg-ib0": "STARTMODE=auto\nIPADDR=10.20.0.1/24\n"},
}


@pytest.mark.parametrize("backend", list(NODES))
def test_with_consent_a_foreign_file_is_replaced_and_the_interface_stays(backend: str) -> None:
    found = node(backend, NODES[backend])
    wanted = Wanted((WANTED,), backend)
    with pytest.raises(Refused, match="configures ib0"):
        plan(wanted, found)
    todo = plan(wanted._replace(adopt=True, interruption=True), found)
    (path,) = NODES[backend]
    assert set(todo.adopted) == {path}
    files = {change.subject: change.after for change in todo.plan.about(Kind.FILE)}
    # wicked has one name for the files of an interface, whoever writes them.
    assert _registry.is_ours(path, files[path]) or "ib0" not in files[path]
    assert list(files)[-1] == path, "ours is there before the other goes"
    assert [change.words() for change in todo.plan.changes if change.kind == Kind.INTERFACE] == []
    then = found._replace(files={name: text for name, text in {**found.files, **files}.items() if text})
    assert not plan(wanted._replace(adopt=True), then).plan


def test_settings_without_a_variable_are_named_and_refused() -> None:
    text = NODES["systemd-networkd"][NETWORKD_FILE] + "DNS=10.0.0.53\n\n[Link]\nARP=no\n"
    found = node("systemd-networkd", {NETWORKD_FILE: text})
    wanted = Wanted((WANTED,), "systemd-networkd", adopt=True)
    with pytest.raises(Refused, match=r"Link\.ARP \(%s line 9\) of ib0; Network\.DNS \(%s line 6\) of ib0" % (NETWORKD_FILE, NETWORKD_FILE)):
        plan(wanted, found)
    # The controller knows it before the first change on any host, and knows no values.
    reduced = condensed(found, {"ib0": ""}, adopt=ADOPT)
    assert "10.0.0.53" not in repr(reduced)
    with pytest.raises(Refused, match=r"Network\.DNS"):
        plan(wanted, reduced)


def test_addresses_that_others_have_assigned_are_named_and_refused() -> None:
    """Ours ask neither DHCP nor a router."""
    found = node("systemd-networkd", NODES["systemd-networkd"])
    given = ("2001:db8::5/64", "10.20.9.7/24", "fe80::1/64")
    found = found._replace(netdevs={"ib0": LIVE._replace(dynamic_addresses=given)})
    wanted = Wanted((WANTED,), "systemd-networkd", adopt=True)
    for state in (found, condensed(found, {"ib0": ""}, adopt=ADOPT)):
        with pytest.raises(Refused, match=r"would lose addresses that come from DHCP or a router: 10\.20\.9\.7/24 of ib0, 2001:db8::5/64 of ib0\."):
            plan(wanted, state)
    fixed = WANTED._replace(addresses=("10.20.0.1/24", "10.20.9.7/24", "2001:db8::5/64"))
    assert plan(wanted._replace(interfaces=(fixed,)), found).adopted


def test_an_interruption_needs_consent_only_where_there_is_one() -> None:
    wanted = Wanted((WANTED,), "networkmanager", adopt=True)
    found = node("networkmanager", NODES["networkmanager"])
    for state in (found, condensed(found, {"ib0": ""}, adopt=ADOPT)):
        with pytest.raises(Refused, match="rdma_allow_interruption"):
            plan(wanted, state)
    assert plan(wanted, found._replace(netdevs={"ib0": LIVE._replace(up=False)})).adopted


def test_the_controller_leaves_a_takeover_to_the_node() -> None:
    found = node("systemd-networkd", NODES["systemd-networkd"])
    reduced = condensed(found, {"ib0": ""}, adopt=ADOPT)
    wanted = Wanted((WANTED,), "systemd-networkd", adopt=True)
    with pytest.raises(Undecided):
        plan(wanted, reduced)
    # Without consent, and for other interfaces, it decides.
    with pytest.raises(Refused, match="configures ib0"):
        plan(wanted._replace(adopt=False), condensed(found, {"ib0": ""}))


def test_files_of_another_back_end_are_still_refused() -> None:
    """The service that reads them would go on to configure the interface."""
    found = node("systemd-networkd", NODES["networkmanager"])
    found = found._replace(backends={**found.backends, "networkmanager": Presence(in_use=True)})
    with pytest.raises(Refused, match=r"configures ib0; ipoib_adopt can't take the interface out of a file that .* belongs to another back-end"):
        plan(Wanted((WANTED,), "systemd-networkd", adopt=True), found)


def test_networkmanager_also_takes_over_the_files_that_it_reads_of_red_hat() -> None:
    files = {"/etc/sysconfig/network-scripts/ifcfg-ib0": "DEVICE=ib0\nTYPE=InfiniBand\nIPADDR=10.20.0.1\nPREFIX=24\n"}
    found = node("networkmanager", files)
    found = found._replace(backends={**found.backends, "ifcfg": Presence(in_use=True)})
    todo = plan(Wanted((WANTED,), "networkmanager", adopt=True, interruption=True), found)
    assert set(todo.adopted) == set(files)


@pytest.mark.parametrize(
    ("backend", "more", "said"),
    [
        ("systemd-networkd", "IPoIB=ib0.8001\n", "Network.IPoIB (line 6)"),
        ("systemd-networkd", "LinkLocalAddressing=no\n", "Network.LinkLocalAddressing (line 6)"),
        ("networkmanager", "dns-search=example.org;\n", "ipv4.dns-search (line 7)"),
        ("networkmanager", "[ipv6]\nmethod=shared\n", "ipv6.method (line 8)"),
        ("ifupdown", "iface ib0 inet6 static inherits common\n address fd00::1/64\n", "inherits (line 4)"),
        ("netplan", "    # unrelated\n    a: {match: {name: ib0}, wakeonlan: true}\n", "wakeonlan (line 5)"),
        ("wicked", "STARTMODE=nfsroot\n", "STARTMODE (line 3)"),
        ("wicked", "FIREWALL='yes'\n", "FIREWALL (line 3)"),
        ("wicked", "USERCONTROL=yes\n", "USERCONTROL (line 3)"),
        ("wicked", "ETHTOOL_OPTIONS='-K iface tso off'\n", "ETHTOOL_OPTIONS (line 3)"),
        ("wicked", "REMOTE_IPADDR=10.20.0.2\n", "REMOTE_IPADDR (line 3)"),
        ("wicked", "BONDING_SLAVE_0=eth0\n", "BONDING_SLAVE_0 (line 3)"),
        ("wicked", "BONDING_MODULE_OPTS='mode=active-backup arp_interval=9'\n", "BONDING_MODULE_OPTS (line 3)"),
    ],
)
def test_settings_that_a_discovery_passes_over_are_no_less_lost(backend: str, more: str, said: str) -> None:
    ((path, text),) = NODES[backend].items()
    with pytest.raises(Refused) as refused:
        plan(Wanted((WANTED,), backend, adopt=True, interruption=True), node(backend, {path: text + more}))
    assert "%s in %s of ib0" % (said, path) in str(refused.value.msg)


def test_a_declared_child_is_not_lost() -> None:
    ((path, text),) = NODES["systemd-networkd"].items()
    child = Interface("ib0.8001", "datagram", parent="ib0", pkey=0x8001)
    assert plan(Wanted((WANTED, child), "systemd-networkd", adopt=True), node("systemd-networkd", {path: text + "IPoIB=ib0.8001\n"})).adopted


@pytest.mark.parametrize("more", [{"files": {NETWORKD_FILE + ".d/dns.conf": "[Network]\nDNS=10.0.0.53\n"}}, {"returns": frozenset([NETWORKD_FILE])}])
def test_a_file_with_drop_ins_or_other_line_ends_is_refused(more: dict[str, t.Any]) -> None:
    found = node("systemd-networkd", {**NODES["systemd-networkd"], **more.get("files", {})}, returns=more.get("returns", frozenset()))
    with pytest.raises(Refused, match="configures ib0"):
        plan(Wanted((WANTED,), "systemd-networkd", adopt=True), found)


def test_undeclared_interfaces_are_not_taken_over() -> None:
    """Not even where the look is about them, because they are on a port that exists."""
    reduced = condensed(node("systemd-networkd", NODES["systemd-networkd"]), {}, adopt=ADOPT)
    assert reduced.taken.losses == {}


SUSE = "/etc/sysconfig/network/"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("ifcfg-ib0", "STARTMODE=auto\nBOOTPROTO=static\nIPADDR=10.20.0.1\nNETMASK=255.255.255.0\nFIREWALL=no\nMTU=2044\nETHTOOL_OPTIONS=''\n", ()),
        ("ifcfg-ib0", "BONDING_MODULE_OPTS='mode=1 miimon=100 fail_over_mac=1 primary=ib1'\nBONDING_SLAVE0=ib1\n", ()),
        ("ifsysctl-ib0", "# none\nnet/ipv6/conf/ib0/accept_ra = 0\nnet.ipv6.conf.$INTERFACE.accept_ra=0\n", ()),
        ("ifsysctl-ib0", "\nnet.ipv4.conf.ib0.rp_filter = 2\n", ("net.ipv4.conf.ib0.rp_filter (line 2)",)),
        ("ifsysctl-ib0", "net.ipv6.conf.ib0.accept_ra = 2\n", ("net.ipv6.conf.ib0.accept_ra (line 1)",)),
        ("ifroute-ib0", "# x\n10.30.0.0/16 10.20.0.254 - -\n10.31.0.0/16 - - ib0\ndefault\n", ()),
        ("ifroute-ib0", "10.30.0.0/16 10.20.0.254 - eth0\n", ("route of eth0 (line 1)",)),
        ("routes", "10.30.0.0/16 10.20.0.254 - eth0\n", ()),
    ],
)
def test_what_files_of_wicked_would_lose(name: str, text: str, said: tuple[str, ...]) -> None:
    assert _wicked.unsaid(SUSE + name, text, {"ib0": "", "ib1": ""}) == said


@pytest.mark.parametrize("each", ["plain", "routed", "bond"])
def test_files_that_wicked_has_from_us_lose_nothing(each: str) -> None:
    """Everything that we write is expressed by variables."""
    routed = WANTED._replace(mtu=2044, addresses=("10.20.0.1/24", "fd00::1/64"), routes=(Route("10.30.0.0/16", "10.20.0.254", 7),))
    bond = Interface("bond0", "auto", mtu=2044, addresses=("10.20.0.1/24",), bond=Bond(("ib0", "ib1"), primary="ib0"))
    wanted = {"plain": (WANTED,), "routed": (routed,), "bond": tuple(together([Interface("ib0", "connected"), Interface("ib1", "connected"), bond]))}[each]
    for path, text in _wicked.render(wanted).items():
        bare = text.split("\n", 1)[1]
        assert _wicked.unsaid(path, bare, {interface.name: "" for interface in wanted}) == ()


def test_files_of_wicked_are_taken_over_with_their_routes() -> None:
    routes = "# all\ndefault 10.0.0.1 - eth0\n10.30.0.0/16 10.20.0.254 - ib0\n"
    sysctl = "net/ipv6/conf/ib0/accept_ra = 0\n"
    files = {SUSE + "ifcfg-ib0": "IPADDR=10.20.0.1/24\n", SUSE + "ifroute-ib0": "10.31.0.0/16 10.20.0.254\n", SUSE + "ifsysctl-ib0": sysctl}
    found = node("wicked", {**files, SUSE + "routes": routes, SUSE + "ifcfg-eth0": "BOOTPROTO=dhcp\n"})
    wanted = Wanted((WANTED,), "wicked", adopt=True)
    for state in (found, condensed(found, {"ib0": ""}, adopt=ADOPT)):
        with pytest.raises(Refused, match="rdma_allow_interruption"):
            plan(wanted, state)
    todo = plan(wanted._replace(interruption=True), found)
    assert set(todo.adopted) == {*files, SUSE + "routes"}
    left = {change.subject: change.after for change in todo.plan.about(Kind.FILE)}
    assert left[SUSE + "routes"] == "# all\ndefault 10.0.0.1 - eth0\n" and left[SUSE + "ifroute-ib0"] == ""
    assert left[SUSE + "ifcfg-ib0"] == _wicked.render([WANTED])[SUSE + "ifcfg-ib0"] and SUSE + "ifcfg-eth0" not in left
