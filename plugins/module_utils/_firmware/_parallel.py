# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The same work for several adapters, side by side: most of it is waiting for a card."""

from __future__ import annotations

import typing as t
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, RdmaError

_WORKERS = 16

Item = t.TypeVar("Item")
Result = t.TypeVar("Result")


def outcomes(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result | RdmaError]:
    """The results for all items, made side by side; an error where one failed."""

    def one(item: Item) -> Result | RdmaError:
        try:
            return function(item)
        except RdmaError as exc:
            return exc

    if not items:
        return []
    with ThreadPoolExecutor(max_workers=min(len(items), _WORKERS)) as pool:
        return list(pool.map(one, items))


def each(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result]:
    """The results for all items. Raises CommandFailed with every failure, or the one failure as it is."""
    results = outcomes(function, items)
    failures = [result for result in results if isinstance(result, RdmaError)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise CommandFailed("; ".join(failure.msg for failure in failures), **failures[0].details)
    return [result for result in results if not isinstance(result, RdmaError)]
