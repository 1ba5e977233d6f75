# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib
import tarfile
import typing as t
from unittest import mock

from ansible_collections.rdma.ofed.plugins.action import report


def run(parts: pathlib.Path | str, dest: pathlib.Path, check: bool = False) -> dict[str, t.Any]:
    task: t.Any = mock.Mock(async_val=0, check_mode=check, diff=False, delegate_to=None, args={"kind": "support", "parts": str(parts), "dest": str(dest)})
    found = report.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    result: dict[str, t.Any] = found.run(task_vars={"ansible_play_hosts_all": ["node1", "node2"]})
    return result


def parts_of(folder: pathlib.Path) -> pathlib.Path:
    parts = folder / "parts"
    (parts / "node1").mkdir(parents=True)
    with tarfile.open(parts / "node1/support.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("system/uname.txt"))
    return parts


def test_the_whole_is_written_and_the_parts_go(tmp_path: pathlib.Path) -> None:
    parts = parts_of(tmp_path)
    result = run(parts, tmp_path / "new/bundles")
    assert (result["missing"], result["changed"]) == (["node2"], False)
    assert pathlib.Path(result["path"]).parent == tmp_path / "new/bundles" and pathlib.Path(result["path"]).is_file()
    assert not parts.exists()


def test_a_folder_that_is_none(tmp_path: pathlib.Path) -> None:
    parts = parts_of(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    result = run(parts, tmp_path / "file")
    assert result["failed"] and "set support_bundle_dir" in result["msg"]
    assert not parts.exists()


def test_check_mode_writes_nothing(tmp_path: pathlib.Path) -> None:
    assert run(parts_of(tmp_path), tmp_path / "bundles", check=True)["path"] == ""
    assert run("", tmp_path / "bundles")["path"] == ""
    assert not (tmp_path / "bundles").exists()
