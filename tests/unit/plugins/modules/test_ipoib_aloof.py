# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interfaces that a daemon is configured to ignore, files that match by other means than the name, and files that hide others."""

from __future__ import annotations

import pathlib
import sys
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _netplan, _networkd, _networkmanager, _networkmanager_conf
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._concern import Options, refusals
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Found, Place
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._identity import Identity
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import condensed, look_whole
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from support.ipoib_node import FakeNode

GUID = "0x0002c903000f0001"
HWADDR = "80:00:00:48:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0f:00:01"
IB0 = Identity("ib0", GUID, pci="0000:03:00.0", driver="mlx5_core", kind="infiniband")
CHILD = IB0._replace(name="ib0.8001", pkey=0x8001)
BOND = Identity("bond0", kind="bond")
UNKNOWN = Identity("storage")
CONF = "/etc/NetworkManager/conf.d/site.conf"
IB0_DECLARED: list[t.Any] = [{"name": "ib0", "addresses": ["10.20.0.1/24"]}]


def keyfile(value: str, key: str = "unmanaged-devices") -> str:
    return "[main]\nplugins=keyfile\n\n[keyfile]\n%s=%s\n" % (key, value)


@pytest.mark.parametrize(
    ("value", "interface", "aloof"),
    [
        ("interface-name:ib*;interface-name:ibp*", IB0, True),
        ("interface-name:ib*", CHILD, True),
        ("interface-name:eth*,interface-name:ib0", IB0, True),
        ("interface-name:=ib*", IB0, False),
        ("interface-name:=ib0", IB0, True),
        ("interface-name:ib[0]", IB0, False),
        ("ib0", IB0, True),
        ("ib*", IB0, False),
        ("*", IB0, True),
        ("*,except:interface-name:ib*", IB0, False),
        ("*,except:type:wifi,except:type:gsm,except:type:cdma", IB0, True),
        ("except:type:infiniband", IB0, False),
        ("except:type:ethernet", IB0, True),
        ("type:infiniband", IB0, True),
        ("type:infiniband", BOND, False),
        ("type:bond", BOND, True),
        # The future type is unknown, so it is not counted against the interface.
        ("type:infiniband", UNKNOWN, False),
        ("*,except:type:infiniband", UNKNOWN, False),
        ("mac:" + HWADDR, IB0, True),
        ("mac:" + HWADDR.upper(), IB0, True),
        ("mac:" + HWADDR, CHILD, False),
        (HWADDR, IB0, True),
        ("mac:" + HWADDR[:-1] + "2", IB0, False),
        ("driver:mlx5_core", IB0, True),
        ("driver:mlx4_core", IB0, False),
        ("interface-name:ib0,except:mac:" + HWADDR, IB0, False),
        ("none", IB0, False),
        ("", IB0, False),
    ],
)
def test_unmanaged_devices(value: str, interface: Identity, aloof: bool) -> None:
    found = _networkmanager_conf.unmanaged(interface, {CONF: keyfile(value)})
    assert found == ((Place(CONF, 5, "unmanaged-devices=" + value),) if aloof else ())


SYSTEM = "/usr/lib/NetworkManager/conf.d/10-globally-managed-devices.conf"
ALL = keyfile("*,except:type:wifi")
DEVICE = "[device-ib]\nmatch-device=type:infiniband\nmanaged=%s\n"


@pytest.mark.parametrize(
    ("files", "place"),
    [
        ({SYSTEM: ALL}, Place(SYSTEM, 5, "unmanaged-devices=*,except:type:wifi")),
        # A file of the same name in a directory of higher priority hides it, even an empty one; a later file replaces the value.
        ({SYSTEM: ALL, SYSTEM.replace("/usr/lib", "/run"): ""}, None),
        ({SYSTEM: ALL, SYSTEM.replace("/usr/lib", "/etc"): ""}, None),
        ({SYSTEM: ALL, CONF: keyfile("interface-name:eth0")}, None),
        ({SYSTEM: ALL, _networkmanager_conf.MAIN: keyfile("none")}, None),
        ({_networkmanager_conf.MAIN: keyfile("none"), CONF: keyfile("ib0")}, Place(CONF, 5, "unmanaged-devices=ib0")),
        ({_networkmanager_conf.MAIN: keyfile("none"), CONF: keyfile("ib0"), _networkmanager_conf.INTERN: keyfile("eth0")}, None),
        # += adds and -= removes.
        ({CONF: keyfile("ib0"), CONF.replace("site", "z"): keyfile("eth0", "unmanaged-devices+")}, Place(CONF, 5, "unmanaged-devices=ib0")),
        ({CONF: keyfile("ib0,eth0"), CONF.replace("site", "z"): keyfile("ib0", "unmanaged-devices-")}, None),
        ({CONF: DEVICE % "0"}, Place(CONF, 3, "managed=0")),
        ({CONF: DEVICE % "no"}, Place(CONF, 3, "managed=no")),
        ({CONF: DEVICE % "1"}, None),
        ({CONF: "[device]\nmanaged=false\n"}, Place(CONF, 2, "managed=false")),
        # A plain [device] section comes last, later files come first, and within a file the upper section comes first.
        ({CONF: "[device]\nmanaged=false\n" + DEVICE % "true"}, None),
        ({CONF: DEVICE % "0", CONF.replace("site", "z"): DEVICE % "1"}, None),
        ({CONF: DEVICE % "1" + "[device-all]\nmanaged=0\n"}, None),
        ({CONF: "[device-eth]\nmatch-device=type:ethernet\nmanaged=0\n"}, None),
        ({CONF: "[device-ib]\nmatch-device=type:infiniband\nstop-match=yes\n[device]\nmanaged=0\n"}, None),
        # unmanaged-devices takes precedence over `managed`.
        ({CONF: keyfile("ib0") + DEVICE % "1"}, Place(CONF, 5, "unmanaged-devices=ib0")),
        ({CONF: "#[keyfile]\n#unmanaged-devices=*\n"}, None),
        # Not a file that NetworkManager reads.
        ({CONF + ".bak": keyfile("*")}, None),
    ],
)
def test_the_order_of_the_files(files: dict[str, str], place: Place | None) -> None:
    assert _networkmanager_conf.unmanaged(IB0, files) == ((place,) if place else ())


def test_managed_in_the_configuration_is_stronger_than_udev() -> None:
    told = (Place("/etc/udev/rules.d/85-x.rules", 1, 'ENV{NM_UNMANAGED}="1"'),)
    assert _networkmanager_conf.unmanaged(IB0, {}, told) == told
    assert _networkmanager_conf.unmanaged(IB0, {CONF: DEVICE % "1"}, told) == ()


def network(match: str, rest: str = "[Network]\nAddress=10.99.0.1/24\n") -> str:
    return "[Match]\n%s\n\n%s" % (match, rest)


EARLY, LATE = "/etc/systemd/network/20-fabric.network", "/etc/systemd/network/70-fabric.network"


@pytest.mark.parametrize(
    ("match", "interface", "found"),
    [
        ("Path=pci-0000:03:00.0", IB0, True),
        ("Path=pci-0000:03:00.*", IB0, True),
        ("Path=platform-1-pci-0000:03:00.0", IB0, True),
        ("Path=pci-0000:04:00.0", IB0, False),
        ("Path=!pci-0000:04:00.0", IB0, True),
        ("Path=pci-0000:04:00.0 pci-0000:03:00.0", IB0, True),
        ("Path=pci-0000:03:00.0", BOND, False),
        ("Path=pci-0000:03:00.0\nType=ether", IB0, False),
        ("Path=pci-0000:03:00.0\nName=ib1", IB0, False),
        ("Driver=mlx5_core", IB0, True),
        ("Driver=mlx5_*", IB0, True),
        ("Driver=ib_ipoib", IB0, True),
        ("Driver=mlx4_core", IB0, False),
        ("Driver=mlx5_core", UNKNOWN, False),
        ("Kind=bond", BOND, True),
        ("Kind=bond", IB0, False),
        ("Property=ID_PATH=pci-0000:03:00.0", IB0, True),
        ("Property=ID_NET_DRIVER=mlx5_core", IB0, True),
        ("Property=ID_MODEL=x", IB0, False),
        # Only networkd can evaluate these; it reports the file that an interface uses.
        ("Name=ib0\nHost=other", IB0, False),
        ("Name=ib0\nSSID=home", IB0, False),
    ],
)
def test_files_of_networkd_that_match_by_other_means(match: str, interface: Identity, found: bool) -> None:
    assert _networkd.conflicts(interface, {EARLY: network(match)}) == ((EARLY,) if found else ())


@pytest.mark.parametrize("mask", ["", "\n"])
def test_a_masked_file_of_networkd_is_none(mask: str) -> None:
    hidden, masking = "/usr/lib/systemd/network/10-ib0.network", "/etc/systemd/network/10-ib0.network"
    assert _networkd.conflicts(IB0, {hidden: network("Name=ib0")}) == (hidden,)
    assert _networkd.conflicts(IB0, {hidden: network("Name=ib0"), masking: mask}) == ()
    assert _networkd.conflicts(IB0, {hidden: network("Name=ib0"), masking: network("Name=eth0")}) == ()
    # The reverse hides nothing, and a file with two names for the same directory counts once.
    assert _networkd.conflicts(IB0, {hidden: mask, masking: network("Name=ib0")}) == (masking,)
    assert _networkd.conflicts(IB0, {hidden: network("Name=ib0"), hidden[4:]: network("Name=ib0")}) == (hidden,)


def test_a_link_to_nothing_reads_as_a_mask(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "systemd-networkd")
    node.appear("ib0")
    node.write("usr/lib/systemd/network/10-ib0.network", network("Name=ib0"))
    assert refusals({"interfaces": IB0_DECLARED}, look(node))
    (tmp_path / "etc/systemd/network").mkdir(parents=True)
    (tmp_path / "etc/systemd/network/10-ib0.network").symlink_to("/dev/null")
    assert refusals({"interfaces": IB0_DECLARED}, look(node)) == []
    assert node.call(interfaces=IB0_DECLARED)["changed"]


def test_networkd_is_told_to_leave_an_interface_alone() -> None:
    told = network("Name=ib*", "[Link]\nUnmanaged=yes\n")
    assert _networkd.conflicts(IB0, {EARLY: told}) == ()
    assert _networkd.aloof(IB0, {EARLY: told}) == (Place(EARLY, 5, "Unmanaged=yes"),)
    assert _networkd.aloof(IB0, {EARLY: told.replace("yes", "no")}) == ()
    assert _networkd.aloof(IB0, {LATE: network("Name=*", "[Link]\nUnmanaged=yes\n")}) == ()
    assert _netplan.aloof(IB0, {EARLY: told}) == (Place(EARLY, 5, "Unmanaged=yes"),)
    generated = "/run/systemd/network/10-netplan-ib0.network"
    assert _netplan.aloof(IB0, {generated: told}) == ()


@pytest.mark.parametrize(("driver", "found"), [("mlx5_core", True), ('["virtio*", "mlx5_*"]', True), ("mlx4_core", False), ('["bcmgenet", "smsc*"]', False)])
def test_a_file_of_netplan_that_matches_by_driver(driver: str, found: bool) -> None:
    path = "/etc/netplan/01.yaml"
    text = "network:\n  ethernets:\n    fast:\n      match: {driver: %s}\n      dhcp4: true\n" % driver
    assert _netplan.conflicts(IB0, {path: text}) == ((path,) if found else ())


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("path=pci-0000:03:00.0", True),
        ("path=pci-0000:04:00.0", False),
        ("path=!pci-0000:04:00.0", True),
        ("driver=mlx5_core", True),
        ("driver=mlx4_core", False),
        ("driver=mlx5_core\ninterface-name=ib1", False),
    ],
)
def test_profiles_that_match_by_path_and_driver(match: str, found: bool) -> None:
    path = "/etc/NetworkManager/system-connections/fabric.nmconnection"
    text = "[connection]\nid=fabric\ntype=infiniband\n\n[match]\n%s\n" % match
    assert _networkmanager.conflicts(IB0, {path: text}) == ((path,) if found else ())


def look(node: FakeNode) -> Found:
    """Return the look as transferred to the controller, whose Python can decode its types."""
    found = condensed(look_whole(node, {}, str(node.root)), {"ib0": ""})
    return found if sys.version_info < (3, 10) else decode(Found, encode(found))


@pytest.mark.parametrize(
    ("stack", "path", "text", "place"),
    [
        ("networkmanager", CONF, keyfile("interface-name:ib*"), CONF + " line 5: unmanaged-devices=interface-name:ib*"),
        ("systemd-networkd", EARLY, network("Name=ib*", "[Link]\nUnmanaged=yes\n"), EARLY + " line 5: Unmanaged=yes"),
        ("netplan", EARLY, network("Type=infiniband", "[Link]\nUnmanaged=yes\n"), EARLY + " line 5: Unmanaged=yes"),
    ],
)
@pytest.mark.parametrize("there", [True, False])
def test_it_is_refused_before_anything_is_written(tmp_path: pathlib.Path, stack: str, path: str, text: str, place: str, there: bool) -> None:
    node = FakeNode(tmp_path, stack)
    if there:
        node.appear("ib0")
    node.write(path[1:], text)
    expected = "%s is configured to ignore ib0 (%s)" % (stack, place)
    with pytest.raises(Refused) as raised:
        node.call(interfaces=IB0_DECLARED)
    assert raised.value.msg.startswith(expected)
    assert node.argv == []
    assert [found for found in tmp_path.rglob("*rdma*") if found.is_file()] == []
    # The controller foresees it.
    (refusal,) = refusals(Options(interfaces=IB0_DECLARED)._asdict(), look(node))
    assert refusal == raised.value.msg


def test_udev_tells_networkmanager(tmp_path: pathlib.Path) -> None:
    node = FakeNode(tmp_path, "networkmanager")
    node.appear("ib0")
    node.set("ib0", "ifindex", "7")
    node.write("run/udev/data/n7", "I:1\nE:ID_NET_DRIVER=mlx5_core\nE:NM_UNMANAGED=1")
    node.write("etc/udev/rules.d/99-site.rules", '# ENV{NM_UNMANAGED}="1"\nSUBSYSTEM=="net", KERNEL=="ib*", ENV{NM_UNMANAGED}="1"')
    node.write("etc/udev/rules.d/90-other.rules", 'SUBSYSTEM=="net", NAME="x"')
    with pytest.raises(Refused, match=r"configured to ignore ib0 \(/etc/udev/rules.d/99-site.rules line 2"):
        node.call(interfaces=IB0_DECLARED)
    (tmp_path / "etc/udev/rules.d/99-site.rules").unlink()
    with pytest.raises(Refused, match="NM_UNMANAGED"):
        node.call(interfaces=IB0_DECLARED)
    node.write("run/udev/data/n7", "E:NM_UNMANAGED=0")
    assert node.call(interfaces=IB0_DECLARED)["changed"]
