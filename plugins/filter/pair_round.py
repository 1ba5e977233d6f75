# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One round of a pair test: no host has two parts in it. A round takes time and memory linear in its hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: pair_round
short_description: Who measures with whom in one round of a pair test
version_added: 1.0.0
author:
  - The rdma.ofed engineers (@rdma-ofed)
description:
  - Puts hosts into pairs so that no host is in two pairs of a round, and no pair comes twice in all rounds. Hosts of different fabrics are no pair.
positional: _input, number
options:
  _input:
    description: By host, what M(rdma.ofed.ib_pair_test) returned as RV(rdma.ofed.ib_pair_test#module:end).
    type: dict
    required: true
  number:
    description: The number of the round, from 0 on.
    type: int
    default: 0
  scope:
    description: V(all) pairs, or each host with its neighbours in a V(ring). V(auto) is V(all) for fabrics of up to 16 hosts and V(ring) for larger ones.
    type: str
    choices: [auto, all, ring]
    default: auto
"""

EXAMPLES = r"""
- name: Show the first round
  ansible.builtin.debug:
    msg: "{{ {'node1': {'fabric': 'ib', 'tests': ['ibping']}, 'node2': {'fabric': 'ib', 'tests': ['ibping']}} | rdma.ofed.pair_round(0) }}"
"""

RETURN = r"""
_value:
  description:
    - The keys C(rounds), how many there are, and C(parts), by host the C(role), V(server) or V(client), the C(peer), and the C(tests) that both ends can do.
    - With an odd number of hosts, one has no part.
  type: dict
"""

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import RdmaError
from ansible_collections.rdma.ofed.plugins.module_utils._hosts import natural
from ansible_collections.rdma.ofed.plugins.plugin_utils._filters import module_of

ALL, RING, AUTO = "all", "ring", "auto"
SCOPES = (AUTO, ALL, RING)
MOST_FOR_ALL = 16
"""Hosts of a fabric up to which AUTO is ALL: the rounds of ALL grow with the hosts, those of RING do not."""


class Pair(t.NamedTuple):
    """Two hosts, by name."""

    server: str
    client: str


def _is_all(hosts: int, scope: str) -> bool:
    """Whether the scope is ALL for that many hosts."""
    return scope == ALL or (scope == AUTO and hosts <= MOST_FOR_ALL)


def count(hosts: int, scope: str) -> int:
    """How many rounds that many hosts need."""
    if hosts < 3:
        return hosts // 2
    even = hosts % 2 == 0
    return (hosts - 1 if even else hosts) if _is_all(hosts, scope) else (2 if even else 3)


def _all(hosts: t.Sequence[str], number: int) -> t.Iterator[Pair]:
    """The circle method: one place stands still, the others move on by one each round. With an odd number of hosts, that place is empty."""
    circle = len(hosts) - 1 + len(hosts) % 2
    if len(hosts) % 2 == 0:
        still, moving = hosts[-1], hosts[number]
        yield Pair(still, moving) if number % 2 else Pair(moving, still)
    for step in range(1, (circle + 1) // 2):
        yield Pair(hosts[(number + step) % circle], hosts[(number - step) % circle])


def _ring(hosts: t.Sequence[str], number: int) -> t.Iterator[Pair]:
    """Each host with the next one. The last round of an odd number of hosts has the pair that closes the ring."""
    last = len(hosts) - len(hosts) % 2
    begin = number if number < 2 else len(hosts) - 1
    for place in range(begin, last if number == 0 else len(hosts), 2):
        yield Pair(hosts[place], hosts[(place + 1) % len(hosts)])


def pairs_of(fabrics: t.Mapping[str, t.Sequence[str]], scope: str, number: int) -> tuple[Pair, ...]:
    """The pairs of one round, counted from 0. `fabrics` has the names of hosts by fabric, each host once; hosts of different fabrics are no pair."""
    found: list[Pair] = []
    for hosts in fabrics.values():
        if number < count(len(hosts), scope):
            found += _all(hosts, number) if _is_all(len(hosts), scope) else _ring(hosts, number)
    return tuple(found)


def rounds_of(fabrics: t.Mapping[str, t.Sequence[str]], scope: str) -> int:
    """How many rounds there are. Fabrics take theirs at the same time."""
    return max((count(len(hosts), scope) for hosts in fabrics.values()), default=0)


def pair_round(ends: t.Any, number: t.Any = 0, scope: t.Any = "auto") -> dict[str, t.Any]:
    """The round, as plain data."""
    if not isinstance(ends, t.Mapping) or scope not in SCOPES:
        raise RdmaError("the scope is %r; allowed: %s, for a mapping of hosts" % (scope, ", ".join(SCOPES)))
    fabrics: dict[str, list[str]] = {}
    for host in sorted(ends, key=natural):
        fabrics.setdefault(str(ends[host]["fabric"]), []).append(str(host))
    parts = {}
    for pair in pairs_of(fabrics, str(scope), number):
        tests = [str(test) for test in ends[pair.server]["tests"] if test in ends[pair.client]["tests"]]
        parts[pair.server] = {"role": "server", "peer": pair.client, "tests": tests}
        parts[pair.client] = {"role": "client", "peer": pair.server, "tests": tests}
    return {"rounds": rounds_of(fabrics, str(scope)), "parts": parts}


FilterModule = module_of(pair_round)
