# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The source of nv_peer_mem, and what a build requires. Pure."""

from __future__ import annotations

import typing as t

if t.TYPE_CHECKING:
    from .._distro._family import Family


class Source(t.NamedTuple):
    """The source as declared."""

    place: str
    commit: str = ""
    checksum: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether it is an archive on the node, as opposed to a repository."""
        return self.place.startswith("/")

    @property
    def identity(self) -> str:
        """What distinguishes one source from another."""
        return self.checksum if self.is_archive else self.commit


def tools(family: Family, source: Source) -> dict[str, str]:
    """The programs and files that a build requires, with the packages that contain them."""
    return {**family.peer_memory_tools, **({} if source.is_archive else {"git": "git"})}
