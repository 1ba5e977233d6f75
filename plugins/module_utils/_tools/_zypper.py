# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""zypper: its command lines. Data."""

from __future__ import annotations

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
    update = ("zypper", "--non-interactive", "--gpg-auto-import-keys", "refresh", "rdma-ofed")
    install = ("zypper", "--non-interactive", "install", "--allow-vendor-change", "--no-recommends", "--force-resolution")
    pinned = "%s=%s"
    add = ("zypper", "--non-interactive", "install")
    trial = "--dry-run"
    remove = ("zypper", "--non-interactive", "remove")
    hold = ("zypper", "--non-interactive", "addlock")
