# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of the collection that were edited on the node: the next run restores them, and a removal removes them."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from support.ipoib_node import CAPABLE, FakeNode

STACKS = ["systemd-networkd", "ifupdown", "networkmanager", "netplan"]
WANTED = [{"name": "ib0", "addresses": ["10.20.0.1/24", "fd00::1/64"], "mtu": 2044, "mode": "datagram"}]
# The original lines, and an editor's version of them.
EDITS = {
    "a comment after each line": ("\n", " # ours\n"),
    "single quotes": ('"', "'"),
    "no quotes": ('"', ""),
    "a gateway": ("10.20.0.1/24", "10.20.0.1/24,10.20.0.254"),
    "no prefix": ("10.20.0.1/24", "10.20.0.1"),
    "half an address": ("10.20.0.1/24", "10.20./24"),
    "an MTU in words": ("2044", "large"),
    "an MTU that is no digit": ("2044", "²"),
    "an MTU without an end": ("2044", "2" * 5000),
    "blanks for brackets": ("[", " "),
    "no name": ("ib0", ""),
    "open brackets": (":", ":" + "[" * 3000),
    "nothing but the first line": ("\n", "\x00"),
}


def files(node: FakeNode) -> list[pathlib.Path]:
    """Return the files that describe interfaces."""
    return [path for path in sorted(node.root.rglob("*rdma*")) if path.is_file() and "/etc/" in str(path)]


def edit(node: FakeNode, before: str, after: str) -> int:
    """Edit the files and return how many changed. The first line, which identifies files of the collection, stays."""
    count = 0
    for path in files(node):
        head, newline, text = path.read_text(encoding="utf-8").partition("\n")
        changed = text.replace(before, after)
        path.write_text(head + newline + changed, encoding="utf-8")
        count += changed != text
    return count


@pytest.fixture
def node(tmp_path: pathlib.Path, request: pytest.FixtureRequest) -> FakeNode:
    found = FakeNode(tmp_path, t.cast("str", request.param), CAPABLE, "mlx4_core", ports=1)
    found.appear("ib0")
    found.call(interfaces=WANTED)
    return found


@pytest.mark.parametrize("edited", EDITS)
@pytest.mark.parametrize("node", STACKS, indirect=True)
def test_the_run_puts_it_right(node: FakeNode, edited: str) -> None:
    before = {path: path.read_text(encoding="utf-8") for path in files(node)}
    count = edit(node, *EDITS[edited])
    assert node.call(interfaces=WANTED)["changed"] is bool(count)
    assert {path: path.read_text(encoding="utf-8") for path in files(node)} == before
    assert not node.call(interfaces=WANTED)["changed"]


@pytest.mark.parametrize("edited", EDITS)
@pytest.mark.parametrize("node", STACKS, indirect=True)
def test_a_removal_removes_it(node: FakeNode, edited: str) -> None:
    edit(node, *EDITS[edited])
    node.call(state="absent")
    assert files(node) == []
