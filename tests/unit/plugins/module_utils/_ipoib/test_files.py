# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The complete files of each network stack. Regenerate them with `GOLDEN=write pytest` and review the diff."""

from __future__ import annotations

import functools
import os
import pathlib
import stat
import subprocess

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _ifupdown, _netplan, _networkd, _networkmanager
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Record
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Bond, Interface, Route

GOLDEN = pathlib.Path(__file__).parent / "golden"

DATAGRAM = (Interface("ib0", "datagram", mtu=4092, addresses=("10.20.0.1/24", "fd00:20::1/64")),)
PLAIN = (Interface("ib0", "datagram"),)
CONNECTED = (Interface("ib0", "connected", mtu=65520, addresses=("10.20.0.1/24", "10.20.0.2/24")), Interface("ib1", "connected", mtu=32000))
CHILD = (
    Interface("ib0", "datagram", addresses=("10.20.0.1/24",)),
    Interface("ib0.8001", "connected", mtu=65520, addresses=("fd00:21::1/64",), parent="ib0", pkey=0x8001),
    Interface("ib0.8002", "datagram", parent="ib0", pkey=0x8002),
)
# Full and limited membership of one port.
LIMITED = (
    Interface("ib0", "datagram"),
    Interface("ib0.0003", "datagram", addresses=("10.23.0.1/24",), parent="ib0", pkey=0x0003),
    Interface("ib0.8001", "datagram", mtu=2044, addresses=("10.21.0.1/24", "fd00:21::1/64"), parent="ib0", pkey=0x8001),
)
BOND = (
    Interface("ib0", "connected", mtu=65520, master="bond0"),
    Interface("ib1", "connected", mtu=65520, master="bond0"),
    Interface(
        "bond0",
        "connected",
        mtu=65520,
        addresses=("10.20.0.1/24", "fd00:20::1/64"),
        routes=(Route("10.30.0.0/16", "10.20.0.254", 100), Route("fd00:30::/32", "fd00:20::fe"), Route("10.31.0.0/16"), Route("10.32.0.0/16", metric=7)),
        bond=Bond(("ib0", "ib1"), primary="ib1"),
    ),
)
BOND_CHILDREN = (
    Interface("ib0", "datagram"),
    Interface("ib1", "datagram"),
    Interface("ib0.8001", "connected", mtu=65520, parent="ib0", pkey=0x8001, master="bond1"),
    Interface("ib1.8001", "connected", mtu=65520, parent="ib1", pkey=0x8001, master="bond1"),
    Interface("bond1", "connected", mtu=65520, addresses=("10.21.0.1/24",), bond=Bond(("ib0.8001", "ib1.8001"), miimon=250)),
)
# A bond of two ports beside their children, which are in a bond as well; a third port with a default route.
TOGETHER = (
    *BOND,
    Interface("ib0.8001", "datagram", parent="ib0", pkey=0x8001, mtu=2044, master="bond1"),
    Interface("ib1.8001", "datagram", parent="ib1", pkey=0x8001, mtu=2044, master="bond1"),
    Interface("bond1", "datagram", mtu=2044, addresses=("fd00:21::1/64",), bond=Bond(("ib0.8001", "ib1.8001"), primary="ib0.8001")),
    Interface("ib2", "datagram", mtu=4092, addresses=("10.40.0.1/24",), routes=(Route("0.0.0.0/0", "10.40.0.254", 4096),)),
    Interface("ib2.0002", "datagram", parent="ib2", pkey=0x0002),
)
CASES = {
    "datagram": DATAGRAM,
    "plain": PLAIN,
    "connected": CONNECTED,
    "child": CHILD,
    "limited": LIMITED,
    "bond": BOND,
    "bond-children": BOND_CHILDREN,
    "together": TOGETHER,
}
RENDERERS = {
    "networkd": _networkd.render,
    "ifupdown": _ifupdown.render,
    "boot": _boot.render,
    "networkmanager": _networkmanager.render,
    "netplan-networkd": _netplan.render,
    "netplan-networkmanager": functools.partial(_netplan.render, renderer=_netplan.NETWORKMANAGER),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("backend", RENDERERS)
@pytest.mark.proves("networkmanager", el9="golden file", el10="golden file", sles16="golden file")
@pytest.mark.proves("netplan", ubuntu20="golden file", ubuntu22="golden file", ubuntu24="golden file", ubuntu26="golden file")
def test_golden(backend: str, case: str) -> None:
    files = RENDERERS[backend](CASES[case])
    text = "".join("==> %s\n%s" % (path, content) for path, content in sorted(files.items()))
    golden = GOLDEN / ("%s-%s.txt" % (backend, case))
    if os.environ.get("GOLDEN") == "write":
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_networkd_reads_its_own_files_back() -> None:
    assert _networkd.records(_networkd.render(DATAGRAM)) == {"ib0": Record("ib0", ("10.20.0.1/24", "fd00:20::1/64"), 4092)}
    assert _networkd.records({path: text.split("\n", 1)[1] for path, text in _networkd.render(DATAGRAM).items()}) == {}


def test_ifupdown_reads_its_own_files_back() -> None:
    assert _ifupdown.records(_ifupdown.render(CHILD)) == {
        "ib0": Record("ib0", ("10.20.0.1/24",)),
        "ib0.8001": Record("ib0.8001", ("fd00:21::1/64",), 65520),
        "ib0.8002": Record("ib0.8002"),
    }


def test_boot_unit_is_on_record() -> None:
    assert _boot.recorded_mtus(_boot.render(CONNECTED)) == {"ib0": 65520, "ib1": 32000}
    assert _boot.recorded_mtus({}) == {}


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("/etc/systemd/network/10-ib.network", "[Match]\nName=ib0\n", True),
        ("/etc/systemd/network/10-ib.network", "[Match]\nName=ib*\n", True),
        ("/etc/systemd/network/10-all.network", "[Match]\nName=*\n", True),
        ("/etc/systemd/network/10-type.network", "[Match]\nType=infiniband\n", True),
        ("/run/systemd/network/10-netplan.network", "[Match]\nName=eth0 ib0\n", True),
        ("/etc/systemd/network/90-late.network", "[Match]\nName=ib0\n", True),
        ("/etc/systemd/network/90-late.network", "[Match]\nName=ib*\n", True),
        ("/etc/systemd/network/10-eth.network", "[Match]\nName=eth*\n", False),
        ("/etc/systemd/network/10-not.network", "[Match]\nName=!ib*\n", False),
        ("/etc/systemd/network/10-type.network", "[Match]\nType=ether\nName=*\n", False),
        ("/etc/systemd/network/10-mac.network", "[Match]\nMACAddress=00:11:22:33:44:55\n", False),
        ("/etc/systemd/network/10-empty.network", "[Network]\nDHCP=yes\n", False),
        ("/etc/systemd/network/10-bond.netdev", "[Match]\nName=ib0\n", False),
    ],
)
def test_networkd_conflicts(path: str, text: str, found: bool) -> None:
    files = dict(_networkd.render(PLAIN), **{path: text})
    assert _networkd.conflicts(Identity("ib0"), files) == ((path,) if found else ())


@pytest.mark.parametrize(
    ("main", "path", "found"),
    [
        ("iface ib0 inet static\n", "/etc/network/interfaces.d/x", "/etc/network/interfaces"),
        ("source /etc/network/interfaces.d/*\n", "/etc/network/interfaces.d/x", "/etc/network/interfaces.d/x"),
        ("source interfaces.d/*\n", "/etc/network/interfaces.d/x", "/etc/network/interfaces.d/x"),
        ("source-directory /etc/network/interfaces.d\n", "/etc/network/interfaces.d/x", "/etc/network/interfaces.d/x"),
        ("source-directory interfaces.d\n", "/etc/network/interfaces.d/x.cfg", ""),
        ("auto lo\n", "/etc/network/interfaces.d/x", ""),
    ],
)
def test_ifupdown_conflicts(main: str, path: str, found: str) -> None:
    files = dict(_ifupdown.render(PLAIN), **{_ifupdown.MAIN: main, path: "iface ib0 inet dhcp\n"})
    assert _ifupdown.conflicts(Identity("ib0"), files) == ((found,) if found else ())


@pytest.mark.parametrize(
    ("main", "ours", "expected"),
    [
        ("source /etc/network/interfaces.d/*\n", True, "source /etc/network/interfaces.d/*\n"),
        ("source-directory interfaces.d", True, "source-directory interfaces.d"),
        ("auto lo\niface lo inet loopback", True, "auto lo\niface lo inet loopback\n" + _ifupdown.SOURCE + "\n"),
        ("source interfaces.d/*.cfg\n", True, "source interfaces.d/*.cfg\n" + _ifupdown.SOURCE + "\n"),
        ("auto lo\n" + _ifupdown.SOURCE + "\n", True, "auto lo\n" + _ifupdown.SOURCE + "\n"),
        ("auto lo\n" + _ifupdown.SOURCE + "\n", False, "auto lo\n"),
        ("auto lo\n", False, "auto lo\n"),
        ("", False, ""),
        ("", True, _ifupdown.SOURCE + "\n"),
    ],
)
def test_ifupdown_is_told_of_our_files(main: str, ours: bool, expected: str) -> None:
    assert _ifupdown.sourced(main, [_ifupdown.path_of("ib0.8001")] if ours else []) == expected


def test_boot_script_sets_mode_and_mtu(tmp_path: pathlib.Path) -> None:
    """Runs the real script in the real shell, on a directory in place of sysfs."""
    for name in ("ib0", "ib1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mode").write_text("datagram\n")
        (tmp_path / name / "mtu").write_text("2044\n")
    script = tmp_path / "script"
    script.write_text(_boot.render(CONNECTED)[_boot.SCRIPT_PATH].replace("/sys/class/net", str(tmp_path)))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    tools = tmp_path / "bin"
    tools.mkdir()
    # Called as: ip link set dev NAME mtu MTU
    (tools / "ip").write_text('#!/bin/sh\necho "$6" > "%s/$4/mtu"\n' % tmp_path)
    (tools / "ip").chmod(0o755)
    environ = dict(os.environ, PATH="%s:%s" % (tools, os.environ["PATH"]))
    subprocess.run([str(script), "ib0=65520", "ib1=32000"], check=True, env=environ)
    assert [(tmp_path / "ib0" / file).read_text() for file in ("mode", "mtu")] == ["connected\n", "65520\n"]
    assert [(tmp_path / "ib1" / file).read_text() for file in ("mode", "mtu")] == ["connected\n", "32000\n"]


def test_boot_script_names_what_never_came(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "script"
    text = _boot.render(CONNECTED)[_boot.SCRIPT_PATH].replace("/sys/class/net", str(tmp_path)).replace("tries=30", "tries=1")
    script.write_text(text)
    done = subprocess.run(["sh", str(script), "ib7=65520"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "no such IPoIB interface: ib7=65520\n")
