# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read the firmware versions of the adapters, and the parameters that differ from their defaults. Nothing is written to an adapter."""

from __future__ import annotations

import time
import typing as t

from .._errors import CommandFailed, RdmaError
from .._facts._ports import read_hcas
from .._host._run import first_tool
from .._tools import _flint, _mlxconfig
from ._config._look import look_at_elements
from ._config._session import Session
from ._config._values import bounds, readable, same, whole_arrays
from ._devices import outcomes, read_devices, title
from ._found import Seen, SeenAdapter
from ._image._query import query_adapter

if t.TYPE_CHECKING:
    from .._host._node import Node
    from .._host._run import Output, Runner
    from .._tools._mlxconfig import Row
    from ._devices import Device

# Seconds for all queries of a node. The whole look has 180 by default (rdma_look_timeout), and one adapter that hangs must not use them up.
LIMIT = 100.0
# A tool waits 35 s for the semaphores of a card. If it is killed meanwhile, it may leave them locked, so it is not started with less time left.
LEAST = 40.0


class Limited:
    """A runner whose commands share a time limit."""

    def __init__(self, run: Runner, limit: float, clock: t.Callable[[], float] = time.monotonic) -> None:
        self._run, self._clock, self._end = run, clock, clock() + limit

    def has(self, tool: str) -> bool:
        return self._run.has(tool)

    def __call__(self, argv: t.Sequence[str], ok: t.Collection[int] | None = (0,), timeout: float = 60) -> Output:
        left = self._end - self._clock()
        if left < LEAST:
            text = "%s was not started, because the adapters answer slowly: discover this node again, and see dmesg there" % " ".join(argv)
            raise CommandFailed(text, cmd=list(argv))
        return self._run(argv, ok=ok, timeout=min(timeout, left))


def _telling(rows: t.Mapping[str, Row]) -> tuple[Row, ...]:
    """The parameters that can be set and differ from their defaults, or are about to change."""
    found = []
    for row in rows.values():
        if not row.read_only and readable(row.next) and not bounds(row.next):
            differs = row.default is not None and readable(row.default) and not same(row.next, row.default)
            waits = row.current is not None and readable(row.current) and not same(row.next, row.current)
            found += [row] if differs or waits else []
    return tuple(sorted(found))


def _without_default(rows: t.Mapping[str, Row]) -> list[str]:
    return [name for name, row in sorted(rows.items()) if not row.read_only and readable(row.next) and (row.default is None or not readable(row.default))]


def _with_parameters(found: SeenAdapter, session: Session) -> SeenAdapter:
    try:
        rows = session.query()
    except RdmaError as exc:
        return found._replace(errors=(*found.errors, exc.msg))
    errors = list(found.errors)
    try:
        rows.update(look_at_elements(session, rows, whole_arrays(rows)))
    except RdmaError as exc:
        errors.append("elements of arrays: %s" % exc.msg)
    unknown = _without_default(rows)
    none = bool(rows) and all(row.default is None for row in rows.values())
    return found._replace(parameters=_telling(rows), unknown=() if none else tuple(unknown), without_defaults=none, errors=tuple(errors))


def _with_version(found: SeenAdapter, run: Runner, tool: str) -> SeenAdapter:
    try:
        query = query_adapter(run, tool, found.pci)
    except RdmaError as exc:
        return found._replace(errors=(*found.errors, exc.msg))
    return found._replace(flash_psid=query.psid, version=query.version, running=query.running)


def seen(node: Node, _hints: t.Mapping[str, t.Any]) -> Seen:
    """All adapters. What can't be read of one of them is among its errors."""
    run = Limited(node.run, LIMIT)
    flint = first_tool(run, _flint.TOOLS)
    programs = tuple(name for name in _mlxconfig.TOOLS if run.has(name))
    running = {hca.pci: hca.firmware for hca in read_hcas(node.root)}

    def one(device: Device) -> SeenAdapter:
        version = next((running[function] for function in device.functions if running.get(function)), "")
        found = SeenAdapter(device.pci, device.psid, device.apart, running=version)
        if device.apart:
            return found
        if flint:
            found = _with_version(found, run, flint)
        return _with_parameters(found, Session(run, programs, device.pci, title=title(device))) if programs else found

    answers = outcomes(one, read_devices(node.root))
    return Seen(tuple(answer for answer in answers if not isinstance(answer, RdmaError)), (*([flint] if flint else []), *programs))
