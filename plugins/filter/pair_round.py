# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One round of a pair test."""

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

from ..module_utils._errors import RdmaError, describe
from ..module_utils._foreign import integer
from ..module_utils._hosts import natural
from ..module_utils._pairs._rounds import SCOPES, pairs_of, rounds
from ..module_utils._words import some
from ..plugin_utils._filters import module_of


def _is_end(end: t.Any) -> bool:
    return isinstance(end, t.Mapping) and "fabric" in end and isinstance(end.get("tests"), (list, tuple))


def pair_round(ends: t.Any, number: t.Any = 0, scope: t.Any = "auto") -> dict[str, t.Any]:
    """The round, as plain data."""
    if not isinstance(ends, t.Mapping) or scope not in SCOPES:
        raise RdmaError("the scope is %s; allowed: %s, for a mapping of hosts" % (describe(scope), ", ".join(SCOPES)))
    rank = integer(str(number))
    if rank is None or rank < 0:
        raise RdmaError("the number of the round is %s; allowed: a number from 0 on" % describe(number))
    wrong = [host for host in ends if not _is_end(ends[host])]
    if wrong:
        raise RdmaError("of these hosts, there is no result of rdma.ofed.ib_pair_test with fabric and tests: %s" % some(wrong, 3))
    fabrics: dict[str, list[str]] = {}
    for host in sorted(ends, key=lambda name: natural(str(name))):
        fabrics.setdefault(str(ends[host]["fabric"]), []).append(str(host))
    parts = {}
    for pair in pairs_of(fabrics, str(scope), rank):
        tests = [str(test) for test in ends[pair.server]["tests"] if test in ends[pair.client]["tests"]]
        parts[pair.server] = {"role": "server", "peer": pair.client, "tests": tests}
        parts[pair.client] = {"role": "client", "peer": pair.server, "tests": tests}
    return {"rounds": rounds(fabrics, str(scope)), "parts": parts}


FilterModule = module_of(pair_round)
