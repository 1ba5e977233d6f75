# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The declared upper-layer protocols. Pure."""

from __future__ import annotations

import typing as t


class Wanted(t.NamedTuple):
    names: tuple[str, ...] = ()
    source: str = "inbox"
    declared_conf: frozenset[str] = frozenset()
    """The keys of openib.conf that are declared elsewhere, and are not reset here."""
    renewed: bool = False
    """Whether the stack's packages or its driver have just been replaced."""
    image: bool = False
    """Whether this is the tree of an image: what is enabled starts with the node that boots it."""
    start: bool = True
    """Whether to load modules and start services now, and not only at boot."""
