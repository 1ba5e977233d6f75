# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree of an image as a node: its files, and nothing of the system that builds it."""

from __future__ import annotations

import os
import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._facts._gather import PARTS, gather
from ansible_collections.rdma.ofed.plugins.module_utils._facts._machine import read_machine
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import under
from ansible_collections.rdma.ofed.plugins.module_utils._host._image import opened, releases
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Systemd, show_units, systemd_runs, units_like
from ansible_collections.rdma.ofed.plugins.module_utils._host._write import replace_file
from support.image_tree import OWN, UNITS, Tree


@pytest.fixture(name="tree")
def made_tree(tmp_path: pathlib.Path) -> Tree:
    return Tree(tmp_path / "tree")


@pytest.fixture(name="scratch")
def made_scratch(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scratch").mkdir(exist_ok=True)
    return str(tmp_path / "scratch")


def test_nothing_of_the_build_host_is_seen(tree: Tree, scratch: str) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        facts, warnings = gather(node.run, PARTS, node.environ, root=node.root, running="")
        assert read_machine(node.root).kind == "chroot"
        assert not systemd_runs(node.root)
        assert node.image
    assert [facts[name] for name in ("modules", "hcas", "adapters", "ports", "netdevs")] == [[]] * 5
    assert not facts["usage"]["in_use"]
    assert facts["kernels"]["running"] == ""
    assert [kernel["release"] for kernel in facts["kernels"]["installed"] if kernel["running"]] == []
    assert facts["os"]["id"] == "debian"
    assert warnings == ()
    assert [call for call in tree.calls if call[0] in ("ip", "rdma", "modprobe", "udevadm")] == []


def test_the_newest_kernel_of_the_image_counts(tree: Tree, scratch: str) -> None:
    assert releases(str(tree.root)) == ["6.1.0-9-amd64", "6.1.0-56-amd64"]
    with opened(tree, scratch, str(tree.root)) as node:
        assert node.release == "6.1.0-56-amd64"


def test_an_image_without_a_kernel_has_none(tmp_path: pathlib.Path, scratch: str) -> None:
    (tmp_path / "empty").mkdir()
    with opened(Tree(tmp_path / "other"), scratch, str(tmp_path / "empty")) as node:
        assert node.release == ""


def test_files_are_written_into_the_image_and_the_view_leaves_nothing(tree: Tree, scratch: str) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        replace_file(under(node.root, "/etc/modprobe.d/rdma-ofed.conf"), b"options ib_ipoib debug_level=1\n", 0o644)
        # Locks and the like are gone afterwards.
        replace_file(under(node.root, "/run/rdma-ofed/lock/policy"), b"", 0o600)
    assert (tree.root / "etc/modprobe.d/rdma-ofed.conf").read_text() == "options ib_ipoib debug_level=1\n"
    assert not (tree.root / "run/rdma-ofed").exists()
    assert (tree.root / "sys/class/net/ib0/type").exists()
    assert os.listdir(scratch) == []


def test_scripts_of_packages_find_systemctl_offline(tree: Tree, scratch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SYSTEMD_OFFLINE", raising=False)
    with opened(tree, scratch, str(tree.root)):
        assert os.environ["SYSTEMD_OFFLINE"] == "1"
    assert "SYSTEMD_OFFLINE" not in os.environ


def test_a_unit_that_starts_at_boot_counts_as_active(tree: Tree, scratch: str) -> None:
    for name in ("a.service", "b.service", "opensm@.service"):
        tree.write(UNITS + name, "[Install]\nWantedBy=multi-user.target\n")
    (tree.root / OWN / "multi-user.target.wants").mkdir(parents=True)
    for name in ("a.service", "opensm@ib.service"):
        (tree.root / OWN / "multi-user.target.wants" / name).symlink_to("/" + UNITS + name)
    (tree.root / OWN / "c.service").symlink_to("/dev/null")
    with opened(tree, scratch, str(tree.root)) as node:
        units = show_units(node.run, ["a.service", "b.service", "c.service", "d.service"])
        like = units_like(node.run, "opensm*")
        assert Systemd(node.run).is_active("b.service", "a.service")
        assert not Systemd(node.run).is_active("b.service")
    assert [(unit.load, unit.active, unit.enabled) for unit in units.values()] == [
        ("loaded", "active", "enabled"),
        ("loaded", "inactive", "disabled"),
        ("masked", "inactive", "masked"),
        ("not-found", "inactive", ""),
    ]
    assert {name: unit.path for name, unit in like.items()} == {"opensm@ib.service": "/" + UNITS + "opensm@.service"}


def test_units_are_enabled_and_none_is_started(tree: Tree, scratch: str) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        systemd = Systemd(node.run)
        for verb in (systemd.start, systemd.restart, systemd.stop, systemd.reload, systemd.allow_start):
            verb("a.service")
        systemd.daemon_reload()
        node.run(["systemctl", "daemon-reexec"])
        assert tree.calls == []
        systemd.enable("a.service")
        systemd.disable_and_stop("a.service")
    assert tree.calls == [["env", "SYSTEMD_OFFLINE=1", "systemctl", "--root=/", verb, "a.service"] for verb in ("enable", "disable")]


@pytest.mark.parametrize("argv", [["ip", "link", "set", "ib0", "up"], ["rdma", "link", "add"], ["udevadm", "settle"], ["sysctl", "-w", "a=1"]])
def test_no_tool_of_the_kernel_runs(tree: Tree, scratch: str, argv: list[str]) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        assert not node.run.has(argv[0])
        with pytest.raises(Unsupported, match="rdma_image"):
            node.run(argv)
    assert tree.calls == []


@pytest.mark.parametrize("argv", [["ufw", "allow", "in", "on", "ib0"], ["firewall-cmd", "--reload"]])
def test_the_firewall_of_the_build_host_stays(tree: Tree, scratch: str, argv: list[str]) -> None:
    with opened(tree, scratch, str(tree.root)) as node, pytest.raises(CommandFailed, match="rdma_image"):
        node.run(argv)
    assert tree.calls == []


def test_the_initramfs_is_for_any_node(tree: Tree, scratch: str) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        node.run(["dracut", "--force", "/boot/initramfs-6.1.img", "6.1"])
    assert tree.calls == [["dracut", "--no-hostonly", "--force", "/boot/initramfs-6.1.img", "6.1"]]


def test_wicked_is_started_by_the_unit_that_is_enabled(tree: Tree, scratch: str) -> None:
    """The daemon's own unit has no link: systemctl calls it indirect, whatever is enabled."""
    tree.unit("wickedd.service")
    tree.unit("wicked.service", enabled=True)
    with opened(tree, scratch, str(tree.root)) as node:
        assert show_units(node.run, ["wickedd.service"])["wickedd.service"].active == "active"


@pytest.mark.parametrize("argv", [["nmcli", "connection", "reload"], ["modprobe", "-a", "ib_umad"], ["netplan", "generate"], ["networkctl", "reload"]])
def test_no_daemon_is_told_and_no_module_loaded(tree: Tree, scratch: str, argv: list[str]) -> None:
    with opened(tree, scratch, str(tree.root)) as node:
        assert node.run.has(argv[0])
        assert node.run(argv, ok=None).rc == 1
        with pytest.raises(CommandFailed, match="rdma_image"):
            node.run(argv)
        node.run([argv[0], {"nmcli": "--version", "modprobe": "--showconfig"}.get(argv[0], "info")], ok=None)
    assert tree.calls == ([[argv[0], {"nmcli": "--version", "modprobe": "--showconfig"}.get(argv[0], "info")]] if argv[0] != "networkctl" else [])
