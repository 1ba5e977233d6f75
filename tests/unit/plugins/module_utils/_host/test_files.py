# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file, file_change, read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._write import leftovers


class FakeModule:
    """The methods of AnsibleModule that apply_file uses."""

    def __init__(self, selinux: bool = False) -> None:
        self.selinux = selinux
        self.contexts: dict[str, str] = {}

    def atomic_move(self, source: str, target: str) -> None:
        if pathlib.Path(target).exists():
            shutil.copymode(target, source)
        pathlib.Path(source).replace(target)

    def selinux_enabled(self) -> bool:
        return self.selinux

    def selinux_default_context(self, path: str) -> str:
        return "context of " + path

    def set_context_if_different(self, path: str, context: str, changed: bool) -> bool:
        self.contexts[path] = context
        return True

    def backup_local(self, path: str) -> str:
        shutil.copy2(path, path + "~")
        return path + "~"


@pytest.fixture(name="module")
def fake_module() -> t.Any:
    return FakeModule()


def test_same_content_is_no_change() -> None:
    assert file_change("/a", "x\n", "x\n") is None


def test_a_missing_file_reads_as_empty(tmp_path: pathlib.Path) -> None:
    assert read_text(str(tmp_path / "none")) == ""
    # Docker creates one in the place of a file that it is to mount and does not find.
    assert read_text(str(tmp_path)) == ""
    (tmp_path / "loop").symlink_to("loop")
    assert read_text(str(tmp_path / "loop")) == ""


def test_a_link_to_a_device_lends_nobody_its_permissions(tmp_path: pathlib.Path, module: t.Any) -> None:
    path = tmp_path / "masked.service"
    path.symlink_to("/dev/null")
    change = file_change(str(path), read_text(str(path)), "x\n")
    assert change is not None
    assert apply_file(module, change, backup=True) is None
    assert (path.is_symlink(), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (False, "x\n", 0o644)


def test_created_with_its_directory_and_mode(tmp_path: pathlib.Path, module: t.Any) -> None:
    path = tmp_path / "new" / "file"
    change = file_change(str(path), "", "x\n")
    assert change is not None
    assert apply_file(module, change, mode=0o600) is None
    assert path.read_text() == "x\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_new_file_is_complete_before_it_has_its_name(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the run ended in between, the next one would see the right content and leave the permissions unchanged."""
    module: t.Any = FakeModule(selinux=True)
    seen = []
    rename = os.rename

    def watched(source: str, target: str, **folders: int) -> None:
        seen.append((stat.S_IMODE(os.stat(source).st_mode), pathlib.Path(source).read_text(), module.contexts.get(source)))
        rename(source, target)

    monkeypatch.setattr(os, "rename", watched)
    path = tmp_path / "file"
    change = file_change(str(path), "", "x\n")
    assert change is not None
    apply_file(module, change, mode=0o755)
    assert seen == [(0o755, "x\n", "context of %s" % path)]


def test_what_a_broken_off_run_has_left_is_used_up(tmp_path: pathlib.Path, module: t.Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    change = file_change(str(path), "", "x\n")
    assert change is not None

    def broken(*names: str, **folders: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "rename", broken)
        apply_file(module, change)
    assert all(leftovers(str(path)).match(entry.name) for entry in tmp_path.iterdir()) and len(list(tmp_path.iterdir())) == 1
    apply_file(module, change)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_edited_with_a_backup_and_foreign_bytes_kept(tmp_path: pathlib.Path, module: t.Any) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"caf\xe9\n")
    path.chmod(0o640)
    found = read_text(str(path))
    change = file_change(str(path), found, found + "more\n")
    assert change is not None
    saved = apply_file(module, change, backup=True)
    assert saved is not None
    assert pathlib.Path(saved).read_bytes() == b"caf\xe9\n"
    assert path.read_bytes() == b"caf\xe9\nmore\n"
    assert path.stat().st_mode & 0o777 == 0o640


def test_removed(tmp_path: pathlib.Path, module: t.Any) -> None:
    path = tmp_path / "file"
    path.write_text("x\n")
    change = file_change(str(path), "x\n", "")
    assert change is not None
    apply_file(module, change)
    apply_file(module, change)
    assert not path.exists()
