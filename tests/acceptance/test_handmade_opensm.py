# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A subnet manager that an administrator configured by hand: routing, a limit of outstanding SMPs and a partition with its own MTU.

No setting is dropped silently: the run refuses it before the first change, until it is adopted, declared, given up, or left alone.
"""

from __future__ import annotations

import collections.abc
import pathlib
import time
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import converge
from proofs import REAL

NODE = "node1"
NODES = ("node1", "node2", "node3")
CONF = "routing_engine updn\nmax_wire_smps 16\n"
PARTITIONS = "Default=0x7fff, ipoib : ALL=full;\nstorage=0x8001, ipoib, mtu=5 : ALL=full;\n"
SET_UP = """
set -e
apt-get -q -y install opensm infiniband-diags
modprobe ib_umad
printf '%s' > /etc/opensm/opensm.conf
printf '%s' > /etc/opensm/partitions.conf
systemctl restart opensm
""" % (CONF.replace("\n", "\\n"), PARTITIONS.replace("\n", "\\n"))
# Everything that this role or another one could change.
STATE = """
find /etc /lib/systemd/system -xdev -type f -newer /etc/opensm/partitions.conf | sort
ls -l /etc/systemd/system /etc/modprobe.d /etc/rdma-ofed 2>&1
dpkg-query -W | md5sum
lsmod
pgrep -ax opensm
"""
GIVEN_UP = ["routing_engine", "max_wire_smps", "partition 0x8001"]


@pytest.fixture(scope="module")
def handmade() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster("rdma-handmade")
    try:
        cluster.command("up", "--topology", "3-nodes")
        done = cluster.shell(NODE, SET_UP)
        assert done.returncode == 0, done.stdout + done.stderr
        wait_for_partition(cluster)
        yield cluster
    finally:
        cluster.command("down")


def wait_for_partition(cluster: Cluster) -> None:
    done = cluster.shell(NODE, "for i in $(seq 2000); do grep -q 0x8001 /sys/class/infiniband/*/ports/1/pkeys/* && exit; sleep 0.1; done; exit 1")
    assert done.returncode == 0, done.stderr


def declared(cluster: Cluster, folder: pathlib.Path, **variables: t.Any) -> pathlib.Path:
    inventory = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))
    inventory["all"]["vars"] = {**(inventory["all"].get("vars") or {}), **variables}
    path = folder / "inventory.yml"
    path.write_text(yaml.safe_dump(inventory), encoding="utf-8")
    return path


def state(cluster: Cluster) -> dict[str, str]:
    return {node: cluster.shell(node, STATE).stdout for node in NODES}


def fabric(cluster: Cluster) -> dict[str, t.Any]:
    """Return the settings in effect on the fabric: partitions of the port, MTU of the group, routing in opensm's log."""
    pkeys = cluster.shell(NODE, "cat /sys/class/infiniband/*/ports/1/pkeys/*").stdout.split()
    groups = cluster.shell(NODE, "saquery -g").stdout
    mtu = [line.split(".")[-1].strip() for line in groups.split("ff12:401b:8001::ffff:ffff", 1)[-1].splitlines() if "Mtu." in line]
    conf = cluster.shell(NODE, "grep -E '^(routing_engine|max_wire_smps) ' /etc/rdma-ofed/opensm/ib/opensm.conf").stdout.split("\n")
    return {"storage": "0x8001" in pkeys, "mtu": mtu[0] if "ff12:401b:8001" in groups else "", "conf": sorted(filter(None, conf))}


def settled(cluster: Cluster, wanted: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Wait for the settings and return the last ones seen: opensm is master before the ports have their partitions."""
    for _try in range(120):
        found = fabric(cluster)
        if {name: found[name] for name in wanted} == wanted:
            break
        time.sleep(1)
    return found


def refused(run: Run) -> str:
    assert run.status != 0
    words = " ".join(run.output.split())
    for word in ("routing_engine: updn", "max_wire_smps: 16", "partition storage: 0x0001, mtu=5", "/etc/opensm/opensm.conf", "opensm_give_up", "opensm_adopt"):
        assert word in words, run.output
    return words


@pytest.mark.proves("adopted", debian12=REAL)
def test_its_settings_are_refused_before_the_first_change_on_any_host(handmade: Cluster) -> None:
    before = state(handmade)
    for arguments in (["--check"], []):
        refused(handmade.play("site", "-e", "rdma_strict=true", *arguments))
        assert state(handmade) == before
    # Otherwise that host is left out of the subnet manager tasks only.
    run = handmade.play("site", "--check")
    refused(run)
    changed = records.changes(run.events)
    assert {host for _play, _task, host in changed} == set(NODES), run.output
    assert not [task for _play, task, host in changed if host == NODE and "rdma.ofed.opensm" in task], run.output
    assert fabric(handmade) == {"storage": True, "mtu": "0x85", "conf": []}


@pytest.mark.proves("adopted", debian12=REAL)
def test_it_is_left_alone_where_it_is_not_ours_to_manage(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    before = handmade.shell(NODE, "pgrep -ax opensm; ls /etc/systemd/system | grep opensm; cat /etc/opensm/*").stdout
    converge(handmade, inventory=declared(handmade, tmp_path, opensm_state="unmanaged"))
    assert handmade.shell(NODE, "pgrep -ax opensm; ls /etc/systemd/system | grep opensm; cat /etc/opensm/*").stdout == before
    # Removal touches only what the record lists.
    converge(handmade, "--tags", "opensm", inventory=declared(handmade, tmp_path, opensm_state="absent"))
    assert handmade.shell(NODE, "pgrep -ax opensm; ls /etc/systemd/system | grep opensm; cat /etc/opensm/*").stdout == before
    handmade.shell(NODE, "systemctl stop opensm; systemctl stop 'opensm@*'")
    try:
        # The fabric is still queried for its master.
        run = handmade.play("verify", inventory=declared(handmade, tmp_path, opensm_state="unmanaged"))
        assert run.status != 0 and "one master on any host" in " ".join(run.output.split()), run.output
    finally:
        handmade.shell(NODE, "systemctl start opensm")
        wait_for_partition(handmade)


@pytest.mark.proves("adopted", debian12=REAL)
def test_what_is_adopted_stays(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    inventory = declared(handmade, tmp_path, opensm_adopt=True)
    converge(handmade, inventory=inventory)
    kept = {"storage": True, "mtu": "0x85", "conf": ["max_wire_smps 16", "routing_engine updn"]}
    assert settled(handmade, kept) == kept
    assert handmade.shell(NODE, "pgrep -ax opensm").stdout.count("\n") == 1
    again = converge(handmade, inventory=inventory)
    assert "changed=0" in again.output.split("PLAY RECAP")[1].split(NODE)[1].splitlines()[0]
    assert fabric(handmade) == kept


@pytest.mark.proves("adopted", debian12=REAL)
def test_what_was_adopted_goes_only_by_name(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    before = fabric(handmade)
    assert before["storage"]
    # The roles before it find nothing to change, so nothing has changed when the module refuses.
    assert handmade.play("site", "--tags", "opensm").status != 0
    assert fabric(handmade) == before
    converge(handmade, "--tags", "opensm", inventory=declared(handmade, tmp_path, opensm_give_up=GIVEN_UP))
    after = settled(handmade, {"storage": False, "mtu": ""})
    assert (after["storage"], after["mtu"]) == (False, "")
    assert "routing_engine updn" not in after["conf"]
    assert handmade.shell(NODE, "ls /etc/rdma-ofed/opensm/ib").stdout.split() == ["opensm.conf"]


@pytest.mark.proves("opensm_options", debian12=REAL)
def test_what_the_inventory_declared_and_has_lost_goes_only_by_name(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    declared_before = {"opensm_routing_engine": ["updn"], "opensm_options": {"max_wire_smps": 16}}
    converge(handmade, "--tags", "opensm", inventory=declared(handmade, tmp_path, **declared_before))
    before = state(handmade)
    less = declared(handmade, tmp_path, opensm_options={"max_wire_smps": 16})
    for arguments in (["--check"], []):
        run = handmade.play("site", *arguments, inventory=less)
        words = " ".join(run.output.split())
        assert run.status != 0 and "routing_engine (declared in an earlier run)" in words and "opensm_give_up: [routing_engine]" in words, run.output
        assert "max_wire_smps" not in words, run.output
        assert state(handmade) == before
    converge(handmade, "--tags", "opensm", inventory=declared(handmade, tmp_path, opensm_options={"max_wire_smps": 16}, opensm_give_up=["routing_engine"]))
    assert fabric(handmade)["conf"] == ["max_wire_smps 16", "routing_engine (null)"]
    # A setting is given up once; after it is gone, it need not be listed.
    assert "changed=0" in converge(handmade, "--tags", "opensm", inventory=less).output.split("PLAY RECAP")[1].split(NODE)[1].splitlines()[0]


@pytest.mark.proves("adopted", "remove", debian12=REAL)
def test_the_only_subnet_manager_is_removed_with_consent(handmade: Cluster, tmp_path: pathlib.Path) -> None:
    strict = ("-e", "rdma_strict=true")
    for arguments in (strict, ("--check",), ()):
        run = handmade.play("site", "--tags", "opensm", *arguments, inventory=declared(handmade, tmp_path, opensm_state="absent"))
        assert run.status != 0 and "rdma_allow_removal" in run.output, run.output
        assert not [host for _play, _task, host in records.changes(run.events) if host == NODE or arguments == strict], run.output
        assert arguments != strict or "PLAY [Install the stack" not in run.output, run.output
        assert handmade.shell(NODE, "pgrep -x opensm").returncode == 0
    converge(handmade, "--tags", "opensm", inventory=declared(handmade, tmp_path, opensm_state="absent", rdma_allow_removal=True))
    left = handmade.shell(
        NODE, "pgrep -x opensm; ls -d /etc/rdma-ofed/opensm /etc/systemd/system/*opensm* 2>/dev/null; dpkg-query -W -f '${Status}' opensm"
    ).stdout
    # The administrator installed the package.
    assert left == "install ok installed"
