# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the firewalls of a node are to accept. Pure."""

from __future__ import annotations

import typing as t


class Trusted(t.NamedTuple):
    """The interfaces whose traffic is to be accepted."""

    names: t.FrozenSet[str] = frozenset()
    zone: str = ""
    """Their zone in firewalld."""
