# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages are left to install or remove. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import known_packages


def due(names: t.Sequence[str], state: str, installed: t.Mapping[str, str] | None) -> list[str]:
    """The packages to hand to the package manager; none where all are as they shall be.

    `installed` has the versions of the installed packages, as far as a family knows them; None where nothing is known. A
    name that is in neither, or that has a version in it, is left to the package manager.
    """
    if installed is None:
        return list(names)
    if state == "present":
        return [] if all(name in installed for name in names) else list(names)
    known = known_packages()
    return [name for name in names if name in installed or name not in known]
