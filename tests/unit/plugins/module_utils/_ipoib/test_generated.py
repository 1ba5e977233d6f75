# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files that netplan rewrites with the same text count as unchanged for networkd."""

from __future__ import annotations

import pathlib
import subprocess
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends import _netplan_backend as _generated

OLD = {"10-netplan-eth0.network": "management", "10-netplan-ib0.network": "old", "10-netplan-ib1.network": "goes"}
NEW = {"10-netplan-eth0.network": "management", "10-netplan-ib0.network": "new", "10-netplan-ib2.network": "comes"}


def generate(folder: pathlib.Path, files: dict[str, str]) -> None:
    """Delete and recreate all files, as netplan does."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("10-netplan-*"):
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)


def found(folder: pathlib.Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


def by_module(root: pathlib.Path) -> tuple[t.Callable[[], None], t.Callable[[], None]]:
    return lambda: _generated.NETPLAN.put_aside(str(root)), lambda: _generated.NETPLAN.put_back(str(root))


def by_shell(root: pathlib.Path) -> tuple[t.Callable[[], None], t.Callable[[], None]]:
    def run(script: str) -> None:
        subprocess.run(["sh", "-c", script.replace(_generated.FOLDER, str(root) + _generated.FOLDER)], check=True)

    return lambda: run(_generated.SHELL_PUT_ASIDE), lambda: run(_generated.SHELL_PUT_BACK)


@pytest.mark.parametrize("way", [by_module, by_shell])
def test_the_same_text_is_the_same_file(tmp_path: pathlib.Path, way: t.Any) -> None:
    folder = tmp_path / _generated.FOLDER[1:]
    generate(folder, OLD)
    before = (folder / "10-netplan-eth0.network").stat()
    put_aside, put_back = way(tmp_path)
    put_aside()
    generate(folder, NEW)
    put_back()
    after = (folder / "10-netplan-eth0.network").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert found(folder) == NEW


def test_a_run_that_is_broken_off_leaves_them_to_the_next(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / _generated.FOLDER[1:]
    generate(folder, OLD)
    before = (folder / "10-netplan-eth0.network").stat().st_ino
    _generated.NETPLAN.put_aside(str(tmp_path))
    generate(folder, NEW)
    _generated.NETPLAN.put_aside(str(tmp_path))
    generate(folder, NEW)
    _generated.NETPLAN.put_back(str(tmp_path))
    assert (folder / "10-netplan-eth0.network").stat().st_ino == before
    assert found(folder) == NEW


def test_without_netplan_nothing_is_made(tmp_path: pathlib.Path) -> None:
    _generated.NETPLAN.put_aside(str(tmp_path))
    _generated.NETPLAN.put_back(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
