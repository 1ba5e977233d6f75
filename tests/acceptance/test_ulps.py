# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Upper-layer protocols of the distribution's stack: enabled, unchanged, disabled, and removed with the stack."""

from __future__ import annotations

import collections.abc
import json
import typing as t

import pytest
import records
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

NODE = "node2"
LISTED = "/etc/modules-load.d/rdma-ofed-ulps.conf"
UNITS = ("ibacm.socket", "srp_daemon.service")
# Containers share a kernel, which lacks RDMA netlink unless ib_core is loaded.
WITHOUT_NETLINK = """set -e
mkdir -p /etc/systemd/system/ibacm.socket.d
printf '[Socket]\\nListenNetlink=\\nListenStream=/run/ibacm-unix.sock\\n' > /etc/systemd/system/ibacm.socket.d/lab.conf
systemctl daemon-reload"""


def declare(lab: Cluster, *arguments: str, **variables: t.Any) -> Run:
    return converge(lab, "--limit", NODE, "--tags", "ofed", "-e", json.dumps(variables), *arguments)


def made_as_predicted(lab: Cluster, **variables: t.Any) -> Run:
    predicted = declare(lab, "--check", "--diff", **variables)
    made = declare(lab, **variables)
    assert records.changes(made.events)
    assert records.differences(predicted.events, made.events) == []
    return made


def states(lab: Cluster, verb: str) -> list[str]:
    return [lab.shell(NODE, "systemctl %s %s" % (verb, unit)).stdout.strip() for unit in UNITS]


@pytest.fixture(name="node")
def restored(lab: Cluster) -> collections.abc.Iterator[Cluster]:
    assert lab.shell(NODE, WITHOUT_NETLINK).returncode == 0
    yield lab
    lab.shell(NODE, "rm -r /etc/systemd/system/ibacm.socket.d; systemctl daemon-reload")
    # The run ends with the check of the node.
    converge(lab, "--limit", NODE)


@pytest.mark.proves("ulps", debian12=REAL)
def test_protocols_are_turned_on_and_off_by_name_and_go_with_the_stack(node: Cluster) -> None:
    made_as_predicted(node, ofed_ulps=["ibacm", "srp"])
    assert states(node, "is-active") == ["active", "active"]
    assert states(node, "is-enabled") == ["enabled", "enabled"]
    assert node.shell(NODE, "grep -qx ib_srp %s && grep -q '^ib_srp ' /proc/modules" % LISTED).returncode == 0

    again = declare(node, ofed_ulps=["ibacm", "srp"])
    assert records.changes(again.events) == {}
    assert records.executions(again.events)[NODE].count("rdma.ofed.ulps") == 1

    made_as_predicted(node, ofed_ulps=["ibacm"])
    assert states(node, "is-active") == ["active", "inactive"]
    assert states(node, "is-enabled") == ["enabled", "disabled"]
    assert node.shell(NODE, "test -e %s" % LISTED).returncode == 1

    made_as_predicted(node)
    assert states(node, "is-enabled") == ["disabled", "disabled"]
    # No protocol is enabled, so the module is not run.
    assert "rdma.ofed.ulps" not in records.executions(declare(node).events)[NODE]

    # Enabled protocols are removed with the stack.
    declare(node, ofed_ulps=["srp"])
    made_as_predicted(node, ofed_ulps=["srp"], ofed_state="absent")
    assert node.shell(NODE, "dpkg --list srptools | grep -q ^ii || test -e %s || pgrep srp_daemon" % LISTED).returncode == 1
    assert records.changes(declare(node, ofed_ulps=["srp"], ofed_state="absent").events) == {}
