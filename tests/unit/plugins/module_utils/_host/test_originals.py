# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of files of others: with their path and permissions, and never over one another."""

from __future__ import annotations

import os
import pathlib
import typing as t
from unittest import mock

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import apply_file, file_change
from ansible_collections.rdma.ofed.plugins.module_utils._host._originals import save
from ansible_collections.rdma.ofed.plugins.module_utils._host._saved import access_of

PATH = "/etc/network/interfaces"


def test_each_content_has_a_copy_of_its_own(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc/network/interfaces"
    path.parent.mkdir(parents=True)
    copies = []
    for text in ("one\n", "two\n", "one\n", "two\n"):
        path.write_text(text)
        path.chmod(0o640)
        copies.append(save(PATH, str(tmp_path)))
    assert copies == ["/var/backups/rdma-ofed" + PATH, "/var/backups/rdma-ofed%s.1" % PATH] * 2
    saved = [tmp_path / copy[1:] for copy in copies[:2]]
    assert [each.read_text() for each in saved] == ["one\n", "two\n"]
    assert [each.stat().st_mode & 0o777 for each in saved] == [0o640, 0o640]
    assert saved[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_file_comes_back_with_its_owner(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its group may be that of a service that is not root."""
    path = tmp_path / "etc/network/interfaces"
    path.parent.mkdir(parents=True)
    path.write_text("one\n")
    path.chmod(0o640)
    owners: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "fchown", lambda handle, user, group: owners.append((user, group)))
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda handle: mock.Mock(wraps=real(handle), st_mode=real(handle).st_mode, st_uid=7, st_gid=998))
    copy = save(PATH, str(tmp_path))
    monkeypatch.undo()
    assert owners == [(7, 998)]
    access = access_of(copy, str(tmp_path))
    assert access == (0o640, (os.getuid(), os.getgid()))
    path.unlink()
    monkeypatch.setattr(os, "fchown", lambda handle, user, group: owners.append((user, group)))
    module: t.Any = mock.Mock(selinux_enabled=lambda: False)
    (change,) = [file_change(PATH, "", "one\n")]
    assert change is not None
    apply_file(module, change, mode=access.mode, owner=(8, 999), root=str(tmp_path))
    assert owners == [(7, 998), (8, 999)]
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("one\n", 0o640)


def test_the_copy_of_a_link_is_that_of_its_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "etc/network/interfaces"
    path.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").write_text("one\n")
    path.symlink_to(tmp_path / "elsewhere")
    copy = tmp_path / save(PATH, str(tmp_path))[1:]
    assert copy.read_text() == "one\n" and not copy.is_symlink()
