# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Query the declared parameters of an adapter."""

from __future__ import annotations

import typing as t

from ._session import Missing, Session
from ._values import base_name, bounds, number_of, whole_arrays

if t.TYPE_CHECKING:
    from ..._tools._mlxconfig import Row
    from ._wanted import Wanted


def _is_there(name: str, rows: t.Mapping[str, Row]) -> bool:
    limits = bounds(rows[base_name(name)].next) if base_name(name) in rows else None
    index = number_of(name.partition("[")[2].rstrip("]"))
    return limits is not None and index is not None and limits[0] <= index <= limits[1]


def _marked(rows: dict[str, Row], everything: t.Callable[[], t.Mapping[str, Row]]) -> dict[str, Row]:
    """The rows of a query by name, with the read-only mark on the right ones.

    If one row is read-only, mstconfig 4.31 marks all rows of the query. A query for everything marks the right ones.
    """
    if len(rows) < 2 or not any(row.read_only for row in rows.values()):
        return rows
    whole = everything()
    return {name: row._replace(read_only=whole[base_name(name)].read_only) if base_name(name) in whole else row for name, row in rows.items()}


def look_at_elements(session: Session, rows: dict[str, Row], names: t.Sequence[str]) -> dict[str, Row]:
    """The named elements of arrays. `rows` has all parameters of the adapter, with whole arrays."""
    return _marked(session.query(names), lambda: rows) if names else {}


def look(session: Session, wanted: Wanted) -> dict[str, Row]:
    """The declared parameters; all parameters of the adapter where all are to be reset or a declared one is missing."""
    names = list(wanted.settings)
    if not wanted.reset_all:
        try:
            return _marked(session.query(names), session.query)
        except Missing:
            pass
    rows = session.query()
    elements = whole_arrays(rows) if wanted.reset_all else [name for name in names if _is_there(name, rows)]
    rows.update(look_at_elements(session, rows, elements))
    return rows
