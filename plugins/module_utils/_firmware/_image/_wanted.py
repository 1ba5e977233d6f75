# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The wanted images of adapters. Pure."""

from __future__ import annotations

import typing as t


class Wanted(t.NamedTuple):
    versions: t.Mapping[str, str] = {}
    """The wanted version by PSID."""
    allow_downgrade: bool = False
    allow_psid: bool = False
    missing: str = "fail"
    """`fail` or `skip`, for an adapter without a declared version or image."""
    images: str | t.Mapping[str, t.Any] | None = None
    """A file, a directory, or images by PSID."""
