# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""zypper: its command lines. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._tools._repository import RPM_KEY
from ansible_collections.rdma.ofed.plugins.module_utils._tools._rpm import RpmManager


class Zypper(RpmManager):
    """zypper."""

    name = "zypper"
    action = "community.general.zypper"
    repository_path = "/etc/zypp/repos.d/rdma-ofed.repo"
    # The distribution's packages have other version numbers, which look higher: the site's repository comes first.
    repository_extra = "autorefresh=1\npriority=10\n"
    repository_files = (RPM_KEY, repository_path)
    lock_list = "etc/zypp/locks"
    lock_pattern = r"^solvable_name:\s*%s\s*$"

    def update_argv(self) -> tuple[str, ...]:
        return ("zypper", "--non-interactive", "--gpg-auto-import-keys", "refresh", "rdma-ofed")

    def install_argv(self, names: t.Sequence[str], version: str = "", also: t.Sequence[str] = ()) -> tuple[str, ...]:
        pinned = ["%s=%s" % (name, version) for name in names] if version else list(names)
        return ("zypper", "--non-interactive", "install", "--allow-vendor-change", "--no-recommends", "--force-resolution", *pinned, *also)

    def add_argv(self, names: t.Sequence[str], trial: bool = False) -> tuple[str, ...]:
        return ("zypper", "--non-interactive", "install", *(("--dry-run",) if trial else ()), *names)

    def replace_argv(self, versions: t.Mapping[str, str], gone: t.Iterable[str]) -> tuple[str, ...]:
        return ("zypper", "--non-interactive", "remove", *sorted(gone))

    def hold_argv(self, names: t.Sequence[str]) -> tuple[str, ...]:
        return ("zypper", "--non-interactive", "addlock", *names)
