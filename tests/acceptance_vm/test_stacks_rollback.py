# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ansible reaches a node over IPoIB, through another node, and changes the very interface that it uses."""

from __future__ import annotations

import collections.abc
import json
import pathlib
import shlex
import subprocess
import time
import typing as t

import pytest
import yaml
from agent import Agent
from cluster import BIN, Cluster, environment
from common import ROOT
from proofs import REAL

SECONDS = 90
TIMER = "rdma-ofed-ipoib-rollback.timer"
NODES = {"node1": "systemd-networkd", "node2": "ifupdown", "node3": "networkmanager", "node4": "netplan"}
IB1 = {"name": "ib1", "mode": "datagram", "addresses": []}


def number(node: str) -> int:
    return int(node[-1])


def own(node: str, *addresses: str) -> list[dict[str, t.Any]]:
    return [{"name": "ib0", "mode": "datagram", "addresses": ["10.20.0.%d/24" % number(node), *addresses]}, IB1]


def elsewhere(node: str) -> list[dict[str, t.Any]]:
    """Return interfaces in an otherwise unused network."""
    return [{"name": "ib0", "mode": "datagram", "addresses": ["10.99.0.%d/24" % number(node)]}, IB1]


class Node(t.NamedTuple):
    """A node that is inspected over Ethernet and configured over IPoIB."""

    agent: Agent
    inventory: pathlib.Path

    def configure(self, timeout: int, interfaces: list[dict[str, t.Any]]) -> dict[str, t.Any]:
        """Return the final result of the task in Ansible."""
        arguments = json.dumps({"interfaces": interfaces, "rollback_timeout": timeout})
        argv = [str(BIN / "ansible"), "-i", str(self.inventory), "all", "-m", "rdma.ofed.ipoib", "-a", arguments]
        env = dict(environment(), ANSIBLE_LOAD_CALLBACK_PLUGINS="1", ANSIBLE_STDOUT_CALLBACK="ansible.posix.json")
        done = subprocess.run(argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=900, check=False)
        try:
            (result,) = json.loads(done.stdout)["plays"][0]["tasks"][0]["hosts"].values()
        except ValueError as exc:
            raise AssertionError(done.stdout + done.stderr) from exc
        found: dict[str, t.Any] = result
        return found


@pytest.fixture(scope="module")
def peer(stacks: Cluster) -> collections.abc.Iterator[Agent]:
    """Yield the node through which the connection passes."""
    with Agent(stacks.inventory, "node1") as agent:
        assert not agent.run({"interfaces": own("node1")}).result.get("failed")
        yield agent


@pytest.fixture(scope="module", params=["node2", "node3", "node4"], ids=lambda node: NODES[node])
def node(stacks: Cluster, peer: Agent, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Node]:
    name = request.param
    with Agent(stacks.inventory, name) as agent:
        done = agent.run({"interfaces": own(name, "10.20.5.%d/24" % number(name))})
        assert not done.result.get("failed"), done.result
        address = "10.20.0.%d" % number(name)
        options = shlex.join(["-o", "ProxyCommand=%s" % shlex.join([*peer.ssh, "-W", "%s:22" % address]), *peer.options])
        host = {"ansible_host": address, "ansible_port": 22, "ansible_user": "root", "ansible_ssh_common_args": options, **peer.variables}
        path = tmp_path_factory.mktemp(name) / "inventory.yml"
        path.write_text(yaml.safe_dump({"all": {"hosts": {"node": host}}}), encoding="utf-8")
        yield Node(agent, path)


def came_back(node: Node, before: dict[str, t.Any]) -> dict[str, t.Any]:
    """Wait for the timer to fire. Returns the differences from the state before."""
    end = time.monotonic() + SECONDS + 60
    while node.agent.timers() and time.monotonic() < end:
        time.sleep(2)
    return node.agent.settled(before)


@pytest.mark.proves("rollback", "ifupdown", "networkmanager", "netplan", debian12=REAL)
def test_what_would_cut_the_connection_is_refused(node: Node) -> None:
    before = node.agent.look()["snapshot"]
    result = node.configure(0, elsewhere(node.agent.node))
    assert result["failed"]
    assert "ib0 would lose 10.20.0.%d/24" % number(node.agent.node) in result["msg"]
    assert "run over another path, or set ipoib_rollback_timeout" in result["msg"]
    assert node.agent.settled(before) == {}


@pytest.mark.proves("rollback", "ifupdown", "networkmanager", "netplan", debian12=REAL)
def test_what_has_cut_the_connection_is_taken_back(node: Node) -> None:
    before = node.agent.look()["snapshot"]
    result = node.configure(SECONDS, elsewhere(node.agent.node))
    assert result.get("failed") or result.get("unreachable"), result
    assert "reverts it" in result["msg"], result
    assert came_back(node, before) == {}


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.proves("rollback", "ifupdown", "networkmanager", "netplan", debian12=REAL)
def test_a_run_that_was_killed_is_taken_back(node: Node, share: float) -> None:
    """No process is left to report anything; the module sees the connection over IPoIB."""
    before = node.agent.look()["snapshot"]
    over = "10.20.0.1 40000 10.20.0.%d 22" % number(node.agent.node)
    options = {"interfaces": elsewhere(node.agent.node), "rollback_timeout": 30}
    steps = node.agent.run(options, connection=over).steps
    armed = next(position for position, step in enumerate(steps, 1) if step.startswith("run systemd-run"))
    assert came_back(node, before) == {}
    done = node.agent.run(options, connection=over, kill_at=armed + max(1, int((len(steps) - armed) * share)))
    assert done.killed
    assert came_back(node, before) == {}


@pytest.mark.proves("rollback", "ifupdown", "networkmanager", "netplan", debian12=REAL)
def test_what_leaves_the_connection_alive_stays(node: Node) -> None:
    """The node loses another address, which might have carried the connection: the timer is armed, and stopped over a new connection."""
    result = node.configure(SECONDS, own(node.agent.node))
    assert result["changed"], result
    assert result["rollback"]["confirmed"], result
    assert node.agent.timers() == []
    after = node.agent.look()["snapshot"]
    assert after["links"]["ib0"]["addresses"] == ["10.20.0.%d/24" % number(node.agent.node)]
    assert not node.configure(0, own(node.agent.node))["changed"]
