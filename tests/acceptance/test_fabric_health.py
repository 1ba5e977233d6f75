# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The real diagnostics find the faults of a fabric, and nothing else."""

from __future__ import annotations

import collections.abc
import contextlib
import json
import pathlib
import time
import typing as t

import pytest
import tasks
from cluster import Cluster, environment
from proofs import REAL

LEAF1, LEAF2, LEAF3 = ("S-0002c90300f000%d0" % number for number in (1, 2, 3))
NODE3, SPARE = "H-0002c90300001030", "H-0002c90300001040"
# Switches of the simulator report no firmware version.
GATHER = ["subnet_managers", "partitions"]
GUIDS = {"node1": "0x2c90300001011", "node2": "0x2c90300001021"}
INTER = "leaf1 port %d - leaf2 port %d"
# Each test chooses the running subnet managers itself, without the unit of the package.
PREPARE = """
apt-get install -y infiniband-diags opensm >/dev/null 2>&1
systemctl disable -q --now opensm
modprobe ib_umad
"""


class Fabric:
    """The lab with a subnet manager on node1 and a baseline."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.inventory = cluster.inventory

    def console(self, *lines: str) -> None:
        for line in lines:
            answer = self.cluster.command("console", line)
            assert "not found" not in answer and "ibsim" not in answer.lower(), answer

    def shell(self, node: str, script: str) -> str:
        done = self.cluster.shell(node, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def manage(self, node: str, priority: int) -> None:
        self.shell(node, "systemd-run -q --collect --unit sm opensm -g %s -p %d -f /tmp/sm.log" % (GUIDS[node], priority))

    def wait_for(self, what: t.Callable[[], bool]) -> None:
        end = time.monotonic() + 120
        while not what():
            assert time.monotonic() < end
            time.sleep(0.5)

    def has_managers(self, count: int) -> bool:
        """Return whether the master knows that many subnet managers. A lost trap about one that started or stopped is made up for by a sweep."""
        if self.cluster.shell("node1", "saquery SMIR").stdout.count("SMInfoRecord dump") == count:
            return True
        self.shell("node1", "systemctl kill --signal=HUP sm")
        return False

    def lids(self) -> bool:
        """Return whether all ports have a LID."""
        said = self.cluster.shell("node1", "ibnetdiscover").stdout
        return said.count(" lid ") > 10 and " lid 0" not in said

    def run(self, *steps: tasks.Task) -> list[tasks.Result]:
        return tasks.run(self.inventory, ["node1"], steps, environment=environment())["node1"]

    def check(self, **options: t.Any) -> list[tuple[str, str]]:
        defaults = {"baseline": str(self.folder / "ib.json"), "subnet_managers": ["node1"], "hosts": ["node1", "node2", "node3"], "gather": GATHER}
        (result,) = self.run(tasks.module("ib_fabric_check", fail=False, **{**defaults, **options}))
        assert not result["failed"] and result["problems"] == [], result
        return [(each["code"], each["object"]) for each in result["findings"]]


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Fabric]:
    cluster = Cluster("rdma-health")
    try:
        cluster.command("up", "--topology", "leaves")
        made = Fabric(cluster, tmp_path_factory.mktemp("fabric"))
        made.console('Unlink "%s"' % SPARE)
        for node in GUIDS:
            made.shell(node, PREPARE)
        made.manage("node1", 10)
        made.wait_for(made.lids)
        (saved,) = made.run(tasks.module("ib_fabric_check", baseline=str(made.folder / "ib.json"), save=True, gather=GATHER))
        assert saved["changed"] and saved["findings"] == [], saved
        yield made
    finally:
        cluster.command("down")


Broken = t.Callable[[Fabric], "contextlib.AbstractContextManager[None]"]


def cabling(breaks: t.Sequence[str], mends: t.Sequence[str]) -> Broken:
    @contextlib.contextmanager
    def broken(fabric: Fabric) -> collections.abc.Iterator[None]:
        fabric.console(*breaks)
        try:
            yield
        finally:
            fabric.console(*mends)

    return broken


@contextlib.contextmanager
def second_manager(fabric: Fabric) -> collections.abc.Iterator[None]:
    fabric.manage("node2", 1)
    try:
        fabric.wait_for(lambda: fabric.has_managers(2))
        yield
    finally:
        fabric.shell("node2", "systemctl stop sm")
        fabric.wait_for(lambda: fabric.has_managers(1))


def link(one: str, port: int, other: str, there: int) -> str:
    return 'Link "%s"[%d] "%s"[%d]' % (one, port, other, there)


PULL = ['Unlink "%s"[%d]' % (LEAF1, port) for port in (5, 6)]
FAULTS: dict[str, tuple[Broken, list[tuple[str, str]]]] = {
    "a pulled cable": (cabling(PULL[:1], ['ReLink "%s"[5]' % LEAF1]), [("link_lost", INTER % (5, 5))]),
    "swapped cables": (
        cabling([*PULL, link(LEAF1, 5, LEAF2, 6), link(LEAF1, 6, LEAF2, 5)], [*PULL, link(LEAF1, 5, LEAF2, 5), link(LEAF1, 6, LEAF2, 6)]),
        [("links_swapped", "%s and %s" % (INTER % (5, 5), INTER % (6, 6)))],
    ),
    "a second subnet manager": (second_manager, [("unexpected_manager", "node2")]),
    "a lost switch": (cabling(['Unlink "%s"' % LEAF3], ['ReLink "%s"' % LEAF3]), [("node_lost", "leaf3")]),
    "a swapped card": (
        cabling(
            ['Guid "%s" 0x2c90300009990' % NODE3, 'Guid "%s"[1] 0x2c90300009991' % NODE3],
            ['Guid "%s" 0x2c90300001030' % NODE3, 'Guid "%s"[1] 0x2c90300001031' % NODE3],
        ),
        [("node_replaced", "node3")],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.proves("fabric", debian12=REAL)
def test_a_fault_is_found_and_nothing_else(fabric: Fabric, name: str) -> None:
    broken, codes = FAULTS[name]
    with broken(fabric):
        assert fabric.check() == codes


@pytest.mark.proves("fabric", debian12=REAL)
def test_two_faults_at_once_are_two_findings(fabric: Fabric) -> None:
    names = ("a pulled cable", "a second subnet manager")
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(FAULTS[name][0](fabric))
        assert sorted(fabric.check()) == sorted(code for name in names for code in FAULTS[name][1])


@pytest.mark.proves("fabric", debian12=REAL)
def test_firmware_that_differs_is_found_and_nothing_else(fabric: Fabric) -> None:
    path = "/sys/bus/pci/devices/0000:03:00.0/infiniband/*/fw_ver"
    shown = "for i in $(seq 600); do grep -qx %%s %s && exit; sleep 0.2; done; cat %s; exit 1" % (path, path)
    usual = fabric.shell("node2", "cat " + path).strip()
    arguments = ["-e", "fabric_baseline=", "-e", "fabric_report_dir=%s" % fabric.folder, "-e", "fabric_adapters=true", "-e", "fabric=firmware"]
    try:
        fabric.shell("node2", "cxemu-ctl 0000:03:00.0 set running=16.20.1010; " + shown % "16.20.1010")
        run = fabric.cluster.play("fabric", *arguments)
    finally:
        fabric.shell("node2", "cxemu-ctl 0000:03:00.0 set running=%s; %s" % (usual, shown % usual))
    # The finding is a warning.
    assert run.status == 0, run.output
    report = json.loads((fabric.folder / "firmware-findings.json").read_text(encoding="utf-8"))
    assert [(each["code"], each["object"], each["found"]) for each in report["findings"]] == [("firmware_differs", "node2", "16.20.1010")]


@pytest.mark.parametrize(("setting", "slow", "full"), [("espeed", 3, 7), ("width", 1, 15)], ids=["half speed", "one lane"])
@pytest.mark.proves("fabric", debian12=REAL)
def test_a_slow_link_is_found_and_nothing_else(fabric: Fabric, setting: str, slow: int, full: int) -> None:
    enable = "ibportstate -D 0,1 6 %s %%d" % setting
    # A sweep of the subnet manager resets the setting.
    fabric.shell("node1", "systemctl kill -s STOP sm")
    try:
        fabric.shell("node1", enable % slow)
        assert fabric.check(gather=[]) == [("link_degraded", INTER % (6, 6))]
        fabric.shell("node1", enable % full)
        assert fabric.check(gather=[]) == []
    finally:
        fabric.shell("node1", "systemctl kill -s CONT sm")


@pytest.mark.proves("fabric", debian12=REAL)
def test_two_nodes_of_one_name(fabric: Fabric) -> None:
    with cabling(['ReLink "%s"' % SPARE], ['Unlink "%s"' % SPARE])(fabric):
        # With the baseline, the new node would be a finding too.
        assert fabric.check(baseline="") == [("duplicate_name", "node2")]


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("fabric_host=node99", "fabric_host is node99; allowed"),
        ("fabric_baseline=/nowhere/ib.json", "/nowhere/ib.json, and there is no such file"),
        ("fabric_basline=ib.json", "fabric_baseline"),
        ("fabric_save_baseline=perhaps", "fabric_save_baseline is 'perhaps'; allowed: true or false"),
    ],
)
@pytest.mark.proves("fabric", debian12=REAL)
def test_a_look_at_nothing_is_refused(fabric: Fabric, argument: str, said: str) -> None:
    """Ansible reports success for a play without hosts."""
    run = fabric.cluster.play("fabric", "-e", argument)
    assert run.status != 0 and said in " ".join(run.output.split()), run.output
    assert "PLAY [Judge the fabric]" not in run.output, run.output


@pytest.mark.proves("fabric", debian12=REAL)
def test_what_was_mended_is_clean_and_the_playbook_says_so(fabric: Fabric) -> None:
    path = fabric.folder / "ib.json"
    arguments = ["-e", "fabric_baseline=%s" % path, "-e", "fabric_report_dir=%s" % fabric.folder, "-e", "fabric_adapters=true"]
    clean = fabric.cluster.play("fabric", *arguments)
    assert clean.status == 0 and "No findings." in clean.output and "TASK [Look at the adapters]" in clean.output, clean.output
    assert "Compared with the baseline %s" % path in clean.output
    # No tasks of hosts that are not asked follow the verdict.
    assert clean.output.count("PLAY [Judge the fabric]") == 1, clean.output
    with cabling(PULL[:1], ['ReLink "%s"[5]' % LEAF1])(fabric):
        run = fabric.cluster.play("fabric", *arguments)
    assert run.status == 2 and "link_lost" in run.output and INTER % (5, 5) in run.output, run.output
    # The table is printed once, in readable form.
    assert run.output.count("Next steps:") == 1 and '"findings"' not in run.output, run.output
    report = json.loads((fabric.folder / "ib-findings.json").read_text(encoding="utf-8"))
    assert [each["code"] for each in report["findings"]] == ["link_lost"]
    assert "fabric.link_lost" in (fabric.folder / "ib-findings.xml").read_text(encoding="utf-8")
    assert [run["error"] for run in report["history"]] == [0, 1]
    assert '"code":"link_lost"' in (fabric.folder / "ib-findings.html").read_text(encoding="utf-8")


@pytest.mark.proves("fabric", debian12=REAL)
def test_symbol_errors_that_rise(fabric: Fabric) -> None:
    fabric.wait_for(fabric.lids)
    counters = tasks.module("ib_counters", sample_file="/root/counters.json")
    (first,) = fabric.run(counters)
    fabric.console('PerformanceSet "%s"[6] PortCounters.SymbolErrorCounter=100' % LEAF1)
    second, third, named = fabric.run(counters, counters, tasks.module("ib_counters", hosts=["leaf1"], ports=[6]))
    fabric.console('PerformanceSet "%s"[6] PortCounters.SymbolErrorCounter=0' % LEAF1)
    for result in (first, second, third, named):
        assert not result["failed"] and result["problems"] == [] and result["ports_read"], result
    assert [[(each["code"], each["object"], each["found"]) for each in result["findings"]] for result in (first, second, third, named)] == [
        [],
        [("symbol_errors", "leaf1 port 6", 100)],
        [],
        [("symbol_errors", "leaf1 port 6", 100)],
    ]


@pytest.mark.proves("fabric", debian12=REAL)
def test_a_port_is_switched_off_and_a_needed_one_is_not(fabric: Fabric) -> None:
    """This test comes last: a port of the simulator that was disabled does not train its link again."""

    def port(check: bool = False, **options: t.Any) -> tasks.Task:
        return tasks.module("ib_port", check=check, **options)

    foreseen, off, again, own = fabric.run(
        port(check=True, node="node3", state="disabled"),
        port(node="node3", state="disabled"),
        port(node="leaf3", number=3, state="disabled"),
        port(node="node1", state="disabled"),
    )
    assert not foreseen["failed"] and foreseen["changes"] == ["leaf3 port 3 state: enabled -> disabled"], foreseen.get("msg")
    assert off["changed"] and off["changes"] == foreseen["changes"], off
    assert (off["before"]["phys_state"], off["after"]["phys_state"]) == ("LinkUp", "Disabled"), off
    assert not again["failed"] and not again["changed"], again
    assert own["failed"] and own["refused"] and "it is the subnet manager" in own["msg"], own
    assert ("link_lost", "leaf3 port 3 - node3 port 1") in fabric.check(gather=[]) or ("node_lost", "node3") in fabric.check(gather=[])
    foreseen, on = fabric.run(*(port(check=check, node="leaf3", number=3, state="enabled") for check in (True, False)))
    assert foreseen["changes"] == on["changes"] == ["leaf3 port 3 state: disabled -> enabled"], (foreseen, on)
    assert on["after"]["phys_state"] != "Disabled", on


@pytest.mark.proves("fabric", debian12=REAL)
def test_a_host_without_a_link_says_that_it_sees_nothing(fabric: Fabric) -> None:
    """The diagnostics of the host list only its own port, which looks like a fabric that changes during the scan."""
    fabric.cluster.command("fault", "link", "node1", "down")
    try:
        run = fabric.cluster.play("fabric")
    finally:
        fabric.cluster.command("fault", "link", "node1", "up")
    said = " ".join(run.output.split())
    assert run.status == 2 and "this host does not see the fabric: its port" in said and "Check its cable" in said, run.output
    fabric.wait_for(fabric.lids)
