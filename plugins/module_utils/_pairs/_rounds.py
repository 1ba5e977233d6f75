# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Divide host pairs into rounds in which no host occurs twice. Pure; a round takes time and memory linear in its hosts."""

from __future__ import annotations

import typing as t

ALL, RING, AUTO = "all", "ring", "auto"
SCOPES = (AUTO, ALL, RING)
MOST_FOR_ALL = 16
"""Up to this many hosts per fabric, AUTO means ALL: the number of rounds grows with the hosts for ALL, and not for RING."""


class Pair(t.NamedTuple):
    """Two hosts, by name."""

    server: str
    client: str


def count(hosts: int, scope: str) -> int:
    """The number of rounds for that many hosts."""
    if hosts < 3:
        return hosts // 2
    even = hosts % 2 == 0
    return (hosts - 1 if even else hosts) if scope == ALL else (2 if even else 3)


def _all(hosts: t.Sequence[str], number: int) -> t.Iterator[Pair]:
    """The circle method: one position is fixed, the others move on by one in each round. With an odd number of hosts, the fixed position is empty."""
    circle = len(hosts) - 1 + len(hosts) % 2
    if len(hosts) % 2 == 0:
        still, moving = hosts[-1], hosts[number]
        yield Pair(still, moving) if number % 2 else Pair(moving, still)
    for step in range(1, (circle + 1) // 2):
        yield Pair(hosts[(number + step) % circle], hosts[(number - step) % circle])


def _ring(hosts: t.Sequence[str], number: int) -> t.Iterator[Pair]:
    """Each host with the next one. With an odd number of hosts, the last round has the pair that closes the ring."""
    last = len(hosts) - len(hosts) % 2
    begin = number if number < 2 else len(hosts) - 1
    for place in range(begin, last if number == 0 else len(hosts), 2):
        yield Pair(hosts[place], hosts[(place + 1) % len(hosts)])


def resolved(hosts: int, scope: str) -> str:
    """The scope that AUTO stands for with that many hosts."""
    if scope != AUTO:
        return scope
    return ALL if hosts <= MOST_FOR_ALL else RING


def pairs_of(fabrics: t.Mapping[str, t.Sequence[str]], scope: str, number: int) -> tuple[Pair, ...]:
    """The pairs of one round, counted from 0. `fabrics`: host names by fabric, each host once. Pairs are formed only within a fabric."""
    found: list[Pair] = []
    for hosts in fabrics.values():
        chosen = resolved(len(hosts), scope)
        if number < count(len(hosts), chosen):
            found += _all(hosts, number) if chosen == ALL else _ring(hosts, number)
    return tuple(found)


def rounds(fabrics: t.Mapping[str, t.Sequence[str]], scope: str) -> int:
    """The number of rounds. Fabrics run their rounds at the same time."""
    return max((count(len(hosts), resolved(len(hosts), scope)) for hosts in fabrics.values()), default=0)
