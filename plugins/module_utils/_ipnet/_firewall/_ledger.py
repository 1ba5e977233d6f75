# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of the interfaces that the collection has put into a zone of firewalld. Their names in the zone alone do not tell who has added them. Pure."""

from __future__ import annotations

import json
import typing as t

from ..._foreign import read_table
from ..._ipoib._wanted import is_name
from ..._tools._firewalld import is_zone_name

PATH = "/var/lib/rdma.ofed/firewall.json"


def parse(text: str) -> dict[str, str]:
    """The zone by interface. Entries that an editor has made invalid are left out."""
    return {name: zone for name, zone in read_table(text).items() if is_name(name) and isinstance(zone, str) and is_zone_name(zone)}


def render(zones: t.Mapping[str, str]) -> str:
    """The inverse of `parse`; "" for none."""
    return json.dumps(dict(zones), indent=2, sort_keys=True) + "\n" if zones else ""
