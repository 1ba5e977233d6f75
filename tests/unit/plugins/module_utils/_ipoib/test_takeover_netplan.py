# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Interfaces that are taken out of netplan's files of others: each edit proves itself, and whatever would be lost is refused."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._facts._netdevs import Netdev
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _registry
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _netplan, _yaml_marks
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._netplan_backend import NETPLAN, renderer_of
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Claim, Found, Presence
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._plan import plan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Naming, Wanted, together
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Kind
from hypothesis import given
from hypothesis import strategies as st

IB0 = Identity("ib0", "0x0002c903000f0001", kind="infiniband")
HWADDR = "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01"
OTHER = HWADDR[:-2] + "02"
PATH = "/etc/netplan/50-site.yaml"
LIVE = Netdev("ib0", "ipoib", mode="datagram", mtu=2044, up=True, addresses=("10.20.0.1/24",), port_guid=IB0.guid)
WANTED = Interface("ib0", "datagram", addresses=("10.20.0.1/24",))
BARE = "network:\n  version: 2\n"
OWN = "    ib0:\n      addresses: [10.20.0.1/24]\n"

SITE = """# by hand
network:
  version: 2   # the only one
  ethernets:
    eth0:
      dhcp4: true
    # storage
    ib0:
      addresses:
        # the rack
        - "10.20.0.1/24"
      mtu: 2044   # as the switch

    "eth1": {dhcp4: true}
  bridges:
    br0:
      interfaces: [eth1]
"""
SITE_LEFT = """# by hand
network:
  version: 2   # the only one
  ethernets:
    eth0:
      dhcp4: true
    # storage

    "eth1": {dhcp4: true}
  bridges:
    br0:
      interfaces: [eth1]
"""


def out(text: str, interface: Identity = IB0) -> str | None:
    return _netplan.without(interface, PATH, text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (SITE, SITE_LEFT),
        (BARE + "  ethernets:\n" + OWN, ""),
        (BARE + "  ethernets:\n    ib0: {}\n", ""),
        ("# mine\nnetwork:\n  ethernets:\n    # storage\n    ib0:\n", ""),
        (BARE + "  renderer: networkd\n  ethernets:\n" + OWN, BARE + "  renderer: networkd\n"),
        ("network:\n  ethernets:\n" + OWN + "  renderer: networkd", "network:\n  renderer: networkd"),
        (BARE + "  ethernets:\n    # why\n" + OWN + "  bridges: {br0: {}}\n", BARE + "    # why\n  bridges: {br0: {}}\n"),
        (BARE + "  ethernets:\n    eth0: {}\n    ib0: {addresses: [10.20.0.1/24,\n     10.20.0.2/24]} # two\n", BARE + "  ethernets:\n    eth0: {}\n"),
        (BARE + "  ethernets:\n    eth0: {}\n    ib0: {mtu: 2044}", BARE + "  ethernets:\n    eth0: {}\n"),
        (BARE + "  ethernets:\n     eth0: {}\n     'ib0':\n       {mtu: 2044,\n  mtu2: 1}\n", BARE + "  ethernets:\n     eth0: {}\n"),
        (BARE + "  ethernets:\n    eth0: {}\n    a:\n      match: {macaddress: '%s'}\n" % HWADDR.upper(), BARE + "  ethernets:\n    eth0: {}\n"),
        (BARE + "  ethernets:\n    a: {match: {name: ib0}}\n    eth0: {}\n", BARE + "  ethernets:\n    eth0: {}\n"),
        (BARE + "  ethernets:\n    a: {match: {name: ib0, macaddress: '%s'}}\n    eth0: {}\n" % HWADDR, BARE + "  ethernets:\n    eth0: {}\n"),
        (BARE + "  ethernets:\n    a: {match: {macaddress: '%s'}, set-name: ib0}\n    eth0: {}\n" % HWADDR, BARE + "  ethernets:\n    eth0: {}\n"),
        # A block scalar of a neighbour keeps its blank lines.
        (BARE + "  wifis:\n    w0:\n      x: |+\n        secret\n\n  ethernets:\n" + OWN, BARE + "  wifis:\n    w0:\n      x: |+\n        secret\n\n"),
        (BARE + "  ethernets:\n    ib0:\n      x: |\n        text\n\n\n  bonds: {}\n", BARE + "\n\n  bonds: {}\n"),
    ],
)
def test_a_definition_goes_and_every_other_byte_stays(text: str, left: str) -> None:
    assert out(text) == left


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "- network\n",
        "network:\n",
        "network: 7\n",
        "network: [ethernets]\n",
        BARE,
        BARE + "  ethernets:\n",
        BARE + "  ethernets: 7\n",
        BARE + "  ethernets:\n    ib0: 7\n",
        BARE + "  ethernets:\n    ib0: [1]\n",
        # Other devices of that name, and definitions of others.
        BARE + "  bridges:\n" + OWN,
        BARE + "  vlans:\n    ib0: {id: 5, link: eth0}\n",
        BARE + "  ethernets:\n    ib0: {match: {macaddress: '%s'}}\n" % OTHER,
        BARE + "  ethernets:\n    ib0: {match: {name: ib1}}\n",
        BARE + "  ethernets:\n    ib0: {match: {name: ib0}, set-name: ib7}\n",
        BARE + "  ethernets:\n    ib0: {match: {name: [ib0]}, set-name: ib0}\n",
        BARE + "  ethernets:\n    a: {match: {name: ib0, macaddress: '%s'}}\n" % OTHER,
        BARE + "  bonds:\n    ib0: {match: {name: ib0}}\n",
        # Patterns, drivers, and everything.
        BARE + "  ethernets:\n    ib0: {match: {name: 'ib*'}}\n",
        BARE + "  ethernets:\n    ib0: {match: {name: 'ib[0]'}}\n",
        BARE + "  ethernets:\n    ib0: {match: {driver: mlx5_core}}\n",
        BARE + "  ethernets:\n    ib0: {match: {name: ib0, driver: mlx5_core}}\n",
        BARE + "  ethernets:\n    ib0: {match: {}}\n",
        BARE + "  ethernets:\n    ib0: {match: }\n",
        BARE + "  ethernets:\n    ib0: {match: ib0}\n",
        # Forms in which lines are no keys.
        "network: {version: 2, ethernets: {ib0: {mtu: 2044}}}\n",
        "{network: {version: 2, ethernets: {ib0: {mtu: 2044}}}}\n",
        BARE + "  ethernets: {ib0: {mtu: 2044}, eth0: {}}\n",
        BARE + "  ethernets:\n    ? ib0\n    : mtu: 2044\n    eth0: {}\n",
        BARE + "  ? ethernets\n  : ib0: {}\n  bonds: {}\n",
        # What other parsers read differently.
        BARE + "  ethernets:\n    ib0: &a {mtu: 2044}\n    eth0: {}\n",
        BARE + "  ethernets:\n    eth0: &a {mtu: 2044}\n    ib0: *a\n",
        BARE + "  ethernets:\n    eth0: &a {mtu: 2044}\n    ib0:\n      <<: *a\n",
        BARE + "  ethernets:\n    ib0:\n      <<: {mtu: 2044}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {mtu: !!str 2044}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {mtu: ! 2044}\n    eth0: {}\n",
        "%YAML 1.1\n---\n" + BARE + "  ethernets:\n    ib0: {}\n    eth0: {}\n",
        "%TAG ! tag:x,2000:\n---\n" + BARE + "  ethernets:\n    ib0: {}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n    ib0: {}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n  ethernets:\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n    eth0: {mtu: 1, mtu: 2}\n",
        BARE + "  ethernets:\n    ib0: {}\n    [a]: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n    eth0: {}\n---\n" + BARE,
        BARE + "  ethernets:\n    ib0:\t{}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\r\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\x85    eth0: {}\n",
        "\ufeff" + BARE + "  ethernets:\n    ib0: {}\n    eth0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n    eth0: {} # \udcff\n",
        # The comment would become a line of the neighbour's text.
        BARE + "  wifis:\n    w0:\n      x: |\n       a\n  ethernets:\n         # storage\n         ib0: {}\n  bonds: {}\n",
        "other: 1\n" + BARE + "  ethernets:\n    ib0: {}\n",
        BARE + "  ethernets:\n    ib0: {}\n    eth0: " + "[" * 3000 + "]" * 3000 + "\n",
    ],
)
def test_what_does_not_come_out_alone_stays(text: str) -> None:
    assert out(text) is None


@pytest.mark.parametrize("directory", [each for each in _netplan.DIRECTORIES if each != _netplan.DIRECTORY])
def test_files_of_packages_and_generators_stay(directory: str) -> None:
    assert _netplan.without(IB0, directory + "/50-site.yaml", SITE) is None


def test_a_child_is_not_at_the_address_of_its_port() -> None:
    child = Identity("ib0.8001", IB0.guid, 0x8001)
    assert out(BARE + "  ethernets:\n    a: {match: {macaddress: '%s'}}\n    eth0: {}\n" % HWADDR, child) is None
    assert out(BARE + "  ethernets:\n    ib0.8001: {mtu: 2044}\n    eth0: {}\n", child) == BARE + "  ethernets:\n    eth0: {}\n"


def test_without_pyyaml_nothing_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_yaml_marks, "HAS_YAML", False)
    assert out(SITE) is None
    with pytest.raises(Refused, match="install python3-yaml"):
        plan(Wanted((WANTED,), "netplan", adopt=True), node({PATH: SITE}, yaml="no"))


# Random files: what a key has, with any style, comments and blank lines between.
VALUES = st.sampled_from(
    [
        "%s{}",
        "%s {mtu: 9000, dhcp4: no} # flow",
        "%s\n%s  dhcp4: true\n\n%s  # inner\n%s  dhcp6: 'no'",
        '%s # after\n%s  addresses:\n%s  - 10.0.0.1/8\n%s  - "10.0.0.2/8"',
        "%s\n%s  addresses: [10.0.0.1/8,\n  10.0.0.2/8]",
        "%s\n%s  text: |\n%s    a\n\n%s    # b",
        "%s\n%s  text: >-\n%s    a\n%s    b",
        "%s\n%s  text: |+\n%s    a\n\n%s  more: b",
        '%s\n%s  text: "a\n%s    b # c\n%s    d"',
        "%s\n%s  text: a\n%s    b",
        "%s\n%s  routes:\n%s  - to: default\n%s    via: 10.0.0.9",
        "%s\n%s  match: {name: eth9}\n%s# out",
        "%s",
    ]
)
KEYS = st.sampled_from(["ib0", "ib0", "'ib0'", "eth0", '"eth1"', "1e3", "on", "ib0.8001", "x y"])
BETWEEN = st.sampled_from(["", "", "# a comment", "      # deeper", "\n", "# ib0: {}"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = [draw(BETWEEN), draw(st.sampled_from(["---", "", "# head"])), "network:"]
    outer = " " * draw(st.integers(1, 4))
    for group in draw(st.lists(st.sampled_from(["version", "ethernets", "bonds", "wifis", "renderer"]), min_size=1, unique=True)):
        lines.append(draw(BETWEEN))
        if group in ("version", "renderer"):
            lines.append("%s%s: %s" % (outer, group, {"version": "2", "renderer": "networkd"}[group]))
            continue
        inner = outer + " " * draw(st.integers(1, 3))
        lines.append("%s%s:%s" % (outer, group, draw(st.sampled_from(["", " # why"]))))
        for key in draw(st.lists(KEYS, max_size=3, unique_by=lambda key: key.strip("'\""))):
            value = draw(VALUES)
            lines += [draw(BETWEEN), "%s%s:" % (inner, key) + value % (" ", *[inner] * (value.count("%s") - 1))]
    return "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n", "\n# end"]))


def minus(data: t.Any) -> t.Any:
    """The parsed document without the interface, by other means than the code."""
    network = {group: dict(keys) if isinstance(keys, dict) else keys for group, keys in data["network"].items()}
    for group in ("ethernets", "bonds"):
        if isinstance(network.get(group), dict) and "ib0" in network[group]:
            del network[group]["ib0"]
            if not network[group]:
                del network[group]
    return {**data, "network": network}


@given(documents())
def test_any_edit_is_exactly_the_interface(text: str) -> None:
    left = out(text)
    if left is None:
        return
    before = yaml.safe_load(text)
    if left == "":
        assert set(minus(before)["network"]) <= {"version"}
        return
    assert yaml.safe_load(left) == minus(before)
    # The rest of the lines, in order and byte for byte.
    lines = iter(text.splitlines(keepends=True))
    assert all(any(line == other for other in lines) for line in left.splitlines(keepends=True))
    assert [line for line in text.splitlines() if line.strip() == "# a comment"] == [line for line in left.splitlines() if line.strip() == "# a comment"]
    assert out(left) is None


@given(st.text(alphabet=" \n:-{}[]#&*!|>'\"%?ib0networkversion2ethernets,", max_size=120))
def test_any_text_is_survived(text: str) -> None:
    for each in (text, BARE + "  ethernets:\n    ib0:" + text):
        left = out(each)
        assert left is None or left == "" or yaml.safe_load(left) == minus(yaml.safe_load(each))
        NETPLAN.unsaid(IB0, PATH, {PATH: each}, names={"ib0": ""})


def node(files: t.Mapping[str, str], **settings: str) -> Found:
    presence = Presence(Claim("it is there", 2), in_use=True, settings={"renderer": renderer_of(files), **settings})
    return Found(
        netdevs={"ib0": LIVE, "eth0": Netdev("eth0", "")},
        files=files,
        backends={each.name: presence if each.name == "netplan" else Presence() for each in _registry.BACKENDS},
        routes={},
    )


def taken(files: t.Mapping[str, str], *interfaces: Interface, **wanted: t.Any) -> IpoibPlan:
    return plan(Wanted(interfaces or (WANTED,), "netplan", **{"adopt": True, **wanted}), node(files))


def test_with_consent_a_definition_is_replaced_and_the_interface_stays() -> None:
    found = node({PATH: SITE})
    with pytest.raises(Refused, match="ipoib_adopt: true"):
        plan(Wanted((WANTED,), "netplan"), found)
    todo = taken({PATH: SITE})
    files = {change.subject: change.after for change in todo.plan.about(Kind.FILE)}
    assert set(todo.adopted) == {PATH} and todo.touched == {"ib0"}
    assert files[PATH] == SITE_LEFT and list(files)[-1] == PATH
    assert not [change for change in todo.plan.changes if change.kind == Kind.INTERFACE]
    then = found._replace(files={**found.files, **files})
    assert not plan(Wanted((WANTED,), "netplan", adopt=True), then).plan


def test_the_service_is_told_where_only_the_file_of_others_changes() -> None:
    ours = _netplan.render([WANTED])
    todo = taken({PATH: SITE, **ours})
    assert [change.subject for change in todo.plan.about(Kind.FILE)] == [PATH]
    assert todo.touched == {"ib0"}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("nameservers: {addresses: [10.0.0.53]}", "nameservers (line 6)"),
        ("dhcp4: true", "dhcp4 (line 6)"),
        ("dhcp4: false\n      dhcp4-overrides: {use-dns: false}", "dhcp4-overrides (line 7)"),
        ("accept-ra: true", "accept-ra (line 6)"),
        ("link-local: []", "link-local (line 6)"),
        ("link-local: [ipv4]", "link-local (line 6)"),
        ("macaddress: 02:00:00:00:00:01", "macaddress (line 6)"),
        ("renderer: NetworkManager", "renderer NetworkManager of ib0 (line 4)"),
        ("routes: [{to: 10.30.0.0/16, via: 10.20.0.254, table: 7, on-link: true}]", "routes.table (line 6)"),
        ("routes: [{to: 10.30.0.0/16, scope: host}]", "routes.scope (line 6)"),
        ("routes: [7]", "routes (line 6)"),
        ("interfaces: [ib1]", "interfaces (line 6)"),
        ("parameters: {}", "parameters (line 6)"),
        ("networkmanager: {passthrough: {connection.zone: x}}", "networkmanager (line 6)"),
        ('"a\\e\\nb": 1', "'a\\x1b\\nb' (line 6)"),
        ("mtu: [1]", "mtu (line 6)"),
    ],
)
def test_settings_without_a_variable_are_refused_by_line(more: str, said: str) -> None:
    text = BARE + "  ethernets:\n" + OWN + "      %s\n" % more
    with pytest.raises(Refused) as refused:
        taken({"/etc/netplan/00.yaml": "network:\n  renderer: networkd\n", PATH: text})
    assert "%s in %s of ib0" % (said, PATH) in refused.value.msg
    assert "10.0.0.53" not in repr(condensed(node({PATH: text}), {"ib0": ""}, adopt={"backend": "netplan", "ports": []}))


def test_an_address_with_a_label_is_refused() -> None:
    text = BARE + "  ethernets:\n    ib0:\n      addresses: [10.20.0.1/24: {label: 'ib0:1'}]\n"
    with pytest.raises(Refused, match=r"addresses \(line 5\)"):
        taken({PATH: text})


@pytest.mark.parametrize("renderer", ["networkd", "NetworkManager"])
@pytest.mark.parametrize("mtu", [0, 2044])
def test_what_we_would_write_ourselves_loses_nothing(renderer: str, mtu: int) -> None:
    """Our own file in other hands: everything in it is expressed by variables, so there is nothing to refuse."""
    ports = [Interface("ib0", "datagram"), Interface("ib1", "datagram")]
    bond = Interface("bond0", "auto", mtu=mtu, addresses=("10.20.0.1/24", "fd00::1/64"), bond=Bond(("ib0", "ib1"), primary="ib0"))
    for wanted in ((WANTED._replace(mtu=mtu),), tuple(together([*ports, bond]))):
        text = _netplan.render(wanted, renderer)[_netplan.PATH].split("\n", 1)[1]
        files = {PATH: text, "/etc/netplan/00.yaml": "network:\n  renderer: %s\n" % renderer}
        for name in (each.name for each in wanted):
            assert NETPLAN.unsaid(Identity(name), PATH, files, names={each.name: "" for each in wanted}) == ()


def test_a_bond_and_its_ports_are_taken_over_together() -> None:
    ports = "    ib0: {}\n    ib1: {mtu: 2044}\n    eth0: {dhcp4: true}\n"
    text = BARE + "  ethernets:\n" + ports + "  bonds:\n    bond0: {interfaces: [ib0, ib1], parameters: {mode: active-backup}, addresses: [10.20.0.1/24]}\n"
    members = [Interface("ib0", "datagram"), Interface("ib1", "datagram")]
    bond = Interface("bond0", "auto", addresses=("10.20.0.1/24",), bond=Bond(("ib0", "ib1")))
    todo = taken({PATH: text}, *together([*members, bond]))
    assert {change.subject: change.after for change in todo.plan.about(Kind.FILE)}[PATH] == BARE + "  ethernets:\n    eth0: {dhcp4: true}\n"
    # A bond that is not declared has its port on.
    with pytest.raises(Refused, match="configures ib0"):
        taken({PATH: text}, WANTED._replace(addresses=()))
    with pytest.raises(Refused, match=r"interfaces \(line 8\)"):
        taken({PATH: text.replace("[ib0, ib1]", "[ib0, ib1, eth0]")}, *together([*members, bond]))


@pytest.mark.parametrize(
    "more",
    [
        "  vlans:\n    v5: {id: 5, link: ib0}\n",
        "  bridges:\n    br0: {interfaces: [ib0]}\n",
        "  wifis:\n    w0: {match: {name: 'ib*'}}\n",
    ],
)
def test_what_still_mentions_the_interface_remains_a_conflict(more: str) -> None:
    for files in ({PATH: BARE + "  ethernets:\n" + OWN + more}, {PATH: BARE + "  ethernets:\n" + OWN, "/etc/netplan/60.yaml": BARE + more}):
        with pytest.raises(Refused, match="configures ib0"):
            taken(files)


def test_an_interface_in_two_files_is_taken_out_of_both() -> None:
    todo = taken({PATH: BARE + "  ethernets:\n" + OWN, "/etc/netplan/60.yaml": BARE + "  ethernets:\n    ib0: {mtu: 2044}\n    eth0: {}\n"})
    assert set(todo.adopted) == {PATH, "/etc/netplan/60.yaml"}


def test_a_file_at_the_path_of_ours_keeps_what_else_it_says() -> None:
    with pytest.raises(Refused, match="%s exists and does not belong" % _netplan.PATH):
        taken({_netplan.PATH: BARE + "  ethernets:\n    eth0: {dhcp4: true}\n" + OWN})
    assert taken({_netplan.PATH: BARE + "  ethernets:\n" + OWN}).adopted


def test_two_definitions_of_one_interface_go_together() -> None:
    text = BARE + "  ethernets:\n    ib0: {}\n    a: {match: {macaddress: '%s'}}\n    eth0: {}\n  bonds:\n    ib0: {}\n" % HWADDR
    assert out(text) == BARE + "  ethernets:\n    eth0: {}\n"


NAMED = BARE + "  ethernets:\n    storage:\n      match: {macaddress: '%s'}\n      addresses: [10.20.0.1/24]\n" % HWADDR


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/netplan/60.yaml", BARE + "  ethernets:\n    storage: {mtu: 2044}\n"),
        ("/etc/netplan/60.yaml", BARE + "  bridges:\n    br0: {interfaces: [storage]}\n"),
        ("/etc/systemd/network/10-netplan-storage.network.d/dns.conf", "[Network]\nDNS=10.0.0.53\n"),
    ],
)
def test_an_id_that_others_use_is_refused(path: str, text: str) -> None:
    assert taken({PATH: NAMED}).adopted
    with pytest.raises(Refused, match=r"ID storage \(line 4\), which %s mentions" % path):
        taken({PATH: NAMED, path: text})


def test_a_name_that_netplan_gives_needs_a_declared_port() -> None:
    text = NAMED + "      set-name: ib0\n"
    with pytest.raises(Refused, match=r"set-name \(line 7\) without a port"):
        taken({PATH: text})
    assert taken({PATH: text}, namings=(Naming("ib0", IB0.guid),)).adopted
    assert taken({PATH: BARE + "  ethernets:\n    a: {match: {name: ib0}, set-name: ib0}\n"}).adopted


def test_a_renderer_that_only_the_interface_selects_stays() -> None:
    """Without the line, the next run would write for the other renderer."""
    text = BARE + "  ethernets:\n    eth0: {dhcp4: true}\n" + OWN + "      renderer: NetworkManager\n"
    with pytest.raises(Refused, match="renderer: NetworkManager, which no other file"):
        taken({PATH: text}, interruption=True)
    assert taken({PATH: text, "/etc/netplan/00.yaml": "network:\n  renderer: NetworkManager\n"}, interruption=True).adopted


@pytest.mark.parametrize(
    ("files", "said"),
    [
        # A renderer of all Ethernet devices, and of the whole network in a later file, which counts.
        ({PATH: "network:\n  renderer: networkd\n  ethernets:\n    renderer: NetworkManager\n" + OWN}, "renderer NetworkManager of ib0 (line 5)"),
        (
            {"/etc/netplan/00.yaml": "network:\n  renderer: networkd\n", PATH: "network:\n  renderer: NetworkManager\n  ethernets:\n" + OWN},
            "renderer NetworkManager, which netplan's files select",
        ),
    ],
)
def test_an_interface_does_not_change_its_renderer_silently(files: dict[str, str], said: str) -> None:
    with pytest.raises(Refused) as refused:
        taken(files)
    assert said in refused.value.msg


def test_with_networkmanager_an_interruption_needs_consent() -> None:
    files = {PATH: BARE + "  renderer: NetworkManager\n  ethernets:\n" + OWN}
    with pytest.raises(Refused, match="rdma_allow_interruption"):
        taken(files)
    assert taken(files, interruption=True).adopted


def test_a_file_that_hides_another_is_not_removed() -> None:
    """The hidden one would take effect, for other interfaces, too."""
    files = {PATH: BARE + "  ethernets:\n" + OWN, "/run/netplan/50-site.yaml": BARE + "  ethernets:\n    eth0: {dhcp4: true}\n"}
    with pytest.raises(Refused, match="%s configures ib0" % PATH):
        taken(files)


def test_what_netplan_has_generated_is_not_lost() -> None:
    generated = "/run/systemd/network/10-netplan-ib0.network"
    text = "[Match]\nName=ib0\n\n[Network]\nAddress=10.20.0.1/24\n\n[Route]\nDestination=10.30.0.0/16\nScope=link\n"
    site = BARE + "  ethernets:\n" + OWN + "      routes: [{to: 10.30.0.0/16, scope: link}]\n"
    assert taken({PATH: site, generated: text}).adopted
