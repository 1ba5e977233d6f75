# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of AnsibleModule that the code of modules uses."""

from __future__ import annotations

import os
import pathlib
import shutil
import typing as t


class ModuleFiles:
    """The file methods on a node without SELinux."""

    @staticmethod
    def selinux_enabled() -> bool:
        return False

    @staticmethod
    def backup_local(path: str) -> str:
        return str(shutil.copy2(path, path + ".backup"))

    @staticmethod
    def atomic_move(source: str, target: str) -> None:
        # Like the real one, it drops the permissions of the source.
        mode = os.stat(target).st_mode & 0o7777 if os.path.exists(target) else 0o644
        os.replace(source, target)
        os.chmod(target, mode)


class FakeModule(ModuleFiles):
    """A module with parameters: those of a test override those that most of its tests share."""

    defaults: t.Mapping[str, t.Any] = {}
    check_mode = False

    def __init__(self, check_mode: t.Optional[bool] = None, **params: t.Any) -> None:
        if check_mode is not None:
            self.check_mode = check_mode
        self.params = {**self.defaults, **params}
        self.tmpdir = params.get("tmpdir", "")
        self.warnings: t.List[str] = []
        self.no_log_values: t.Set[str] = set()

    def warn(self, text: str) -> None:
        self.warnings.append(text)


class FileNode(ModuleFiles):
    """The root directory of a node with systemd, and the module on it. Tests add their own commands."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.check_mode = False
        self.params: t.Dict[str, t.Any] = {}
        self.calls: t.List[str] = []
        (root / "run/systemd/system").mkdir(parents=True)

    def path(self, path: str) -> pathlib.Path:
        return self.root / path.lstrip("/")

    def write(self, path: str, text: str) -> None:
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text, encoding="utf-8")
