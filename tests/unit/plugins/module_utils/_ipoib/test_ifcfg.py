# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The complete files for Red Hat and SUSE. Regenerate them with `GOLDEN=write pytest` and review the diff."""

from __future__ import annotations

import ipaddress
import os
import pathlib
import shutil
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._host._sourced import assignments, quoted
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifcfg, _wicked
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._assignments import Folder
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifcfg_backend import IFCFG
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NETWORKMANAGER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._wicked_backend import WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Presence, Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Route
from hypothesis import given, settings
from hypothesis import strategies as st

GOLDEN = pathlib.Path(__file__).parent / "golden"

DATAGRAM = (Interface("ib0", "datagram", mtu=4092, addresses=("10.20.0.1/24", "10.20.1.1/24", "fd00:20::1/64", "fd00:21::1/64")),)
PLAIN = (Interface("ib0", "datagram"),)
CONNECTED = (Interface("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24",), routes=(Route("10.30.0.0/16", "10.20.0.254", 50), Route("fd00:30::/64"))),)
CHILD = (
    Interface("ib0", "datagram", addresses=("10.20.0.1/24",)),
    Interface("ib0.8001", "connected", mtu=65520, addresses=("fd00:21::1/64",), parent="ib0", pkey=0x8001),
)
LIMITED = (CHILD[0], Interface("ib0.0002", "datagram", parent="ib0", pkey=0x0002))
BOND = (
    Interface("ib0", "connected", mtu=65520, master="bond0"),
    Interface("ib1", "connected", mtu=65520, master="bond0"),
    Interface(
        "bond0",
        "connected",
        mtu=65520,
        addresses=("10.20.0.1/24",),
        routes=(Route("0.0.0.0/0", "10.20.0.254"), Route("10.40.0.0/16", "10.20.0.254"), Route("::/0", "fd00::1", 200)),
        bond=Bond(("ib0", "ib1"), primary="ib0", miimon=100),
    ),
)
BOND_OF_CHILDREN = (
    Interface("ib0", "datagram"),
    Interface("ib1", "datagram"),
    Interface("ib0.8001", "datagram", parent="ib0", pkey=0x8001, master="bond1"),
    Interface("ib1.8001", "datagram", parent="ib1", pkey=0x8001, master="bond1"),
    Interface("bond1", "datagram", mtu=2044, addresses=("10.21.0.1/24", "fd00:21::1/64"), bond=Bond(("ib0.8001", "ib1.8001"), miimon=50)),
)
SEVERAL = (
    *CHILD,
    Interface("ib1", "connected", mtu=32000, addresses=("10.22.0.1/24",)),
    Interface("ib2", "datagram", master="bond0"),
    Interface("ib3", "datagram", master="bond0"),
    Interface("bond0", "datagram", addresses=("10.23.0.1/24",), routes=(Route("0.0.0.0/0", "10.23.0.254", 300),), bond=Bond(("ib2", "ib3"))),
)
CASES = {
    "datagram": DATAGRAM,
    "plain": PLAIN,
    "connected": CONNECTED,
    "child": CHILD,
    "bond": BOND,
    "bond_of_children": BOND_OF_CHILDREN,
    "several": SEVERAL,
}


def scripts(interfaces: t.Sequence[Interface]) -> dict[str, str]:
    return _ifcfg.render(interfaces, nm=False)


RENDERERS: dict[str, t.Callable[[t.Sequence[Interface]], dict[str, str]]] = {
    "ifcfg": _ifcfg.render,
    "ifcfg_scripts": scripts,
    "wicked": _wicked.render,
}
BACKENDS: dict[str, t.Any] = {"ifcfg": _ifcfg, "wicked": _wicked}
SHELLS = [shell for shell in ("dash", "bash", "sh") if shutil.which(shell)]


# wicked refuses limited membership, and network-scripts set the full-member bit: only NetworkManager gets a file for it.
GOLDEN_CASES = [(backend, case) for backend in RENDERERS for case in CASES] + [("ifcfg", "limited")]


@pytest.mark.parametrize(("backend", "case"), GOLDEN_CASES)
@pytest.mark.proves("ifcfg", el8="golden file")
@pytest.mark.proves("wicked", sles15="golden file")
def test_golden(backend: str, case: str) -> None:
    files = RENDERERS[backend]({**CASES, "limited": LIMITED}[case])
    text = "".join("==> %s\n%s" % (path, content) for path, content in sorted(files.items()))
    golden = GOLDEN / ("%s-%s.txt" % (backend, case))
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("backend", RENDERERS)
def test_a_shell_reads_what_we_read(backend: str, shell: str, tmp_path: pathlib.Path) -> None:
    """network-scripts source the files: they must run no command, and every variable must have the value that the collection's parser reads."""
    for case, interfaces in CASES.items():
        for path, text in RENDERERS[backend](interfaces).items():
            if not path.rsplit("/", 1)[1].startswith("ifcfg-"):
                continue
            file = tmp_path / (case + "-" + path.rsplit("/", 1)[1])
            file.write_text(text, encoding="utf-8")
            subprocess.run([shell, "-n", str(file)], check=True)
            expected = assignments(text)
            show = "".join('printf "%%s\\n" "%s=$%s"\n' % (name, name) for name in expected)
            script = 'PATH=/nowhere; . "%s"\n%s' % (file, show)
            done = subprocess.run([shell, "-eu", "-c", script], check=True, capture_output=True, text=True, env={})
            assert done.stdout == "".join("%s=%s\n" % pair for pair in expected.items())
            assert done.stderr == ""


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
@settings(max_examples=settings.default.max_examples + 10)
def test_quoting_is_read_back(value: str) -> None:
    (text,) = Folder("/etc", ("ifcfg",)).described("ib0", [("NAME", value)]).values()
    assert assignments(text) == {"NAME": value}


@pytest.mark.parametrize("value", ["", "a b", "$(reboot)", "`reboot`", 'a"b', "a\\b", "it's", "#x", "a;b", "ib0.8001", "10.0.0.1/24", "fd00::1/64"])
def test_a_shell_takes_values_literally(value: str) -> None:
    done = subprocess.run(["sh", "-c", 'X=%s; printf %%s "$X"' % quoted(value)], check=True, capture_output=True, text=True)
    assert done.stdout == value


def test_foreign_lines_are_read_as_a_shell_reads_them() -> None:
    text = '# DEVICE=ib9\nDEVICE=\'ib0\'  # first port\nexport TYPE="InfiniBand"\nMTU=\nMTU=2044\n. /etc/foo\nNAME="open\nIPADDR=10.0.0.1\n'
    assert assignments(text) == {"DEVICE": "ib0", "TYPE": "InfiniBand", "MTU": "2044", "NAME": "", "IPADDR": "10.0.0.1"}


ADDRESSES = st.one_of(
    st.builds(lambda number, prefix: "%s/%d" % (ipaddress.IPv4Address(number), prefix), st.integers(1, 2**32 - 1), st.integers(1, 32)),
    st.builds(lambda number, prefix: "%s/%d" % (ipaddress.IPv6Address(number), prefix), st.integers(1, 2**128 - 1), st.integers(1, 128)),
)
TARGETS = st.lists(
    st.builds(
        lambda name, mode, mtu, addresses: Interface(name, mode, mtu=mtu, addresses=tuple(addresses)),
        st.sampled_from(["ib0", "ib1", "ibp65s0f1", "mlx5_ib3", "ib0.8001"]),
        st.sampled_from(["datagram", "connected"]),
        st.one_of(st.just(0), st.integers(68, 65520)),
        st.lists(ADDRESSES, max_size=6, unique=True),
    ),
    unique_by=lambda interface: interface.name,
    max_size=4,
)


@pytest.mark.parametrize("backend", BACKENDS)
def test_records_give_back_what_was_rendered(backend: str) -> None:
    @given(TARGETS)
    @settings(max_examples=settings.default.max_examples + 10)
    def check(interfaces: list[Interface]) -> None:
        found = BACKENDS[backend].records(BACKENDS[backend].render(interfaces))
        assert {name: (sorted(record.addresses), record.mtu) for name, record in found.items()} == {
            interface.name: (sorted(interface.addresses), interface.mtu) for interface in interfaces
        }

    check()


@pytest.mark.parametrize("backend", BACKENDS)
def test_ours_are_no_conflict_and_others_are_no_record(backend: str) -> None:
    files = BACKENDS[backend].render(BOND)
    assert BACKENDS[backend].conflicts(Identity("ib0"), files) == ()
    foreign = {path: text[len(HEADER) :] for path, text in files.items()}
    assert BACKENDS[backend].records(foreign) == {}
    assert set(BACKENDS[backend].conflicts(Identity("bond0"), foreign)) == {path for path in files if path.endswith("-bond0")}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("ifcfg-ib0", "DEVICE=ib0\n", True),
        ("ifcfg-ib0", "DEVICE=ib7\n", True),
        ("ifcfg-storage", "DEVICE='ib0'\n", True),
        ("ifcfg-storage-1", "DEVICE=ib0:1\n", True),
        ("ifcfg-ib0:1", "IPADDR=10.0.0.9\n", True),
        ("route-ib0", "default via 10.0.0.1\n", True),
        ("route6-ib0", "default via fd00::1\n", True),
        ("ifcfg-ib0.bak", "DEVICE=ib0\n", False),
        ("ifcfg-ib0.rpmsave", "DEVICE=ib0\n", False),
        ("ifcfg-ib0.8001", "DEVICE=ib0.8001\n", False),
        ("ifcfg-eth0", "DEVICE=eth0\n# DEVICE=ib0\n", False),
        ("ifup-ib", "DEVICE=ib0\n", False),
    ],
)
def test_ifcfg_conflicts(name: str, text: str, found: bool) -> None:
    path = "%s/%s" % (_ifcfg.DIRECTORY, name)
    assert _ifcfg.conflicts(Identity("ib0"), {**_ifcfg.render(CHILD), path: text}) == ((path,) if found else ())


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("ifcfg-ib0", "BOOTPROTO=dhcp\n", True),
        ("ifroute-ib0", "default 10.0.0.1\n", True),
        ("ifsysctl-ib0", "net.ipv6.conf.ib0.accept_ra = 1\n", True),
        ("ifcfg-bond9", "BONDING_MASTER=yes\nBONDING_SLAVE_0='ib0'\n", True),
        ("ifcfg-bond9", "BONDING_MASTER=yes\nBONDING_SLAVE_0='ib1'\n", False),
        ("routes", "default 10.0.0.1 - ib0\n", True),
        ("routes", "# default 10.0.0.1 - ib0\ndefault 10.0.0.1 - eth0\n\n", False),
        ("ifcfg-ib0.8001", "BOOTPROTO=dhcp\n", False),
        ("ifcfg-ib0.rpmsave", "BOOTPROTO=dhcp\n", False),
    ],
)
def test_wicked_conflicts(name: str, text: str, found: bool) -> None:
    path = "%s/%s" % (_wicked.DIRECTORY, name)
    assert _wicked.conflicts(Identity("ib0"), {**_wicked.render(PLAIN), path: text}) == ((path,) if found else ())


def test_own_files_are_those_of_the_administrator() -> None:
    red_hat = {**_ifcfg.render(PLAIN), _ifcfg.path_of("lo"): "DEVICE=lo\n", _ifcfg.path_of("eth0"): "DEVICE=eth0\n", _ifcfg.path_of("eth0", "route"): "x\n"}
    assert _ifcfg.own_files(red_hat) == (_ifcfg.path_of("eth0"),)
    suse = {**_wicked.render(PLAIN), _wicked.path_of("lo"): "STARTMODE=nfsroot\n", _wicked.path_of("eth0"): "STARTMODE=auto\n"}
    assert _wicked.own_files(suse) == (_wicked.path_of("eth0"),)


def reader(nm: tuple[int, int] | None) -> Found:
    """Return a node with this release of NetworkManager; None means network-scripts."""
    return Found(backends={NETWORKMANAGER.name: Presence(settings={"version": "%d.%d" % nm} if nm else {})})


@pytest.mark.parametrize(("nm", "refused"), [(None, True), ((1, 40), True), ((1, 44), False)])
def test_limited_membership_is_for_newer_readers(nm: tuple[int, int] | None, refused: bool) -> None:
    found = IFCFG.faults(LIMITED, reader(nm))
    assert bool(found) == refused
    assert all(text.startswith("ib0.0002: P_Key 0x0002 is a limited membership") and "declare 0x8002" in text for text in found)
    assert WICKED.faults(CHILD, Found()) == ()
    assert WICKED.faults(LIMITED, Found()) == ("ib0.0002: P_Key 0x0002 is a limited membership, which wicked refuses; declare 0x8002",)


def test_remarks_name_what_network_scripts_may_do() -> None:
    assert IFCFG.remarks(DATAGRAM, reader(None)) == ("ib0: some releases of ifup-ib lower the MTU of datagram mode to 2044",)
    assert IFCFG.remarks(DATAGRAM, reader((1, 44))) == IFCFG.remarks(CONNECTED, reader(None)) == ()


def test_the_profile_has_one_uuid_for_ever() -> None:
    assert assignments(_ifcfg.render(PLAIN)[_ifcfg.path_of("ib0")])["UUID"] == _ifcfg.uuid_of("ib0") == "cdcf86b0-96b3-5bb3-9ba0-e38ae6f2f662"


def test_records_of_one_file() -> None:
    assert _ifcfg.records(_ifcfg.render(DATAGRAM)) == {"ib0": Record("ib0", DATAGRAM[0].addresses, 4092)}
    assert _wicked.records(_wicked.render(DATAGRAM)) == {"ib0": Record("ib0", DATAGRAM[0].addresses, 4092)}
