# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Eight cards in one node: one query each, all at the same time, and one module for all of them."""

from __future__ import annotations

import collections.abc
import time
import typing as t

import pytest
from firmware import Host, module

testinfra_hosts = ["ansible://dense"]

# So slow that what a query waits for outweighs what starting Python costs. A real card takes a second or more, too.
MILLISECONDS = 12
WRAPPER = """#!/bin/sh
# Stands before the real tool and notes when each call began and ended.
began=$(date +%s.%N)
/usr/bin/mstconfig "$@"
status=$?
echo "$began $(date +%s.%N) $*" >>/srv/calls
exit $status
"""


class Call(t.NamedTuple):
    seconds: float
    arguments: list[str]


@pytest.fixture
def slow(host: Host) -> collections.abc.Iterator[None]:
    """All cards slow, all calls of the tool noted."""
    host.check_output("printf %s %s > /usr/local/bin/mstconfig; chmod 755 /usr/local/bin/mstconfig; rm -f /srv/calls", "%s", WRAPPER)
    adapters = host.check_output("ls /sys/class/infiniband").split()
    for adapter in adapters:
        host.check_output("/opt/lab/bin/rdmalab-fault %s slow=%s", adapter, str(MILLISECONDS))
    yield
    for adapter in adapters:
        host.check_output("/opt/lab/bin/rdmalab-fault %s none", adapter)
    host.check_output("rm -f /usr/local/bin/mstconfig /srv/calls")


def calls(host: Host) -> list[Call]:
    lines = [line.split() for line in host.check_output("cat /srv/calls").splitlines()]
    return [Call(float(words[1]) - float(words[0]), words[2:]) for words in lines]


def timed(host: Host, devices: list[dict[str, t.Any]]) -> tuple[float, dict[str, t.Any]]:
    started = time.monotonic()
    result = module(host, "mlxconfig", devices=devices, missing="ignore")
    assert (result.get("failed"), result["changed"]) == (None, False), result
    return time.monotonic() - started, result


def test_an_unchanged_run_costs_one_query_for_each_and_the_time_of_the_slowest(host: Host, slow: None) -> None:
    # What Ansible and Python cost before the first query is not the module's, and on a slow machine as much as a query.
    overhead, nothing = timed(host, [{"psid": "MT_0000009999", "parameters": {"SRIOV_EN": True}}])
    assert nothing["devices"] == []
    seconds, result = timed(host, host.ansible.get_variables()["hca_firmware_config"])
    queries = [call for call in calls(host) if "query" in call.arguments]
    assert sorted(call.arguments[call.arguments.index("-d") + 1] for call in queries) == sorted(device["pci"] for device in result["devices"])
    assert len(queries) == 8
    assert not [call for call in calls(host) if "set" in call.arguments]
    assert seconds - overhead <= 1.5 * max(call.seconds for call in queries)
