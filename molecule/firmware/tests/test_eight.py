# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Eight cards in one node: one query per card, all in parallel, and one module execution for all of them."""

from __future__ import annotations

import collections.abc
import typing as t

import pytest
from firmware import RESTORE, Host, fault, run, shell

# Slow enough that the query of the last card begins while that of the first one is still waiting. A real card also takes a second or more.
MILLISECONDS = 8
WRAPPER = """#!/bin/sh
# Stands before the real tool and notes when each call began and ended.
began=$(date +%s.%N)
/usr/bin/mstconfig "$@"
status=$?
echo "$began $(date +%s.%N) $*" >>/srv/calls
exit $status
"""


class Call(t.NamedTuple):
    began: float
    ended: float
    arguments: list[str]


@pytest.fixture
def slow(dense: list[Host]) -> collections.abc.Iterator[None]:
    """Make all cards slow and record all calls of the tool."""
    for host in dense:
        host.check_output("printf %s %s > /usr/local/bin/mstconfig; chmod 755 /usr/local/bin/mstconfig; rm -f /srv/calls", "%s", WRAPPER)
    run(dense, fault("all", "slow=%d" % MILLISECONDS))
    yield
    run(dense, fault("all", "none"), shell("rm -f /usr/local/bin/mstconfig /srv/calls"))


def calls(host: Host) -> list[Call]:
    lines = [line.split() for line in host.check_output("cat /srv/calls").splitlines()]
    return [Call(float(words[0]), float(words[1]), words[2:]) for words in lines]


@pytest.mark.proves("parameters", debian12="look-alike", debian13="look-alike")
def test_an_unchanged_run_costs_one_query_for_each_all_at_the_same_time(dense: list[Host], slow: None) -> None:
    for host, (result,) in zip(dense, run(dense, RESTORE)):
        assert (result["failed"], result["changed"]) == (False, False), result
        queries = [call for call in calls(host) if "query" in call.arguments]
        assert sorted(call.arguments[call.arguments.index("-d") + 1] for call in queries) == sorted(device["pci"] for device in result["devices"])
        assert len(queries) == 8
        assert not [call for call in calls(host) if "set" in call.arguments]
        assert max(call.began for call in queries) < min(call.ended for call in queries)
