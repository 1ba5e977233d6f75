# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What NetworkManager and netplan refuse, who owns which files, and that every stack returns the settings that it was given."""

from __future__ import annotations

import functools
import ipaddress
import pathlib
import subprocess
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend, Evidence, Tools
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifupdown, _netplan, _networkd, _networkmanager
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._netplan_backend import NETPLAN
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NETWORKMANAGER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Presence, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._todo import IpoibPlan
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Route, interfaces_of, settled
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan
from hypothesis import given, settings
from hypothesis import strategies as st
from support.runners import Says

BOND = (
    Interface("ib0", "connected", mtu=65520, master="bond0"),
    Interface("ib1", "connected", mtu=65520, master="bond0"),
    Interface("bond0", "connected", mtu=65520, addresses=("10.20.0.1/24",), bond=Bond(("ib0", "ib1"), primary="ib1")),
)
OVER_CHILDREN = (
    Interface("ib0"),
    Interface("ib1"),
    Interface("ib0.8001", mtu=2044, parent="ib0", pkey=0x8001, master="bond0"),
    Interface("ib1.8001", mtu=2044, parent="ib1", pkey=0x8001, master="bond0"),
    Interface("bond0", mtu=2044, bond=Bond(("ib0.8001", "ib1.8001"))),
    Interface("ib2"),
)


def test_ports_have_the_mtu_of_their_bond_and_know_it() -> None:
    bond: dict[str, t.Any] = {"name": "bond0", "mode": "connected", "bond": {"ports": ["ib0", "ib1"]}}
    assert [(each.mtu, each.master) for each in settled(interfaces_of([bond]))] == [(65520, "bond0"), (65520, "bond0"), (65520, "")]
    declared: list[dict[str, t.Any]] = [{"name": name, "mode": "datagram"} for name in ("ib0", "ib1", "ib2")]
    declared += [{"parent": name, "pkey": 0x8001} for name in ("ib0", "ib1")]
    declared.append({"name": "bond0", "mode": "datagram", "bond": {"ports": ["ib0.8001", "ib1.8001"]}})
    assert [(each.name, each.mtu) for each in settled(interfaces_of(declared))] == [
        ("ib0", 0),
        ("ib1", 0),
        ("ib2", 0),
        ("ib0.8001", 2044),
        ("ib1.8001", 2044),
        ("bond0", 2044),
    ]


def test_the_boot_unit_puts_ports_into_connected_mode_and_leaves_the_bond() -> None:
    assert _boot.recorded_mtus(_boot.render(BOND)) == {"ib0": 65520, "ib1": 65520}


# A NetworkManager keyfile that the collection did not write.
def profile(connection: str, more: str = "", kind: str = "infiniband") -> str:
    return "[connection]\nid=x\ntype=%s\n%s\n%s" % (kind, connection, more)


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("/etc/NetworkManager/system-connections/x", profile("interface-name=ib0"), True),
        ("/run/NetworkManager/system-connections/x.nmconnection", profile("interface-name=ib0"), True),
        ("/usr/lib/NetworkManager/system-connections/x.nmconnection", profile("interface-name=ib0", kind="bond"), True),
        ("/etc/NetworkManager/system-connections/x", profile("interface-name=ib1"), False),
        ("/etc/NetworkManager/system-connections/x", profile(""), True),
        ("/etc/NetworkManager/system-connections/x", profile("autoconnect=false"), False),
        ("/etc/NetworkManager/system-connections/x", profile("", kind="ethernet"), False),
        ("/etc/NetworkManager/system-connections/x", profile("", "[infiniband]\nmac-address=80:00"), False),
        ("/etc/NetworkManager/system-connections/x", profile("", "[match]\ninterface-name=eth*;ib*;"), True),
        ("/etc/NetworkManager/system-connections/x", profile("", "[match]\ninterface-name=!ib0;ib*;"), False),
        ("/etc/NetworkManager/system-connections/x", profile("", "[match]\ninterface-name=!ib1"), True),
        ("/etc/NetworkManager/system-connections/x", profile("", "[match]\ninterface-name=eth*"), False),
        ("/etc/NetworkManager/system-connections/x", profile("", "[infiniband]\np-key=0x8001\nparent=ib0"), False),
        ("/etc/NetworkManager/system-connections/.x", profile("interface-name=ib0"), False),
        ("/etc/NetworkManager/system-connections/x~", profile("interface-name=ib0"), False),
        ("/etc/NetworkManager/dispatcher.d/x", profile("interface-name=ib0"), False),
    ],
)
def test_networkmanager_conflicts(path: str, text: str, found: bool) -> None:
    files = dict(_networkmanager.render((Interface("ib0"),)), **{path: text})
    assert _networkmanager.conflicts(Identity("ib0"), files) == ((path,) if found else ())


@pytest.mark.parametrize("pkey", ["32769", "0x8001"])
def test_networkmanager_conflicts_of_an_unnamed_child(pkey: str) -> None:
    path = "/etc/NetworkManager/system-connections/x"
    files = {path: profile("", "[infiniband]\nparent=ib0\np-key=%s\n" % pkey)}
    assert _networkmanager.conflicts(Identity("ib0.8001"), files) == (path,)


def test_a_profile_stays_ours_when_nmcli_has_rewritten_it() -> None:
    path = _networkmanager.path_of("ib0")
    text = _networkmanager.render((Interface("ib0", mtu=2044),))[path]
    assert _networkmanager.is_ours(path, text.split("\n", 1)[1])
    assert not _networkmanager.is_ours(path, profile("interface-name=ib0\nuuid=6a1b0f4e-0000-4000-8000-000000000000"))
    assert not _networkmanager.is_ours(path.replace("rdma-", ""), text)


@pytest.mark.parametrize(
    ("interface", "words"),
    [
        (Interface("ibp193s0f0v1", parent="", addresses=("10.0.0.1/8",)), ""),
        (Interface("ibp193s0f0.8001", parent="ibp193s0f0v1", pkey=0x8001), "at most 10 characters"),
        (Interface("storage", parent="ib0", pkey=0x8001), "allowed: ib0.8001"),
        (Interface("ib0.8001", parent="ib0", pkey=0x8001), ""),
        (Interface("ib0", addresses=("10.0.0.1/8",), routes=(Route("fd00::/64", "fd01::1"),)), "routes of a family"),
    ],
)
def test_what_networkmanager_cannot_do(interface: Interface, words: str) -> None:
    for found in (_networkmanager.problems([interface]), _netplan.problems([interface], _netplan.NETWORKMANAGER)):
        assert [words in str(problem) for problem in found] == ([True] if words else [])
    assert _netplan.problems([interface]) == []


def test_an_old_netplan_leaves_the_mode_to_the_boot_unit_or_cannot_do_it() -> None:
    files = _netplan.render(BOND, infiniband_mode=False)
    # Nor may the file have settings that the preceding release introduced.
    assert "infiniband-mode" not in files[_netplan.PATH] and "ignore-carrier" not in files[_netplan.PATH]
    dropins = {path: text for path, text in files.items() if path != _netplan.PATH}
    assert len(dropins) == len(BOND) and all(_netplan.is_ours(path, text) and "ConfigureWithoutCarrier=yes" in text for path, text in dropins.items())
    assert _netplan.problems(BOND, infiniband_mode=False) == []
    found = _netplan.problems(BOND, _netplan.NETWORKMANAGER, infiniband_mode=False)
    assert [str(problem).partition(";")[0] for problem in found] == ["netplan of ib0, ib1, bond0 is 'a release before 0.105'"]
    for renderer, needed in ((_netplan.NETWORKD, True), (_netplan.NETWORKMANAGER, False)):
        assert NETPLAN.needs_boot_unit(Found(backends={"netplan": Presence(settings={"renderer": renderer})})) == needed


@pytest.mark.parametrize(
    ("said", "able"), [("features:\n  - dbus\n  - infiniband\n  - sriov\n", True), ("features:\n  - dbus\n  - sriov\n", False), ("", False)]
)
def test_whether_netplan_knows_the_mode_is_in_its_list_of_features(tmp_path: pathlib.Path, said: str, able: bool) -> None:
    evidence = Evidence({}, frozenset(("netplan",)), {"/etc/netplan/01.yaml": "network: {}\n"})
    presence = NETPLAN.look(Says(0, said), evidence, str(tmp_path))
    assert ("infiniband-mode" in NETPLAN.render(BOND, Found(backends={"netplan": presence}))[_netplan.PATH]) is able


@pytest.mark.parametrize(
    ("backend", "profiles"),
    [
        (NETWORKMANAGER, ["rdma-ib0", "rdma-ib1", "rdma-bond0", "rdma-ib2"]),
        (NETPLAN, ["netplan-ib0", "netplan-ib1", "rdma-bond0", "netplan-ib2"]),
    ],
    ids=["networkmanager", "netplan"],
)
def test_nmcli_activates_bonds_and_never_ports_by_the_name_of_whoever_wrote_the_profile(backend: Backend, profiles: list[str]) -> None:
    run = Says(0, "")
    found = Found(backends={"netplan": Presence(settings={"renderer": _netplan.NETWORKMANAGER})})
    backend.drive(Tools(run, mock.Mock()), found, OVER_CHILDREN).apply(
        IpoibPlan(Plan(), OVER_CHILDREN, touched=frozenset(each.name for each in OVER_CHILDREN)), (), found
    )
    assert [argv[-1] for argv in run.calls if argv[-4:-2] == ["connection", "up"]] == profiles


def test_netplan_leaves_to_its_renderer_what_it_cannot_say() -> None:
    assert _netplan.outside(OVER_CHILDREN) == {"ib0.8001", "ib1.8001", "bond0"}
    files = _netplan.render((Interface("ib0.8001", parent="ib0", pkey=0x8001),))
    assert _netplan.PATH not in files


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("/etc/netplan/01.yaml", "network:\n  ethernets:\n    ib0:\n      dhcp4: true\n", True),
        ("/etc/netplan/01.yaml", "network: {ethernets: {'ib0': {dhcp4: true}}}\n", True),
        ("/run/netplan/01.yaml", "network:\n  bonds:\n    b:\n      interfaces: [eth0, ib0]\n", True),
        ("/etc/netplan/01.yaml", "network:\n  ethernets:\n    all:\n      match:\n        name: 'ib*'\n", True),
        ("/etc/netplan/01.yaml", "network:\n  ethernets:\n    all:\n      match: {name: en*}\n", False),
        ("/etc/netplan/01.yaml", "network:\n  ethernets:\n    eth0: {} # not ib0\n    ib0.8001: {}\n    xib0: {}\n", False),
        ("/etc/netplan/01.yaml.bak", "network:\n  ethernets:\n    ib0:\n", False),
        ("/etc/systemd/network/05-ib.network", "[Match]\nName=ib*\n", True),
        ("/etc/systemd/network/20-ib.network", "[Match]\nName=ib*\n", True),
        ("/run/systemd/network/10-netplan-ib0.network", "[Match]\nName=ib0\n", False),
        ("/run/NetworkManager/system-connections/netplan-ib0.nmconnection", profile("interface-name=ib0"), False),
        ("/etc/NetworkManager/system-connections/x", profile("interface-name=ib0"), True),
    ],
)
def test_netplan_conflicts(path: str, text: str, found: bool) -> None:
    files = dict(_netplan.render((Interface("ib0"),)), **{path: text})
    assert _netplan.conflicts(Identity("ib0"), files) == ((path,) if found else ())


def test_whose_files_netplan_reads() -> None:
    files = _netplan.render(OVER_CHILDREN)
    owners = (_netplan.is_ours, _networkd.is_ours)
    assert all(any(is_ours(path, text) for is_ours in owners) for path, text in files.items())
    assert not _netplan.is_ours(_netplan.PATH, "network: {}\n")
    assert _netplan.records({_netplan.PATH: "network: {}\n"}) == {}
    assert _netplan.own_files([*files, "/etc/netplan/50-cloud-init.yaml"]) == ("/etc/netplan/50-cloud-init.yaml",)


def test_the_boot_script_does_one_interface_for_udev(tmp_path: pathlib.Path) -> None:
    # udev knows the future names of the interfaces. Two swap names: the kernel calls one ib0 that becomes ib1, and the other has made room.
    for index, name in enumerate(("ib0", "rdma-1", "ib1.8001")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ifindex").write_text("%d\n" % index)
        (tmp_path / name / "mode").write_text("datagram\n")
        (tmp_path / name / "mtu").write_text("65520\n")
    script = tmp_path / "script"
    script.write_text(_boot.render(BOND)[_boot.SCRIPT_PATH].replace("/sys/class/net", str(tmp_path)))
    for name, index in (("ib0", "1"), ("ib1.8001", "2")):
        subprocess.run(["sh", str(script), "--only", name, index, "ib0=65520", "storage=65520"], check=True)
    assert [(tmp_path / name / "mode").read_text() for name in ("ib0", "rdma-1", "ib1.8001")] == ["datagram\n", "connected\n", "datagram\n"]


NAMES = ("ib0", "ib1", "ibp65s0", "1e3", "true")
ADDRESSES = st.one_of(
    st.builds(lambda bits, length: str(ipaddress.IPv4Interface((bits, length))), st.integers(1, 2**32 - 1), st.integers(1, 32)),
    st.builds(lambda bits, length: str(ipaddress.IPv6Interface((bits, length))), st.integers(1, 2**128 - 1), st.integers(1, 128)),
)
ADDRESS_LISTS = st.lists(ADDRESSES, max_size=4, unique=True).map(tuple)
MODES = st.sampled_from(("datagram", "connected"))


@st.composite
def nodes(draw: st.DrawFn) -> tuple[Interface, ...]:
    """Return parents, some of them with children, and at most one bond of some of them."""
    found = []
    for name in draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True)):
        mode = draw(MODES)
        mtu = 65520 if mode == "connected" else draw(st.sampled_from((0, 1500, 2044, 4092)))
        found.append(Interface(name, mode, mtu=mtu, addresses=draw(ADDRESS_LISTS)))
        for pkey in draw(st.sets(st.integers(1, 0x7FFF).map(lambda low: low | 0x8000), max_size=2)):
            found.append(Interface("%s.%04x" % (name, pkey), draw(MODES), mtu=draw(st.sampled_from((0, 2044))), parent=name, pkey=pkey))
    if draw(st.booleans()):
        ports = draw(st.lists(st.sampled_from([interface.name for interface in found]), min_size=1, unique=True))
        mtu = draw(st.sampled_from((65520, 9000)))
        port: dict[str, t.Any] = {"mode": "connected", "mtu": mtu, "addresses": (), "master": "bond0"}
        found = [interface._replace(**port) if interface.name in ports else interface for interface in found]
        found.append(Interface("bond0", "connected", mtu=mtu, addresses=draw(ADDRESS_LISTS), bond=Bond(tuple(ports), ports[-1])))
    return tuple(found)


def _records(stack: t.Any, files: t.Mapping[str, str]) -> dict[str, Record]:
    """Return the records that planning uses: those of every back end, with the MTUs of the boot unit."""
    found = dict(stack.records(files))
    for other in (_networkd, _networkmanager):
        found.update(other.records(files))
    return found


@pytest.mark.parametrize(
    ("stack", "render"),
    [
        (_networkd, _networkd.render),
        (_ifupdown, _ifupdown.render),
        (_networkmanager, _networkmanager.render),
        (_netplan, _netplan.render),
        (_netplan, functools.partial(_netplan.render, renderer=_netplan.NETWORKMANAGER)),
    ],
    ids=["networkd", "ifupdown", "networkmanager", "netplan-networkd", "netplan-networkmanager"],
)
def test_every_stack_gives_back_what_it_was_told(stack: t.Any, render: t.Callable[[t.Sequence[Interface]], dict[str, str]]) -> None:
    @settings(max_examples=settings.default.max_examples + 10)
    @given(nodes())
    def check(interfaces: tuple[Interface, ...]) -> None:
        files = render(interfaces)
        assert render(interfaces) == files
        found = _records(stack, files)
        for name, mtu in _boot.recorded_mtus(_boot.render(interfaces)).items():
            found[name] = found[name]._replace(mtu=mtu)
        wanted = {interface.name: (sorted(interface.addresses), interface.mtu) for interface in interfaces}
        assert {name: (sorted(record.addresses), record.mtu) for name, record in found.items()} == wanted
        assert not any(stack.conflicts(Identity(interface.name), files) for interface in interfaces)

    check()
