# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""dnf: its command lines."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._tools._repository import RPM_KEY
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rpm import RpmManager

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

_LOCK_PLUGIN = "etc/dnf/plugins/versionlock.conf"


class Dnf(RpmManager):
    """dnf."""

    name = "dnf"
    action = "ansible.builtin.dnf"
    options = {"absent": {"autoremove": False}}
    repository_path = "/etc/yum.repos.d/rdma-ofed.repo"
    # The distribution's packages have other version numbers, which look higher: the site's repository comes first.
    repository_extra = "priority=10\n"
    repository_files = (RPM_KEY, repository_path)
    lock_list = "etc/dnf/plugins/versionlock.list"
    # NAME-EPOCH:VERSION-RELEASE.*, where the epoch may be missing.
    lock_pattern = r"^%s-(\d+:)?\d[^-]*-[^-]*$"
    lock_hint = "kernels can't be held without the plugin versionlock of dnf: install python3-dnf-plugin-versionlock"

    update = ("dnf", "--assumeyes", "--disablerepo=*", "--enablerepo=rdma-ofed", "makecache")
    install = ("dnf", "--assumeyes", "--allowerasing", "install")
    pinned = "%s-%s[!0-9]*"
    add = ("dnf", "-y", "install")
    remove = ("dnf", "--assumeyes", "remove", "--noautoremove")
    hold = ("dnf", "-y", "versionlock", "add")

    def can_lock(self, root: str = "/") -> bool:
        return os.path.exists(os.path.join(root, _LOCK_PLUGIN))

    def unavailable(self, run: Runner, names: t.Sequence[str]) -> list[str]:
        return [name for name in names if run(["dnf", "--quiet", "list", name], ok=None, timeout=300).rc]
