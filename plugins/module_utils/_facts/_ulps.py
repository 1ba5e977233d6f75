# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The upper-layer protocols that the collection has enabled here. It keeps a record, and disables no others."""

from __future__ import annotations

import json
import os
import typing as t

from .._foreign import read_table
from .._host._files import read_text

RECORD = "var/lib/rdma.ofed/ulps.json"


class Kept(t.NamedTuple):
    """What enabling one protocol has changed."""

    units: tuple[str, ...] = ()
    """The units to stop and disable when the protocol is disabled."""
    conf: t.Mapping[str, str] = {}
    """The keys of openib.conf that it set, with their previous values."""


class Record(t.NamedTuple):
    """The protocols that are enabled."""

    source: str = ""
    """The stack with which it was enabled."""
    protocols: t.Mapping[str, Kept] = {}


def _kept(row: t.Mapping[str, t.Any]) -> Kept:
    return Kept(tuple(map(str, row["units"])), {str(key): str(value) for key, value in row["conf"].items()})


def parse_record(text: str) -> Record:
    """Parse the file; a malformed one gives an empty record."""
    try:
        found = read_table(text)
        rows = {name: _kept(row) for name, row in found.get("protocols", {}).items()}
        return Record(str(found.get("source", "")), rows)
    except (TypeError, KeyError, AttributeError):
        return Record()


def record_text(record: Record) -> str:
    """The content of the file. Empty: no file."""
    rows = {name: {"units": list(kept.units), "conf": dict(kept.conf)} for name, kept in record.protocols.items()}
    return json.dumps({"source": record.source, "protocols": rows}, indent=1, sort_keys=True) + "\n" if rows else ""


def read_record(root: str = "/") -> Record:
    return parse_record(read_text(os.path.join(root, RECORD)))
