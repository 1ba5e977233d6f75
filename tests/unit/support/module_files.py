# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""As much of AnsibleModule as writing files takes."""

from __future__ import annotations

import os
import shutil


class ModuleFiles:
    """Of a node without SELinux."""

    @staticmethod
    def selinux_enabled() -> bool:
        return False

    @staticmethod
    def backup_local(path: str) -> str:
        return str(shutil.copy2(path, path + ".backup"))

    @staticmethod
    def atomic_move(source: str, target: str) -> None:
        created = not os.path.exists(target)
        os.replace(source, target)
        if created:
            # The real one does the same: what the source was allowed to do is lost.
            os.chmod(target, 0o644)
