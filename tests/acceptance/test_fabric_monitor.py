# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The monitor in a lab of its own: real systemd, real diagnostics and a real Slurm, with links that are cut."""

from __future__ import annotations

import collections.abc
import pathlib
import shutil
import subprocess
import time
import typing as t

import pytest
import tasks
from cluster import Cluster, environment
from proofs import REAL

LEAF1, SPARE = "S-0002c90300f00010", "H-0002c90300001040"
TEXTFILE = "/var/lib/prometheus/node-exporter/rdma_fabric.prom"
OWN = "find /usr/local/lib/rdma-ofed /etc/rdma-ofed /var/lib/rdma-ofed /etc/systemd/system/rdma-fabric-monitor.* /var/lib/prometheus -type f 2>/dev/null | sort"
PREPARE = """
apt-get install -y infiniband-diags opensm >/dev/null 2>&1
systemctl disable -q --now opensm
modprobe ib_umad
"""
MANAGER = "systemd-run -q --collect --unit sm opensm -g 0x2c90300001011 -p 10 -f /tmp/sm.log"
# The standby takes over after more than ten seconds without a master (opensm's default is 40 s), so that load on the machine does not trigger it.
STANDBY = """
set -e
printf 'sminfo_polling_timeout 1000\npolling_retry_number 10\n' >/tmp/standby.conf
systemd-run -q --collect --unit sm opensm -F /tmp/standby.conf -g $(ibstat -p | head -n 1) -p 5 -f /tmp/sm.log
"""
SLURM = """
set -e
mkdir -p /etc/slurm
cat >/etc/slurm/slurm.conf <<'EOF'
ClusterName=lab
SlurmctldHost=node1
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/lib/slurm/slurmd
HealthCheckProgram=/usr/local/lib/rdma-ofed/slurm-health-check
HealthCheckInterval=2
NodeName=node1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=INFINITE State=UP
EOF
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq -y --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null
printf '%064d' 0 >/etc/munge/munge.key
systemctl restart munge
systemctl restart slurmctld slurmd
"""
# The other nodes are only names: their hosts are never contacted.
TREE = """
set -e
cat >>/etc/slurm/slurm.conf <<'EOF'
TopologyPlugin=topology/tree
NodeName=node2 NodeAddr=192.0.2.2 CPUs=1 State=DOWN
NodeName=node3 NodeAddr=192.0.2.3 CPUs=1 State=DOWN
EOF
systemctl restart slurmctld
"""
# Take a new sample: the first start may only wait for a sample that the timer has begun. systemd limits the starts within ten seconds.
SAMPLE = (
    """
systemctl reset-failed rdma-fabric-monitor.service
systemctl start rdma-fabric-monitor.service && systemctl start rdma-fabric-monitor.service && cat %s
"""
    % TEXTFILE
)
# A sample queries a subnet manager that does not answer, so systemd ends it halfway. The sampler writes that it failed.
END_A_SAMPLE = """
systemctl stop rdma-fabric-monitor.timer
systemctl reset-failed rdma-fabric-monitor.service
systemctl start rdma-fabric-monitor.service
systemctl kill -s STOP sm
systemctl start --no-block rdma-fabric-monitor.service
timeout 120 sh -c 'until pgrep -x "sminfo|saquery"; do sleep 0.1; done'
ended=$?
systemctl stop rdma-fabric-monitor.service
systemctl kill -s CONT sm
exit $ended
"""


class Monitored:
    """The lab with a subnet manager on node1."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def console(self, line: str) -> None:
        answer = self.cluster.command("console", line)
        assert "not found" not in answer and "ibsim" not in answer.lower(), answer

    def shell(self, script: str, node: str = "node1") -> str:
        done = self.cluster.shell(node, script)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def wait_for(self, what: t.Callable[[], bool]) -> None:
        end = time.monotonic() + 180
        while not what():
            assert time.monotonic() < end
            time.sleep(0.5)

    def is_configured(self) -> bool:
        said = self.cluster.shell("node1", "ibnetdiscover").stdout
        return said.count(" lid ") > 10 and " lid 0" not in said

    def play(self, *arguments: str, playbook: str = "monitor") -> list[str]:
        """Run a playbook. Returns the collection's files on node1 and the tasks that changed something."""
        run = self.cluster.play(playbook, "--limit", "localhost,node1", *arguments)
        assert run.status == 0, run.output
        return [event["task"] for event in run.events if event.get("changed")]

    def sample(self) -> dict[str, float]:
        text = self.shell(SAMPLE)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, encoding="utf-8", check=False)
            assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        series = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
        return {name[len("rdma_fabric_") :]: float(value) for name, _blank, value in series}


@pytest.fixture(scope="module")
def monitored() -> collections.abc.Iterator[Monitored]:
    cluster = Cluster("rdma-monitor")
    try:
        cluster.command("up", "--topology", "leaves")
        made = Monitored(cluster)
        made.console('Unlink "%s"' % SPARE)
        made.shell(PREPARE)
        made.shell(MANAGER)
        made.wait_for(made.is_configured)
        yield made
    finally:
        cluster.command("down")


@pytest.mark.proves("monitoring", debian12=REAL)
def test_a_cut_link_is_in_the_next_sample(monitored: Monitored) -> None:
    assert monitored.play("--check", "--diff") != []
    assert monitored.shell(OWN) == ""
    assert monitored.play() != []
    assert monitored.play() == []
    assert monitored.shell("systemctl is-active rdma-fabric-monitor.timer").strip() == "active"
    found = monitored.sample()
    assert [found['%s{fabric="ib"}' % name] for name in ("sample_success", "sampled", "links", "master_changes_total")] == [1, 1, 7, 0], found
    assert len([name for name, value in found.items() if name.startswith("link_active{") and value]) == 7
    assert found['subnet_managers{fabric="ib",state="master"}'] == 1
    monitored.console('Unlink "%s"[5]' % LEAF1)
    found = monitored.sample()
    assert found['links{fabric="ib"}'] == 6 and not [name for name in found if 'node="leaf1"' in name and 'port="5"' in name and "link_" in name]
    monitored.console('ReLink "%s"[5]' % LEAF1)
    monitored.shell(END_A_SAMPLE)
    assert 'rdma_fabric_sample_success{fabric="ib"} 0\n' in monitored.shell("cat " + TEXTFILE)
    monitored.shell("systemctl start rdma-fabric-monitor.timer")
    assert monitored.sample()['sample_success{fabric="ib"}'] == 1


@pytest.mark.proves("monitoring", debian12=REAL)
def test_each_change_of_the_master_is_counted(monitored: Monitored) -> None:
    """The master is killed, a standby of lower priority takes over, and hands back when the first one returns."""

    def is_seen(changes: int, standbys: int) -> t.Callable[[], bool]:
        def seen() -> bool:
            found = monitored.sample()
            print(changes, standbys, {name: value for name, value in found.items() if name.startswith(("master_", "subnet_managers"))})
            counted = found['master_changes_total{fabric="ib"}'], found.get('subnet_managers{fabric="ib",state="standby"}', 0)
            return counted == (changes, standbys) and found['subnet_managers{fabric="ib",state="master"}'] == 1

        return seen

    monitored.shell(PREPARE + STANDBY, "node2")
    monitored.wait_for(is_seen(0, 1))
    assert monitored.sample()['master_change_timestamp_seconds{fabric="ib"}'] == 0
    monitored.shell("systemctl kill -s KILL sm")
    monitored.wait_for(is_seen(1, 0))
    found = monitored.sample()
    assert found['sampled{fabric="ib"}'] == 0, "the sampler of the master's host reads the fabric"
    assert 0 < found['master_change_timestamp_seconds{fabric="ib"}'] <= found['sample_timestamp_seconds{fabric="ib"}']
    monitored.shell(MANAGER)
    monitored.wait_for(is_seen(2, 1))
    monitored.shell("systemctl stop sm", "node2")
    monitored.wait_for(is_seen(2, 0))


@pytest.mark.proves("monitoring", debian12=REAL)
def test_slurm_drains_a_node_whose_link_is_cut_and_takes_it_back(monitored: Monitored) -> None:
    def state() -> str:
        return monitored.cluster.shell("node1", "scontrol show node node1 | grep -E 'State=|Reason='").stdout

    monitored.play("-e", '{"fabric_monitor_health_checks": ["slurm", "nhc"], "fabric_monitor_health_interfaces": []}')
    assert monitored.shell("/usr/local/lib/rdma-ofed/health-check") == ""
    monitored.shell(SLURM)
    monitored.wait_for(lambda: "State=IDLE " in state())
    monitored.console('Unlink "%s"[1]' % LEAF1)
    monitored.wait_for(lambda: "DRAIN" in state())
    assert "Reason=rdma.ofed health: " in state()
    monitored.console('ReLink "%s"[1]' % LEAF1)
    monitored.wait_for(lambda: "State=IDLE " in state())


@pytest.mark.proves("monitoring", debian12=REAL)
def test_slurm_takes_the_leaf_switches(monitored: Monitored, tmp_path: pathlib.Path) -> None:
    """slurmctld exits on an error in topology.conf or on an unknown node."""
    baseline = str(tmp_path / "ib.json")
    file = "{{ lookup('ansible.builtin.file', '%s') | rdma.ofed.slurm_topology(['node1', 'node2', 'node3']) }}" % baseline
    copied: tasks.Task = {"ansible.builtin.copy": {"content": file, "dest": "/etc/slurm/topology.conf", "mode": "0644"}}
    steps = [tasks.module("ib_fabric_check", baseline=baseline, save=True, gather=["subnet_managers"]), copied]
    for result in tasks.run(monitored.cluster.inventory, ["node1"], steps, environment=environment())["node1"]:
        assert result["changed"] and not result["failed"], result
    monitored.shell(TREE)
    monitored.wait_for(lambda: monitored.cluster.shell("node1", "scontrol ping").returncode == 0)
    rows = [dict(word.split("=", 1) for word in line.split()) for line in monitored.shell("scontrol show topology").splitlines()]
    assert [(row["SwitchName"], row["Level"], row["Nodes"]) for row in sorted(rows, key=lambda row: (row["Level"], row["SwitchName"]))] == [
        ("leaf1", "0", "node[1-2]"),
        ("leaf3", "0", "node3"),
        ("fabric", "1", "node[1-3]"),
    ]


@pytest.mark.proves("monitoring", "remove", debian12=REAL)
def test_it_goes_without_a_trace(monitored: Monitored) -> None:
    monitored.play("-e", "fabric_monitor_state=absent")
    assert monitored.shell(OWN) == ""
    assert monitored.play("-e", "fabric_monitor_state=absent") == []
