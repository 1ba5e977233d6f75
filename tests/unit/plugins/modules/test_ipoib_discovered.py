# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What was declared, applied, forgotten and discovered changes nothing when it is declared again: on every simulated network stack."""

from __future__ import annotations

import json
import pathlib
import random
import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._concern import Subject
from ansible_collections.rdma.ofed.plugins.module_utils._discovered import Reading, Reference
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._discovery import DISCOVERY, read
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._input import problems
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._look import seen
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._readers import Described
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode, encode
from support.ipoib_declared import STACKS, WANTED
from support.ipoib_node import FakeNode, wait_briefly, with_two_ports

ROUTES = [{"to": "10.30.0.0/16", "via": "10.20.0.254", "metric": 100}, {"to": "default", "via": "10.20.0.253"}, {"to": "10.31.0.0/16", "via": "10.20.0.253"}]


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    wait_briefly(monkeypatch, 0.2)


def discovered(node: FakeNode) -> Reading:
    """Return what the look of the node tells, after it has travelled."""
    look = seen(Node(t.cast("t.Any", node), "", {}, str(node.root)), DISCOVERY.hints or {})
    form = decode(Described, json.loads(json.dumps(encode(look))))
    return read(Subject("node1", found=form))


def resolved(reading: Reading) -> dict[str, t.Any]:
    """Return the variables with their references replaced, as ansible-core does."""
    known = {value.variable: value.value for value in reading.values}

    def plain(value: t.Any) -> t.Any:
        if isinstance(value, Reference):
            return known[value.variable]
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        return [plain(item) for item in value] if isinstance(value, list) else value

    return {name: plain(value) for name, value in known.items() if name.startswith("ipoib_")}


def again(node: FakeNode) -> dict[str, t.Any]:
    """Declare what was discovered, and return it."""
    reading = discovered(node)
    declared = resolved(reading)
    assert problems(declared) == [] and list(reading.left) == []
    done = node.call(check=True, interfaces=declared.get("ipoib_interfaces", []), backend=declared.get("ipoib_backend", "auto"))
    assert done["changes"] == [], declared
    return declared


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("case", WANTED)
def test_what_was_declared_once(tmp_path: pathlib.Path, stack: str, case: str) -> None:
    node = with_two_ports(tmp_path, stack)
    node.call(interfaces=WANTED[case])
    declared = again(node)["ipoib_interfaces"]
    bonds = [each for each in declared if "bond" in each]
    assert [each["name"] for each in bonds] == [each["name"] for each in WANTED[case] if "bond" in each]


def drawn(chance: random.Random) -> list[dict[str, t.Any]]:
    """Return a random declaration."""
    found: list[dict[str, t.Any]] = []
    for number in range(2):
        name = "ib%d" % number
        entry: dict[str, t.Any] = {"name": name, "mode": chance.choice(["datagram", "connected"]), "addresses": ["10.2%d.0.1/24" % number]}
        if number == 0 and chance.random() < 0.6:
            entry["routes"] = chance.sample(ROUTES, chance.randrange(1, 4))
        if chance.random() < 0.4:
            entry["mtu"] = chance.choice([2044, 1500] if entry["mode"] == "datagram" else [65520, 32000])
        if chance.random() < 0.4:
            entry["addresses"].append("fd00:2%d::1/64" % number)
        found.append(entry)
        if chance.random() < 0.4:
            found.append({"parent": name, "pkey": chance.choice([0x8001, 0x0003]), "mode": "datagram", "addresses": ["10.3%d.0.1/24" % number]})
    if chance.random() < 0.3:
        for entry in found:
            entry.pop("addresses", None)
            entry.pop("routes", None)
            if "name" in entry:
                entry.update(mode="datagram", mtu=2044)
        bond = {"ports": ["ib0", "ib1"], "miimon": chance.choice([50, 100]), **({"primary": "ib1"} if chance.random() < 0.5 else {})}
        found.append({"name": "bond0", "mtu": 2044, "addresses": ["10.20.0.1/24"], "routes": ROUTES, "bond": bond})
    return found


@pytest.mark.parametrize("stack", STACKS)
def test_random_declarations(tmp_path: pathlib.Path, stack: str) -> None:
    chance = random.Random(11)
    for number in range(25):
        node = with_two_ports(tmp_path / str(number), stack)
        node.call(interfaces=drawn(chance))
        again(node)


@pytest.mark.parametrize("stack", STACKS)
def test_bare_interfaces_are_not_declared(tmp_path: pathlib.Path, stack: str) -> None:
    assert again(with_two_ports(tmp_path, stack)) == {}
