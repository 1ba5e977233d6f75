# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ports of the facts whose fields have the types that they should have. Facts come from a node, or from a cache written by others. Pure."""

from __future__ import annotations

import typing as t

from .._foreign import rows_of
from ._apart import of_fabric
from ._portname import Port

_TEXTS = ("name", "device", "port_guid", "gid", "link_layer", "state", "pci", "apart")
_NUMBERS = ("port", "lid", "sm_lid")


def _is_number(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def fabric_ports(facts: t.Mapping[str, t.Any] | None) -> list[Port]:
    """The ports that defaults include, with all of these fields. Ports with another type in one of them are left out."""
    filled = [{**dict.fromkeys(_TEXTS, ""), **dict.fromkeys(_NUMBERS, 0), **row} for row in rows_of(facts, "ports")]
    return of_fabric(row for row in filled if all(isinstance(row[name], str) for name in _TEXTS) and all(_is_number(row[name]) for name in _NUMBERS))
