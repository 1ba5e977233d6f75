# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module ipoib is killed before each of its steps, on every network stack: the next run completes the change.

The four machines run in parallel. Each goes from one state to another and back, killed one step later each time, and then run undisturbed. Afterwards the node
must be in the same state as after an undisturbed run: interfaces, routes, all files of the network stack with their permissions, and the state that the stack
reports.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import os
import re
import typing as t

import pytest
from agent import Agent, Execution, difference
from cluster import Cluster
from proofs import REAL

NODES = {"node1": "systemd-networkd", "node2": "ifupdown", "node3": "networkmanager", "node4": "netplan"}

Options = t.Dict[str, t.Any]


def states(number: int) -> dict[str, Options]:
    """Return the declared states of a node, with its own addresses: all nodes are on one fabric."""
    ports = [
        {"name": "ib0", "mode": "connected", "addresses": ["10.20.0.%d/24" % number]},
        {"parent": "ib0", "pkey": 0x8001, "addresses": ["10.21.0.%d/24" % number]},
        {"name": "ib1", "mode": "datagram", "addresses": ["10.22.0.%d/24" % number]},
        {"name": "ib2", "mode": "datagram", "addresses": ["10.23.0.%d/24" % number]},
    ]
    bond = [
        {
            "name": "bond0",
            "mode": "datagram",
            "addresses": ["10.20.0.%d/24" % number, "fd00:20::%d/64" % number],
            "routes": [{"to": "10.30.0.0/16", "via": "10.20.0.254"}],
            "bond": {"ports": ["ib0", "ib1"], "primary": "ib0"},
        },
        {"parent": "ib0", "pkey": 0x8001, "mode": "datagram", "addresses": ["10.21.0.%d/24" % (number + 100)]},
        {"name": "ib2", "mode": "datagram", "addresses": ["10.23.0.%d/24" % (number + 100)]},
    ]
    return {"ports": {"interfaces": ports}, "bond": {"interfaces": bond}, "absent": {"state": "absent"}}


# Commands that do many things: they are also killed halfway.
LONG = re.compile(r"run (ifup|ifdown|netplan|nmcli --wait)\b")

# For a slow machine: test only every Nth step, from a given step.
STRIDE = int(os.environ.get("RDMA_INTERRUPT_STRIDE", "1"))
FIRST = int(os.environ.get("RDMA_INTERRUPT_FIRST", "1"))


class Walk:
    """One node and its transitions from state to state."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._states = states(int(agent.node[-1]))
        self._looks: dict[str, dict[str, t.Any]] = {}
        self._management = agent.look()["management"]
        self.faults: list[str] = []
        self.kills = 0

    def _say(self, text: str) -> None:
        print("%s: %s" % (self._agent.node, text), flush=True)

    def _fault(self, text: str) -> None:
        self._say("FAULT " + text)
        self.faults.append(text)

    def _check_management(self, when: str) -> None:
        """Check that the management interface has all that it had at the start, never lost any of it, and accepts new connections."""
        found = self._agent.look()["management"]
        lost = difference(self._management, found)
        if lost:
            self._fault("%s: the management connection: %s" % (when, lost))
            self._management = found
        if not self._agent.lets_in():
            self._fault("%s: no answer to a new connection" % when)

    def learn(self, *states: str) -> None:
        """Record the node's state after an undisturbed run of each state."""
        for state in states:
            self._run(state, "undisturbed")
            again = self._run(state, "undisturbed, again")
            if again.result.get("changed"):
                self._fault("%s, again: %s" % (state, again.result["changes"]))
            # Only after the second run: right after the first, a network stack may not have noticed all changes of its interfaces.
            self._looks[state] = self._agent.look()["snapshot"]
            self._say("%s: %s" % (state, self._looks[state]["links"]))
            self._check_management("%s, undisturbed" % state)

    def _judged(self, done: Execution, state: str, when: str) -> Execution:
        if not done.killed and done.result.get("failed"):
            self._fault("%s, %s: %s" % (state, when, done.result["msg"]))
        return done

    def _run(self, state: str, when: str) -> Execution:
        return self._judged(self._agent.run(self._states[state]), state, when)

    def back_and_forth(self, one: str, other: str, fine: bool = False) -> None:
        """Go from `one`, the current state, to `other` and back repeatedly, killed before each step in turn."""
        points = {one: FIRST, other: FIRST}
        killed = {one: 0, other: 0}
        open_ends = {one, other}
        while open_ends:
            for state in (other, one):
                done = self._agent.run(self._states[state], kill_at=points[state] if state in open_ends else 0, fine=fine)
                points[state] += STRIDE
                if done.killed:
                    killed[state] += 1
                    self._converge(state, "killed before '%s'" % done.steps[-1], done)
                else:
                    if state in open_ends and killed[state] < len(range(FIRST, len(done.steps) + 1, STRIDE)):
                        self._fault("%s: %d kills for %d steps" % (state, killed[state], len(done.steps)))
                    open_ends.discard(state)
                    self._converge(state, "undisturbed", done)

    def within_commands(self, one: str, other: str) -> None:
        """Kill the module halfway through a command that does many things, together with that command."""
        for state, back in ((other, one), (one, other)):
            whole = self._run(state, "undisturbed")
            for number, (step, duration) in enumerate(zip(whole.steps, whole.durations), 1):
                if LONG.match(step):
                    self._run(back, "undisturbed")
                    done = self._agent.run(self._states[state], within=number, delay=duration / 2)
                    self._converge(state, "killed within '%s'" % step, done)

    def _converge(self, state: str, when: str, done: Execution) -> None:
        self.kills += done.killed
        again = self._run(state, when) if done.killed else self._judged(done, state, when)
        left = self._agent.settled(self._looks[state])
        self._check_management("%s, %s" % (state, when))
        if left:
            self._fault("%s, %s: as it should be, and as it is: %s" % (state, when, left))
            third = self._run(state, when + ", third run")
            self._say("third run: %s" % third.result.get("changes"))
        self._say("%s, %s: killed after %.1f s, whole after %.1f s" % (state, when, done.seconds, again.seconds))


Walks = t.Dict[str, "concurrent.futures.Future[Walk]"]


def walked(lab: Cluster, way: t.Callable[[Walk], None], request: pytest.FixtureRequest) -> collections.abc.Iterator[Walks]:
    """Start all nodes with selected tests in parallel; each test waits for its own node."""
    wanted = {item.callspec.params["node"] for item in request.session.items if item.path == request.path and isinstance(item, pytest.Function)}

    def go(node: str) -> Walk:
        with Agent(lab.inventory, node) as agent:
            walk = Walk(agent)
            way(walk)
            return walk

    with concurrent.futures.ThreadPoolExecutor(len(NODES)) as pool:
        yield {node: pool.submit(go, node) for node in sorted(wanted)}


def between_ports_and_bond(walk: Walk) -> None:
    walk.learn("ports", "bond", "ports")
    walk.back_and_forth("ports", "bond")
    walk.within_commands("ports", "bond")


def between_ports_and_nothing(walk: Walk) -> None:
    # A node that was never configured differs: its interfaces have not joined a group yet.
    walk.learn("ports", "absent", "ports")
    walk.back_and_forth("ports", "absent")


@pytest.fixture(scope="module")
def to_bond(stacks: Cluster, request: pytest.FixtureRequest) -> collections.abc.Iterator[Walks]:
    yield from walked(stacks, between_ports_and_bond, request)


@pytest.fixture(scope="module")
def to_nothing(stacks: Cluster, request: pytest.FixtureRequest) -> collections.abc.Iterator[Walks]:
    yield from walked(stacks, between_ports_and_nothing, request)


@pytest.mark.parametrize("node", NODES, ids=list(NODES.values()))
@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", debian12=REAL)
@pytest.mark.proves("interruption", "bonds", debian12=REAL)
def test_a_run_that_is_killed_anywhere_is_made_good_by_the_next(to_bond: Walks, node: str) -> None:
    assert to_bond[node].result().faults == []


@pytest.mark.parametrize("node", NODES, ids=list(NODES.values()))
@pytest.mark.proves("networkd", "ifupdown", "networkmanager", "netplan", "interruption", "remove", debian12=REAL)
def test_a_removal_that_is_killed_anywhere_is_made_good_by_the_next(to_nothing: Walks, node: str) -> None:
    assert to_nothing[node].result().faults == []


@pytest.mark.parametrize("node", NODES, ids=list(NODES.values()))
def test_there_were_steps_to_be_killed_at(to_bond: Walks, to_nothing: Walks, node: str) -> None:
    assert to_bond[node].result().kills + to_nothing[node].result().kills > 20
