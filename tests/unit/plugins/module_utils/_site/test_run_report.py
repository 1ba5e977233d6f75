# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The end of a run as data: each host has one state, and the totals add up."""

from __future__ import annotations

import json

from ansible_collections.rdma.ofed.plugins.module_utils._site._ends import FAILED, UNREACHABLE, Record
from ansible_collections.rdma.ofed.plugins.module_utils._site._run_report import STATES, as_data, state_of
from ansible_collections.rdma.ofed.plugins.module_utils._site._summary import Host

HOSTS = {
    "done": Host(record=Record(True, changes=("edit file /etc/rdma.conf",))),
    "partly": Host(leaves={"ipoib": ["another file configures ib0"]}),
    "deviating": Host(deviates=True, deviations=["mlx5_0/1 is DOWN"]),
    "left_out": Host(True, {"all": ["not root"]}),
    "failed": Host(True, record=Record(False, FAILED, "Install the packages", "no space left")),
    "silent": Host(True),
    "unreachable": Host(True, {"all": ["unreachable"]}, Record(False, UNREACHABLE, "Look at the node", "Connection refused")),
    "untouched": Host(untouched=True),
}
PENDING = {"kind": "parameter", "subject": "ib_ipoib", "aspect": "send_queue_size", "before": "128", "after": "512", "needs": "driver_reload", "why": []}


def test_each_host_has_one_state() -> None:
    states = {name: state_of(host) for name, host in HOSTS.items()}
    assert states == {**{name: name for name in HOSTS}, "deviating": "partly", "silent": "failed"}
    assert set(states.values()) == set(STATES)
    for name, host in HOSTS.items():
        assert host.is_done == (states[name] == "done")


def test_the_totals_add_up() -> None:
    found = as_data(HOSTS, pending={}, about={"playbooks": ["rdma.ofed.site"]})
    totals = dict(found["totals"])
    assert totals.pop("hosts") == sum(totals[state] for state in STATES) == len(HOSTS)
    assert totals["changed"] == 1 and totals["partly"] == totals["failed"] == 2
    assert found["format"] == 1 and found["playbooks"] == ["rdma.ofed.site"]


def test_a_host_says_what_was_changed_what_waits_and_what_failed() -> None:
    hosts = json.loads(json.dumps(as_data(HOSTS, pending={"done": [PENDING]}, about={})))["hosts"]
    assert hosts["done"]["changes"] == ["edit file /etc/rdma.conf"]
    assert hosts["done"]["pending"] == [PENDING] and hosts["done"]["failure"] is None
    assert hosts["partly"]["left_out"] == {"ipoib": ["another file configures ib0"]}
    assert hosts["deviating"]["findings"] == ["mlx5_0/1 is DOWN"]
    assert hosts["failed"]["failure"] == {"task": "Install the packages", "message": "no space left"}
    assert hosts["unreachable"]["failure"]["message"] == "Connection refused"
