# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The installed packages that matter to the collection."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, known_packages

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def installed_packages(run: Runner, names: t.Iterable[str] = (), root: str = "/") -> dict[str, str]:
    """Versions of the installed packages among `names` and those that any family knows.

    No process where dpkg keeps the database, else one. A dpkg without packages also exists on RPM systems, as a tool for
    containers; so the first database that has one of the packages counts.
    """
    wanted = {name for name in {*known_packages(), *names} if name and "*" not in name}
    for family in FAMILIES:
        found = family.manager.database(run, root, names=wanted)
        if found:
            return {name: package.version for name, package in found.items() if package.state == "installed"}
    return {}
