# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules on the tree of an image: they write files and enable units, and leave the rest to the boot."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _concern as ipoib
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._converge import converge as configure
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import seen
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._rename import render
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Naming
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _concern as kmod
from ansible_collections.rdma.ofed.plugins.module_utils._kmod import _look as kmod_look
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._converge import converge as load
from ansible_collections.rdma.ofed.plugins.module_utils._protocols._converge import converge as protocols
from ansible_collections.rdma.ofed.plugins.module_utils._softrdma._converge import converge as link
from support.image_tree import Tree
from support.kmod_node import DEFAULTS, PARAMETERS

NETWORKD = "systemd-networkd.service"
RULES = "etc/udev/rules.d/70-rdma-ofed-ipoib-names.rules"
INTERFACES: list[t.Any] = [
    {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.1/24"]},
    {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.1/24"]},
]
OPTIONS: dict[str, t.Any] = {**DEFAULTS, "load": ["ib_umad", "ib_ipoib"], "options": {"ib_ipoib": {"send_queue_size": 256}}, "image": True}


@pytest.fixture(name="tree")
def made_tree(tmp_path: pathlib.Path) -> Tree:
    tree = Tree(tmp_path / "tree")
    tree.unit(NETWORKD, enabled=True)
    tree.unit("NetworkManager.service")
    return tree


def interfaces(tree: Tree, entries: list[t.Any], *, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    tree.check_mode = check
    module: t.Any = tree
    with tree.opened() as node:
        return configure(module, node.run, ipoib.Options(entries, image=True, **options), environ=node.environ, root=node.root)


def modules(tree: Tree, *, check: bool = False, **params: t.Any) -> dict[str, t.Any]:
    tree.check_mode, tree.params = check, {**OPTIONS, **params}
    module: t.Any = tree
    with tree.opened() as node:
        return load(module, node.run, node.release, root=node.root)


def acting(tree: Tree) -> list[list[str]]:
    """Return the commands that change something."""
    return [call for call in tree.calls if call[4:5] != ["is-enabled"] and call[:1] not in (["modinfo"], ["netplan"], ["lsinitramfs"], ["ofed_info"])]


def test_interfaces_are_prepared_for_the_boot(tree: Tree) -> None:
    before = tree.files()
    predicted = interfaces(tree, INTERFACES, check=True)
    assert tree.files() == before
    assert acting(tree) == []
    done = interfaces(tree, INTERFACES)
    assert done == predicted
    assert {change["kind"] for change in predicted["diff"] if "kind" in change} == set()
    assert acting(tree) == [["env", "SYSTEMD_OFFLINE=1", "systemctl", "--root=/", "enable", "rdma-ofed-ipoib-mode.service"]]
    files = tree.files()
    assert "Address=10.20.0.1/24" in files["etc/systemd/network/50-rdma-ib0.network"]
    assert "ExecStart=/usr/local/libexec/rdma-ofed-ipoib-mode ib0=65520" in files["etc/systemd/system/rdma-ofed-ipoib-mode.service"]
    assert [(each["name"], each["mode"], each["mtu"]) for each in done["interfaces"]] == [("ib0", "connected", 65520), ("ib0.8001", "datagram", 2044)]
    assert not interfaces(tree, INTERFACES)["changed"]


def test_the_controller_knows_that_an_image_is_as_declared(tree: Tree) -> None:
    done = interfaces(tree, INTERFACES)
    again = interfaces(tree, INTERFACES)
    with tree.opened() as node:
        found = seen(node, ipoib.hints({"ipoib_interfaces": INTERFACES}))
    assert done["changed"]
    assert ipoib.unchanged({"interfaces": INTERFACES, "image": True}, found) == again


def test_what_is_taken_out_of_an_image_is_gone(tree: Tree) -> None:
    before = tree.files()
    interfaces(tree, INTERFACES)
    interfaces(tree, [], state="absent")
    assert tree.files() == before


def test_a_port_is_named_once(tree: Tree) -> None:
    """Two rules for one port would fight over its name."""
    with pytest.raises(InvalidInput, match="each port once"):
        interfaces(tree, [{"pci": "0000:81:00.0", "name": "ib_a"}, {"pci": "81:00.0/1", "name": "ib_b"}])


def test_a_port_that_is_named_by_its_place_gets_its_name_at_boot(tree: Tree) -> None:
    declared = [
        {"pci": "0000:81:00.0", "name": "ib_a"},
        {"pci": "0000:82:00.0/2", "name": "ib_b"},
        {"port_guid": "0x0002c903000f0001", "name": "ib_c"},
        {"parent": "0x0002c903000f0001", "pkey": "0x8001"},
    ]
    result = interfaces(tree, declared)
    rules = tree.files()[RULES].splitlines()[1:]
    common = 'ACTION=="add", SUBSYSTEM=="net", KERNEL!="*.*", TEST!="bonding", ATTR{type}=="32", '
    assert rules == [
        common + 'KERNELS=="0000:81:00.0", NAME="ib_a"',
        common + 'KERNELS=="0000:82:00.0", ATTR{dev_port}=="1", NAME="ib_b"',
        common + 'ATTR{address}=="*:00:02:c9:03:00:0f:00:01", NAME="ib_c"',
    ]
    assert [each["name"] for each in result["interfaces"]] == ["ib_a", "ib_b", "ib_c", "ib_c.8001"]


@pytest.mark.parametrize("entry", [{"pci": "0000:81:00.0"}, {"port_guid": "0x0002c903000f0001"}])
def test_a_port_without_a_name_is_refused(tree: Tree, entry: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"ipoib_interfaces\[0\]\.name .*an image has no ports"):
        interfaces(tree, [entry])


def test_a_name_of_the_kernel_is_refused_for_a_port(tree: Tree) -> None:
    with pytest.raises(InvalidInput, match=r"ipoib_interfaces\[0\]\.name is 'ib1'.*leave out pci"):
        interfaces(tree, [{"pci": "0000:81:00.0", "name": "ib1"}])


def test_the_rules_of_the_image_stay_on_the_node(tree: Tree) -> None:
    interfaces(tree, [{"pci": "0000:81:00.0", "name": "ib_a"}])
    rules = tree.files()[RULES]
    naming = Naming("ib_a", "0x0002c903000f0001", "ib_a", "0000:81:00.0")
    assert render([naming], {"ib0": naming.guid}, present=rules) == {"/" + RULES: rules}
    assert "02:c9:03" in render([naming], {"ib0": naming.guid})["/" + RULES]


def test_the_network_system_that_is_enabled_counts(tree: Tree) -> None:
    assert interfaces(tree, INTERFACES, check=True)["backend"] == "systemd-networkd"
    with pytest.raises(Refused, match=r"NetworkManager\.service is not active"):
        interfaces(tree, INTERFACES, check=True, backend="networkmanager")


def test_an_image_without_a_network_system_is_refused(tmp_path: pathlib.Path) -> None:
    tree = Tree(tmp_path / "other")
    tree.tools = frozenset()
    with pytest.raises((Refused, Unsupported), match="ipoib_backend"):
        interfaces(tree, INTERFACES)


def test_modules_are_configured_for_the_kernels_of_the_image(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        kmod_look, "known_parameters", lambda run, release, module: dict.fromkeys((line.partition(":")[0] for line in PARAMETERS.splitlines()), "int")
    )
    for release in ("6.1.0-9-amd64", "6.1.0-56-amd64"):
        tree.write("lib/modules/%s/modules.dep" % release, "kernel/ib_ipoib.ko:\nkernel/ib_umad.ko:\n")
    before = tree.files()
    predicted = modules(tree, check=True)
    assert tree.files() == before
    done = modules(tree)
    assert {key: done[key] for key in ("changes", "diff", "pending")} == {key: predicted[key] for key in ("changes", "diff", "pending")}
    assert done["pending"] == []
    assert "options ib_ipoib send_queue_size=256" in tree.files()["etc/modprobe.d/rdma-ofed.conf"]
    assert "unlimited" in tree.files()["etc/security/limits.d/rdma-ofed.conf"]
    assert "DefaultLimitMEMLOCK=infinity" in tree.files()["etc/systemd/system.conf.d/rdma-ofed.conf"]
    assert [call for call in acting(tree) if call[0] in ("modprobe", "systemctl", "udevadm")] == []
    assert not modules(tree)["changed"]
    # The module is loaded on the build host, with other parameters.
    assert [each["loaded"] for each in done["modules"]] == [False, False]
    with tree.opened() as node:
        found = kmod_look.seen(node, kmod.hints({"kernel_modules_load": OPTIONS["load"]}))
    assert kmod.refusals(OPTIONS, found) == []


def test_links_are_created_at_boot(tree: Tree) -> None:
    for release in ("6.1.0-9-amd64", "6.1.0-56-amd64"):
        tree.write("lib/modules/%s/modules.dep" % release, "kernel/rdma_rxe.ko:\n")
    tree.params = {"state": "present", "links": [{"name": "rxe0", "type": "rxe", "netdev": "eth7"}], "image": True}
    module: t.Any = tree
    before = tree.files()
    results = []
    for check in (True, False, False):
        tree.check_mode = check
        with tree.opened() as node:
            results.append(link(module, node.run, node.release, root=node.root))
        assert (tree.files() == before) == check
    assert results[0]["changes"] == results[1]["changes"]
    assert [result["changed"] for result in results] == [True, True, False]
    assert acting(tree) == [["env", "SYSTEMD_OFFLINE=1", "systemctl", "--root=/", "enable", "rdma-ofed-link-rxe0.service"]]


def test_upper_layer_protocols_are_turned_on_for_the_boot(tree: Tree) -> None:
    for release in ("6.1.0-9-amd64", "6.1.0-56-amd64"):
        tree.write("lib/modules/%s/modules.dep" % release, "kernel/ib_srp.ko:\n")
    tree.unit("srp_daemon.service")
    tree.params = {"protocols": ["srp"], "source": "inbox", "openib_conf": {}, "renewed": False, "start": True, "image": True}
    module: t.Any = tree
    results = []
    for check in (True, False, False):
        tree.check_mode = check
        with tree.opened() as node:
            results.append(protocols(module, node.run, node.release, root=node.root))
    assert results[0]["changes"] == results[1]["changes"]
    assert [result["changed"] for result in results] == [True, True, False]
    assert results[1]["pending"] == []
    assert [call[3:] for call in acting(tree)] == [["--root=/", "enable", "srp_daemon.service"]]
    assert "ib_srp" in tree.files()["etc/modules-load.d/rdma-ofed-ulps.conf"]
