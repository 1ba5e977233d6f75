# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._apply import settle
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import INFINIBAND_PATH, RDMA_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._look import lists_of_devices, look


class FakeRun:
    """The units become active one query after the other."""

    def __init__(self, states: t.Sequence[str]) -> None:
        self.states = list(states)
        self.argv: list[list[str]] = []

    def has(self, tool: str) -> bool:
        return tool == "udevadm"

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        self.argv.append(list(argv))
        if argv[0] == "udevadm":
            return Output(0, "", "")
        state = self.states.pop(0)
        return Output(0, "\n".join("Id=%s\nLoadState=loaded\nActiveState=%s\n" % (unit, state) for unit in argv if unit.startswith("rdma-load")), "")


def node(root: pathlib.Path, link_layer: str = "InfiniBand", udev: bool = True) -> str:
    files = {"sys/class/infiniband/mlx5_0/ports/1/link_layer": link_layer + "\n"} if link_layer else {}
    if udev:
        files["run/udev/control"] = ""
    files["lib/modules/6.1/modules.dep"] = "".join("kernel/%s.ko:\n" % name for name in ("ib_ipoib", "ib_umad", "ib_uverbs", "rdma_ucm", "mlx5_ib"))
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return str(root)


@pytest.mark.parametrize(
    ("link_layer", "udev", "lists"),
    [("InfiniBand", True, (RDMA_PATH, INFINIBAND_PATH)), ("Ethernet", True, (RDMA_PATH,)), ("", True, ()), ("InfiniBand", False, ())],
)
def test_the_lists_follow_the_devices(tmp_path: pathlib.Path, link_layer: str, udev: bool, lists: tuple[str, ...]) -> None:
    assert lists_of_devices(node(tmp_path, link_layer, udev)) == lists


def test_check_mode_counts_with_what_the_package_will_load(tmp_path: pathlib.Path) -> None:
    root = node(tmp_path)
    assert set(look(FakeRun([]), "6.1", assume_rdma_core=True, root=root).loaded) == {"ib_ipoib", "ib_umad", "ib_uverbs", "rdma_ucm"}
    assert not look(FakeRun([]), "6.1", load_now=False, assume_rdma_core=True, root=root).loaded
    assert not look(FakeRun([]), "6.1", root=root).loaded


def test_it_is_waited_for(tmp_path: pathlib.Path) -> None:
    run = FakeRun(["inactive", "activating", "active"])
    settle(run, node(tmp_path), pause=0)
    assert [argv[0] for argv in run.argv] == ["udevadm", "systemctl", "systemctl", "systemctl"]


def test_nothing_is_waited_for_where_nothing_comes(tmp_path: pathlib.Path) -> None:
    run = FakeRun([])
    settle(run, node(tmp_path, udev=False))
    assert run.argv == []


def test_patience_ends(tmp_path: pathlib.Path) -> None:
    run = FakeRun(["inactive"] * 2)
    settle(run, node(tmp_path), patience=0, pause=0)
    assert len(run.argv) == 2
