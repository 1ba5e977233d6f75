# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Typical wrong input of users: reported in full, before any change on any node."""

from __future__ import annotations

import collections.abc
import contextlib
import pathlib
import re
import typing as t

import pytest
import records
from cluster import Cluster, Run
from proofs import REAL

Edit = t.Callable[[t.Dict[str, t.Any]], None]


def hosts(inventory: dict[str, t.Any], group: str = "rdma") -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", inventory["all"]["children"][group]["hosts"])


def variables(node: str, **values: t.Any) -> Edit:
    return lambda inventory: hosts(inventory)[node].update(values)


def interface(node: str, **values: t.Any) -> Edit:
    return variables(node, ipoib_interfaces=[{"name": "ib0", "addresses": ["10.20.0.%s/24" % node[-1]], **values}])


def two_designated(inventory: dict[str, t.Any]) -> None:
    hosts(inventory, "opensm").update({"node1": {"opensm_rank": 1}, "node2": {"opensm_rank": 1}})


def no_manager(inventory: dict[str, t.Any]) -> None:
    inventory["all"]["children"]["opensm"]["hosts"] = {}


def outsider(inventory: dict[str, t.Any]) -> None:
    inventory["all"]["children"]["opensm"]["hosts"] = {"manager": {}}


# Inventories with an error on each host, and the variable and value that each message must name.
CASES = [
    pytest.param(
        (
            variables("node1", ipoib_interfaces=[{"name": "ib7"}]),
            interface("node2", mode="datagram", mtu=9000),
            interface("node3", mode="connected", mtu=70000),
            two_designated,
        ),
        {
            "node1": ("ipoib_interfaces[0].name", "ib7", "opensm_rank"),
            "node2": ("ipoib_interfaces[0].mtu", "9000"),
            "node3": ("ipoib_interfaces[0].mtu", "70000"),
        },
        id="unknown interface, MTUs, two hosts designated",
    ),
    pytest.param(
        (
            interface("node1", mode="connected"),
            variables("node2", ipoib_interfaces=[{"name": "ib0", "addresses": ["10.20.0.2"]}, {"parent": "ib0", "pkey": 0}]),
            variables("node3", opensm_priority=None, ofed_ulps=["srp", "sdp"]),
            no_manager,
        ),
        {
            "node1": ("ipoib_interfaces[0].mode", "connected", "opensm"),
            "node2": ("ipoib_interfaces[0].addresses[0]", "10.20.0.2", "ipoib_interfaces[1].pkey is '0x0000'"),
            "node3": ("opensm_priority", "not set", "ofed_ulps[1]", "'sdp'", "no supported kernel"),
        },
        id="connected mode where the port cannot, address, P_Key 0, null, protocol that is gone, no subnet manager",
    ),
    pytest.param(
        (
            variables("node1", rdma_ports=["mlx5_7"]),
            variables("node2", ipoib_interfaces=[{"name": "ib0"}, {"parent": "ib0", "pkey": 0x8000, "addresses": ["10.30.0.2/24"]}]),
            variables("node3", ipoip_interfaces=[]),
            outsider,
        ),
        {
            "node1": ("rdma_ports[0]", "mlx5_7", "manager", "rdma"),
            "node2": ("ipoib_interfaces[1].pkey", "0x8000"),
            "node3": ("ipoip_interfaces", "ipoib_interfaces"),
        },
        id="port without a number, P_Key 0x8000, slip in the prefix of a name, designated host outside of the group",
    ),
]

# For variables of each role, values of the wrong type.
WRONG_TYPES: dict[str, t.Any] = {
    "fabric": 7,
    "rdma_ports": 7,
    "ofed_state": 7,
    "ofed_extra_packages": 7,
    "ofed_ulps": 7,
    "kernel_modules_load": 7,
    "kernel_modules_options": 7,
    "ipoib_interfaces": 7,
    "ipoib_backend": 7,
    "opensm_rank": "first",
    "opensm_port": 7,
    "opensm_priority": "high",
    "opensm_wait_timeout": "long",
}


def told(run: Run, node: str) -> str:
    """Return the part of the list for all hosts that concerns one host."""
    found = []
    for line in run.output.splitlines():
        match = re.match(r"  (\S+): (.*)", line)
        if match:
            numbers = re.findall(r"([0-9]+)(?:-([0-9]+))?", match[1])
            if any(int(first) <= int(node[-1]) <= int(last or first) for first, last in numbers):
                found.append(match[2])
    return "; ".join(found)


def assert_refused(lab: Cluster, inventory: pathlib.Path, expected: t.Mapping[str, t.Iterable[str]]) -> None:
    """Check that one list for all hosts has these words about each of them, and that no host has changed."""
    run = lab.play("site", inventory=inventory)
    assert run.status != 0, run.output
    assert records.changes(run.events) == {}
    # Only inspection: no module that could change a host was started on any of them.
    assert {name for modules in records.executions(run.events).values() for name in modules} <= {"rdma.ofed.rdma_facts"}
    (failure,) = records.failures(run.events)
    for node, words in expected.items():
        assert [word for word in ("allowed", *words) if word not in told(run, node)] == [], run.output
    assert "invalid input, nothing was changed" in str(failure["msg"])
    assert "Traceback" not in run.output


@pytest.mark.quick
@pytest.mark.parametrize(("edits", "expected"), CASES)
@pytest.mark.proves("input", debian12=REAL)
def test_bad_input_is_refused_before_the_first_change(
    lab: Cluster, edited: t.Callable[[Edit], pathlib.Path], edits: tuple[Edit, ...], expected: dict[str, tuple[str, ...]]
) -> None:
    def edit(inventory: dict[str, t.Any]) -> None:
        for one in edits:
            one(inventory)

    assert_refused(lab, edited(edit), expected)


@pytest.mark.proves("input", debian12=REAL)
def test_values_of_a_wrong_type_are_all_named_at_once(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    words = ["%s is %r" % pair for pair in WRONG_TYPES.items()]
    assert_refused(lab, edited(variables("node2", **WRONG_TYPES)), {"node2": words})


@pytest.mark.proves("input", debian12=REAL)
def test_a_package_that_no_repository_has_leaves_that_node_out_and_no_other(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    inventory = edited(variables("node3", ofed_extra_packages=["rdma-no-such-package"]))
    run = lab.play("site", inventory=inventory)
    assert run.status != 0 and records.changes(run.events) == {}, run.output
    summary = " ".join(run.output.rpartition("Summary:")[2].split())
    assert "node3: left out of ofed: rdma-no-such-package can't be installed, and nothing was changed" in summary, run.output
    # The other hosts, and the host's own check, still get their turn.
    assert "2 of 3 hosts done" in summary and records.executions(run.events)["node1"].count("rdma.ofed.rdma_facts") == 2
    strict = lab.play("site", "-e", "rdma_strict=true", inventory=inventory)
    assert strict.status != 0 and "rdma_strict is set, and nothing was changed on any host" in strict.output, strict.output
    assert records.executions(strict.events)["node1"] == ["rdma.ofed.rdma_facts"]
    # Only the node that lacks a package was contacted for it.
    assert {host for host, modules in records.executions(run.events).items() if "rdma.ofed.packages" in modules} == {"node3"}
    predicted = lab.play("site", "--check", inventory=inventory)
    assert predicted.status != 0 and "rdma-no-such-package can't be installed" in " ".join(predicted.output.split()), predicted.output


@pytest.mark.proves("input", debian12=REAL)
def test_a_subnet_manager_that_can_not_be_installed_does_not_end_the_one_that_runs(lab: Cluster, edited: t.Callable[[Edit], pathlib.Path]) -> None:
    def edit(inventory: dict[str, t.Any]) -> None:
        inventory["all"]["children"]["opensm"]["hosts"] = {"node3": {}}

    pin = "/etc/apt/preferences.d/no-opensm"
    inventory = edited(edit)
    prepared = lab.shell("node3", "apt-get remove -qq -y opensm; printf 'Package: opensm\\nPin: release *\\nPin-Priority: -1\\n' >%s" % pin)
    assert prepared.returncode == 0, prepared.stdout + prepared.stderr
    try:
        run = lab.play("site", inventory=inventory)
        assert run.status != 0 and "node3" not in records.changes(run.events), run.output
        assert "node3: left out of opensm: opensm can't be installed, and nothing was changed" in " ".join(run.output.split()), run.output
        assert lab.shell("node1", "pgrep -x opensm").returncode == 0
        predicted = lab.play("site", "--check", inventory=inventory)
        assert predicted.status != 0 and "opensm can't be installed" in " ".join(predicted.output.split()), predicted.output
    finally:
        lab.shell("node3", "rm " + pin)


@contextlib.contextmanager
def os_release(lab: Cluster, node: str, identity: str) -> collections.abc.Iterator[None]:
    lab.shell(
        node, "cp --remove-destination $(readlink -f /etc/os-release) /etc/os-release.saved; rm /etc/os-release; printf '%s' > /etc/os-release" % identity
    )
    try:
        yield
    finally:
        lab.shell(node, "rm /etc/os-release; ln -s ../usr/lib/os-release /etc/os-release; rm /etc/os-release.saved")


@pytest.mark.proves("input", debian12=REAL)
def test_a_node_of_an_unsupported_distribution_is_left_out_before_the_first_change(lab: Cluster) -> None:
    with os_release(lab, "node2", "ID=plan9\\nVERSION_ID=4\\nNAME=Plan9\\n"):
        run = lab.play("site")
    assert run.status != 0 and records.changes(run.events) == {}
    (failure,) = records.failures(run.events)
    assert failure["host"] == "node2"
    assert [word for word in ("left out, and nothing was changed on it", "plan9", "allowed") if word not in failure["msg"]] == []
    assert records.executions(run.events)["node2"] == ["rdma.ofed.rdma_facts"]
    # The other hosts are inspected and, at the end, checked.
    assert records.executions(run.events)["node3"] == ["rdma.ofed.rdma_facts"] * 2
