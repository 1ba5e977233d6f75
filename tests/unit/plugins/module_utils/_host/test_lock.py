# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import pathlib
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host import _lock
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_locks


def test_a_card_has_one_lock_for_all_its_functions(tmp_path: pathlib.Path) -> None:
    root = str(tmp_path)
    with card_locks(("0000:03:00.0",), 0, root):
        with pytest.raises(Refused, match="process %d" % os.getpid()), card_locks(("0000:03:00.1",), 0, root):
            pass
        with card_locks(("0000:83:00.0",), 0, root):
            pass
    with card_locks(("0000:03:00.1",), 0, root):
        pass


def test_a_place_that_can_not_be_written_to(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Unsupported, match=r"Not a directory: '[^']*'\Z"), card_locks(("0000:03:00.0",), 0, str(tmp_path)):
        pass

    def refuse(folder: str, name: str) -> t.NoReturn:
        raise PermissionError(13, "Permission denied", folder)

    monkeypatch.setattr(_lock, "lock_file", refuse)
    with pytest.raises(Unsupported, match=r"Permission denied: .* Run the task as root"), card_locks(("0000:03:00.0",), 0, str(tmp_path)):
        pass
