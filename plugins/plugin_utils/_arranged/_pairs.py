# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The pairs of one round of a pair test."""

from __future__ import annotations

import typing as t

from ...module_utils._errors import RdmaError
from ...module_utils._hosts import natural
from ...module_utils._pairs._rounds import pairs_of, rounds
from ...module_utils._words import some


def _is_end(end: t.Any) -> bool:
    return isinstance(end, t.Mapping) and "fabric" in end and isinstance(end.get("tests"), (list, tuple))


def answer(arguments: t.Mapping[str, t.Any], _task_vars: t.Mapping[str, t.Any], _templar: t.Any) -> dict[str, t.Any]:
    ends, number, scope = arguments["ends"], arguments["number"], arguments["scope"]
    if number < 0:
        raise RdmaError("the number of the round is %d; allowed: a number from 0 on" % number)
    wrong = [host for host in ends if not _is_end(ends[host])]
    if wrong:
        raise RdmaError("these hosts have no result of rdma.ofed.ib_pair_test with fabric and tests: %s" % some(wrong, 3))
    fabrics: dict[str, list[str]] = {}
    for host in sorted(ends, key=lambda name: natural(str(name))):
        fabrics.setdefault(str(ends[host]["fabric"]), []).append(str(host))
    parts = {}
    for pair in pairs_of(fabrics, scope, number):
        tests = [str(test) for test in ends[pair.server]["tests"] if test in ends[pair.client]["tests"]]
        parts[pair.server] = {"role": "server", "peer": pair.client, "tests": tests}
        parts[pair.client] = {"role": "client", "peer": pair.server, "tests": tests}
    return {"rounds": rounds(fabrics, scope), "parts": parts}
