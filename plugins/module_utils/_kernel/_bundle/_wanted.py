# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The bundle to be built. Pure."""

from __future__ import annotations

import typing as t

BUILT = "/var/lib/rdma.ofed-built"
"""Not below /var/lib/rdma.ofed, which may be readable only for root."""


class Wanted(t.NamedTuple):
    """The bundle to be built."""

    version: str
    distro: str
    """In the notation of bundle names; "" where neither name nor node tells."""
    arch: str
    kernel: str
    kmp: bool = False
    tell_distro: bool = False
    """Whether the vendor's script does not detect the distribution itself."""

    @property
    def name(self) -> str:
        """The name without suffix, in the form of the vendor's names."""
        parts = ("MLNX_OFED_LINUX", self.version, self.distro, self.arch, "kver.%s" % self.kernel, "kmp" if self.kmp else "", "ext")
        return "-".join(part for part in parts if part)

    @property
    def path(self) -> str:
        return "%s/%s.tgz" % (BUILT, self.name)
