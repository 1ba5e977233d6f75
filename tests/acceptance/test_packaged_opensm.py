# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The distribution's opensm runs on both ports of a host but is declared for one, and one of other software runs on a host that should run none."""

from __future__ import annotations

import collections.abc
import pathlib
import typing as t

import pytest
import yaml
from cluster import Cluster
from conftest import converge
from proofs import REAL

NODE, RESTING = "node1", "node2"
# As a guide of a distribution describes it.
PARTITIONS = """\
Default=0x7fff, ipoib, rate=3, mtu=4, scope=2:
        mgid=ff12:401b::ffff:ffff       # IPv4 Broadcast address
        mgid=ff12:401b::1               # IPv4 All Hosts group
        ALL=full, ALL_SWITCHES=full;
ib0_2=0x0002, ipoib, rate=3, mtu=4, scope=2:
        mgid=ff12:401b::ffff:ffff       # IPv4 Broadcast address
        ALL=full, ALL_SWITCHES=full;
"""
SET_UP = """
set -e
apt-get -q -y install opensm infiniband-diags
modprobe ib_umad
systemctl restart opensm
for i in $(seq 1500); do test $(pgrep -xc opensm) = 2 && break; sleep 0.1; done
"""
STATE = "pgrep -ax opensm | sort -k3; ls -l /etc/systemd/system /etc/rdma-ofed 2>&1; systemctl is-enabled opensm; dpkg-query -W | md5sum; lsmod"
OTHERS = """
set -e
apt-get -q -y install opensm
printf '[Service]\\nExecStart=/usr/sbin/opensm -p 0 -f /tmp/site-sm.log -g 0x%s\\n' \
  $(cat /sys/class/infiniband/*/ports/1/gids/0 | head -n 1 | cut -d: -f5- | tr -d :) > /etc/systemd/system/site-sm.service
systemctl daemon-reload
systemctl stop 'opensm*' || true
systemctl start site-sm
"""


@pytest.fixture(scope="module")
def packaged() -> collections.abc.Iterator[Cluster]:
    cluster = Cluster("rdma-packaged")
    try:
        cluster.command("up", "--topology", "two-fabrics")
        done = cluster.shell(NODE, SET_UP)
        assert done.returncode == 0, done.stdout + done.stderr
        yield cluster
    finally:
        cluster.command("down")


def inventory(cluster: Cluster, folder: pathlib.Path, **variables: t.Any) -> pathlib.Path:
    """Return an inventory with only the first port of each host."""
    hosts = {host: {key: value for key, value in own.items() if key.startswith("ansible_")} for host, own in _hosts(cluster).items()}
    own = {host: {**variables, "rdma_ports": ["0000:03:00.0/1"]} for host, variables in hosts.items()}
    site = {"all": {"vars": {**_vars(cluster), **variables}, "children": {"rdma": {"hosts": own}, "opensm": {"hosts": {NODE: {}}}}}}
    path = folder / "inventory.yml"
    path.write_text(yaml.safe_dump(site), encoding="utf-8")
    return path


def _vars(cluster: Cluster) -> dict[str, t.Any]:
    found = (yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))["all"]).get("vars") or {}
    return {key: value for key, value in found.items() if key.startswith("ansible_")}


def _hosts(cluster: Cluster) -> dict[str, dict[str, t.Any]]:
    children = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))["all"]["children"]
    return {host: dict(own or {}) for host, own in children["rdma"]["hosts"].items()}


@pytest.mark.proves("adopted", debian12=REAL)
def test_one_on_a_port_of_no_declared_fabric_is_refused(packaged: Cluster, tmp_path: pathlib.Path) -> None:
    before = packaged.shell(NODE, STATE).stdout
    assert before.count("--guid") == 2, before
    second = packaged.shell(NODE, "ibstat -p | tail -n 1").stdout.strip()
    for arguments in ([], ["--check"]):
        run = packaged.play("site", *arguments, inventory=inventory(packaged, tmp_path))
        words = " ".join(run.output.split())
        assert run.status != 0 and "rdma_fabrics" in words and second in words and "Run this role on the designated host first" not in words, run.output
    # No further subnet manager was started or enabled.
    after = packaged.shell(NODE, STATE).stdout
    assert [line for line in after.splitlines() if "--guid" in line] == [line for line in before.splitlines() if "--guid" in line]
    assert "rdma-opensm" not in after


@pytest.mark.proves("adopted", debian12=REAL)
def test_partitions_with_groups_are_adopted_as_they_are(packaged: Cluster, tmp_path: pathlib.Path) -> None:
    second = packaged.shell(NODE, "ibstat -p | tail -n 1").stdout.strip()
    done = packaged.shell(NODE, "systemctl stop opensm@%s; cat > /etc/opensm/partitions.conf <<'END'\n%sEND\n" % (second, PARTITIONS))
    assert done.returncode == 0, done.stderr
    adopting = inventory(packaged, tmp_path, opensm_adopt=True)
    converge(packaged, "--tags", "ofed,kernel_modules,opensm", inventory=adopting)
    assert packaged.shell(NODE, "pgrep -xc opensm").stdout.strip() == "1"
    kept = packaged.shell(NODE, "cat /etc/rdma-ofed/opensm/*/partitions.conf").stdout
    assert PARTITIONS in kept
    log = packaged.shell(NODE, "cat /var/log/opensm/*/opensm.log").stdout
    assert "PARSE ERROR" not in log and "in error" not in log
    assert "0x8002" in packaged.shell(NODE, "cat /sys/class/infiniband/*/ports/1/pkeys/*").stdout
    again = converge(packaged, "--tags", "opensm", inventory=adopting)
    assert "changed=0" in again.output.split("PLAY RECAP")[1].split(NODE)[1].splitlines()[0], again.output


@pytest.mark.proves("adopted", debian12=REAL)
def test_partitions_that_opensm_refuses_are_a_finding(packaged: Cluster, tmp_path: pathlib.Path) -> None:
    """An edit of the file, which opensm rejects at the next sweep."""
    adopting = inventory(packaged, tmp_path, opensm_adopt=True)
    path = "/etc/rdma-ofed/opensm/*/partitions.conf"
    packaged.shell(
        NODE, "cp %s /root/kept; sed -i 's/^ib0_2=0x0002, ipoib, rate=3, mtu=4, scope=2:/ib0_2=0x0002/' %s; systemctl reload 'rdma-opensm@*'" % (path, path)
    )
    packaged.shell(NODE, "for i in $(seq 1500); do grep -q 'Partition configuration in error' /var/log/opensm/*/opensm.log && break; sleep 0.1; done")
    try:
        run = packaged.play("verify", inventory=adopting)
        words = " ".join(run.output.split())
        assert run.status != 0 and "refused by opensm" in words and "no partition definition found" in words, run.output
    finally:
        packaged.shell(NODE, "cp /root/kept %s; systemctl reload 'rdma-opensm@*'" % path)


@pytest.mark.proves("adopted", debian12=REAL)
def test_one_of_other_software_is_left_alone_and_named(packaged: Cluster, tmp_path: pathlib.Path) -> None:
    done = packaged.shell(RESTING, OTHERS)
    assert done.returncode == 0, done.stdout + done.stderr
    run = converge(packaged, "--tags", "opensm", inventory=inventory(packaged, tmp_path, opensm_adopt=True))
    words = " ".join(run.output.split())
    assert "unit site-sm.service" in words and "left alone" in words, run.output
    assert packaged.shell(RESTING, "systemctl is-active site-sm").stdout.strip() == "active"
