# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""User-chosen names that other interfaces have: names are swapped at once or not at all, and the files are right at the next boot."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _rename
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._wanted import Naming
from support.ipoib_node import FakeNode, wait_briefly

STACKS = ["systemd-networkd", "ifupdown", "networkmanager", "netplan"]
FIRST, SECOND = "0x0002c903000f0001", "0x0002c903000f0002"
SWAPPED: list[t.Any] = [
    {"name": "ib0", "port_guid": SECOND, "addresses": ["10.20.0.1/24"]},
    {"name": "ib1", "port_guid": FIRST, "addresses": ["10.21.0.1/24"]},
]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.3)


def new(root: pathlib.Path, stack: str, up: t.Sequence[str] = ()) -> FakeNode:
    node = FakeNode(root, stack, ports=2)
    for name in ("ib0", "ib1"):
        node.appear(name)
        node.up(name, "up" if name in up else "down")
    return node


def on(node: FakeNode, guid: str) -> list[str]:
    """Return the addresses on a port."""
    (name,) = (name for name in node.addresses if node.get(name, "address").replace(":", "").endswith(guid[2:]))
    return node.addresses[name]


@pytest.mark.parametrize("stack", STACKS)
def test_two_names_change_places_while_both_are_down(tmp_path: pathlib.Path, stack: str) -> None:
    node = new(tmp_path, stack)
    foreseen = node.call(check=True, interfaces=SWAPPED)
    done = node.call(interfaces=SWAPPED)
    assert (done["changes"], done["reboot_required"]) == (foreseen["changes"], False)
    assert {"ib1 name: ib1 -> ib0", "ib0 name: ib0 -> ib1"} <= set(done["changes"])
    assert (on(node, SECOND), on(node, FIRST)) == (["10.20.0.1/24"], ["10.21.0.1/24"])
    assert not node.call(interfaces=SWAPPED)["changed"]


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("up", [("ib0",), ("ib0", "ib1")])
def test_names_that_are_taken_are_refused_before_any_change(tmp_path: pathlib.Path, stack: str, up: tuple[str, ...]) -> None:
    """If the change waited for the next boot, the files of ib0 would apply to the wrong port until then."""
    node = new(tmp_path, stack, up)
    for check in (True, False):
        with pytest.raises(Refused, match="ib0 is declared for port %s, and is already the name of %s.*can be swapped only while all" % (SECOND, FIRST)):
            node.call(check=check, interfaces=SWAPPED)
    assert node.argv == []
    assert [path for path in tmp_path.rglob("*rdma*") if path.is_file()] == []


def test_a_name_that_an_undeclared_port_has(tmp_path: pathlib.Path) -> None:
    with pytest.raises(Refused, match="ib0 is declared for port %s, and is already the name of %s" % (SECOND, FIRST)):
        new(tmp_path, "systemd-networkd").call(interfaces=SWAPPED[:1])


def test_the_name_of_a_port_whose_interface_is_not_there(tmp_path: pathlib.Path) -> None:
    """The address would be assigned to the other port permanently, and no run would report it."""
    node = new(tmp_path, "systemd-networkd")
    node.vanish("ib1")
    with pytest.raises(Refused, match="ib0 is declared for port %s, and is already the name of %s; the port has no interface" % (SECOND, FIRST)):
        node.call(interfaces=SWAPPED[:1])


def test_after_a_start_at_which_the_names_did_not_change(tmp_path: pathlib.Path) -> None:
    node = new(tmp_path, "systemd-networkd")
    node.call(interfaces=SWAPPED)
    # Named by the kernel, and brought up with the collection's files.
    for name, old in (("aside", "ib0"), ("ib0", "ib1"), ("ib1", "aside")):
        node.net(old).rename(node.net(name))
        node.addresses[name] = node.addresses.pop(old)
    with pytest.raises(Refused, match="ib0 is declared for port %s, and is already the name of %s" % (SECOND, FIRST)):
        node.call(interfaces=SWAPPED)


@pytest.mark.parametrize("stack", STACKS)
def test_what_is_up_under_its_old_name_stays_as_it_is(tmp_path: pathlib.Path, stack: str) -> None:
    node = new(tmp_path, stack)
    node.call(interfaces=[{"name": "ib1", "addresses": ["10.21.0.1/24"]}, {"name": "ib0", "addresses": ["10.20.0.1/24"]}])
    wanted = [{"name": "storage", "port_guid": SECOND, "addresses": ["10.22.0.1/24"]}, {"name": "ib0", "addresses": ["10.20.0.1/24"]}]
    foreseen = node.call(check=True, interfaces=wanted)
    done = node.call(interfaces=wanted)
    assert (done["changes"], done["pending"]) == (foreseen["changes"], foreseen["pending"])
    assert [entry["after"] for entry in done["pending"]] == ["storage"]
    assert (on(node, SECOND), node.get("ib1", "flags")) == (["10.21.0.1/24"], "0x1003")
    again = node.call(interfaces=wanted)
    assert (again["changed"], again["pending"]) == (False, done["pending"])
    assert on(node, SECOND) == ["10.21.0.1/24"]


@pytest.mark.parametrize("broken", range(1, 9))
def test_places_that_are_changed_by_half(tmp_path: pathlib.Path, broken: int) -> None:
    node = new(tmp_path, "ifupdown")
    node.break_at = broken
    try:
        node.call(interfaces=SWAPPED)
    except CommandFailed:
        node.break_at = 0
        node.call(interfaces=SWAPPED)
    assert (on(node, SECOND), on(node, FIRST)) == (["10.20.0.1/24"], ["10.21.0.1/24"])
    assert not node.call(interfaces=SWAPPED)["changed"]


@pytest.mark.parametrize(
    ("renames", "expected"),
    [
        ({"ib0": "ib1", "ib1": "ib0"}, (("ib0", "rdma-0"), ("ib1", "ib0"), ("rdma-0", "ib1"))),
        ({"ib1": "ib0", "ib0": "storage"}, (("ib0", "storage"), ("ib1", "ib0"))),
        ({"ib0": "storage"}, (("ib0", "storage"),)),
        ({"ib0": "ib1", "ib1": "ib2", "ib2": "ib0"}, (("ib0", "rdma-0"), ("ib2", "ib0"), ("ib1", "ib2"), ("rdma-0", "ib1"))),
    ],
)
def test_steps(renames: dict[str, str], expected: tuple[tuple[str, str], ...]) -> None:
    namings = [Naming(name, "", current) for current, name in renames.items()]
    assert _rename.steps(namings, [*renames, "eth0"]) == expected


CROSSED = (Naming("ib0", SECOND), Naming("ib1", FIRST))
KERNEL = {"ib0": FIRST, "ib1": SECOND}


def test_a_rule_alone_where_the_kernel_gives_no_name_to_another_declared_port() -> None:
    assert list(_rename.render((Naming("storage", SECOND), Naming("ib0", FIRST)), KERNEL)) == [_rename.RULE_PATH]
    assert list(_rename.render((Naming("ib0", SECOND),), KERNEL)) == [_rename.RULE_PATH]
    assert sorted(_rename.render(CROSSED, KERNEL)) == sorted(_rename.PATHS)
    assert sorted(_rename.render((Naming("ib0", SECOND), Naming("storage", FIRST)), KERNEL)) == sorted(_rename.PATHS)


class Udev:
    """Runs the script as udev does, on a directory tree, and then assigns the name that it prints."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        (root / "bin").mkdir()
        (root / "bin/ip").write_text('#!/bin/sh\nmv "%s/net/$4" "%s/net/$6"\n' % (root, root))
        (root / "bin/ip").chmod(0o755)
        text = _rename.render(CROSSED, KERNEL)[_rename.SCRIPT_PATH]
        assert HEADER in text
        self.script = text.replace("/sys/class/net", "%s/net" % root).replace("/run/", "%s/" % root)
        for index, (name, guid) in enumerate(KERNEL.items(), 5):
            self.make(name, index, guid)

    def make(self, name: str, index: int, guid: str, **more: str) -> None:
        folder = self.root / "net" / name
        folder.mkdir(parents=True)
        tail = ":".join(guid[at : at + 2] for at in range(2, 18, 2))
        for file, content in {"ifindex": str(index), "type": "32", "address": "80:00:00:48:fe:80:00:00:00:00:00:00:" + tail, **more}.items():
            (folder / file).write_text(content + "\n")

    def ask(self, index: int) -> str:
        environ = {"PATH": "%s/bin:/usr/bin:/bin" % self.root}
        done = subprocess.run(["/bin/sh", "-c", self.script, "script", str(index)], capture_output=True, text=True, check=False, env=environ)
        assert done.stderr == ""
        return done.stdout.strip() if done.returncode == 0 else ""

    def give(self, index: int, name: str) -> None:
        (old,) = (path.parent for path in (self.root / "net").glob("*/ifindex") if path.read_text() == "%d\n" % index)
        assert old.name == name or not (self.root / "net" / name).exists(), "File exists"
        old.rename(self.root / "net" / name)

    def names(self) -> dict[str, str]:
        return {path.parent.name: path.read_text().strip() for path in (self.root / "net").glob("*/ifindex")}


@pytest.mark.parametrize("order", ["aAbB", "abAB", "abBA", "bBaA", "baAB"])
def test_the_names_at_a_start(tmp_path: pathlib.Path, order: str) -> None:
    """udev queries two interfaces in any order (a, b) and assigns the names afterwards (A, B)."""
    udev = Udev(tmp_path)
    index = {"a": 5, "b": 6}
    answers: dict[str, str] = {}
    for step in order:
        if step.islower():
            answers[step] = udev.ask(index[step])
        else:
            udev.give(index[step.lower()], answers[step.lower()])
    assert answers == {"a": "ib1", "b": "ib0"}
    assert udev.names() == {"ib1": "5", "ib0": "6"}


def test_other_interfaces_get_no_name_from_it(tmp_path: pathlib.Path) -> None:
    udev = Udev(tmp_path)
    udev.make("ib9", 9, "0x0002c903000f0009")
    udev.make("ib0.8001", 10, FIRST, parent="ib0")
    udev.make("eth0", 11, FIRST, type="1")
    assert [udev.ask(index) for index in (9, 10, 11, 12)] == ["", "", "", ""]
    assert udev.names()["ib0"] == "5"
