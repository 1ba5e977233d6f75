# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A running cluster whose nodes were each set up by hand in another way is described, taken over at once, changed, and given back.

The tests depend on their order in the file.
"""

from __future__ import annotations

import collections.abc
import os
import pathlib
import re
import typing as t

import handmade
import pytest
import records
import yaml
from cluster import Cluster, Run
from handmade import NODES
from proofs import LOOK_ALIKE, REAL

PREFIX = "rdma-adopt"
ADOPT = ("-e", "ipoib_adopt=true", "-e", "kernel_modules_adopt=true", "-e", "opensm_adopt=true")
REMOVE = ("-e", "rdma_remove=true", "-e", "rdma_restore=true")
NAMES = "/etc/rdma/ib-node-name-map"
_UNITS = "/etc/systemd/system/"
_OPENSM = "/etc/rdma-ofed/opensm/"
# What the collection has of its own from then on, and what it takes out of files of others, by host: exactly what check mode shows.
MANAGING = {
    *(_OPENSM + name for name in ("record", "ib/declared-keys", "ib/opensm.conf", "ib/partitions.conf")),
    "/etc/logrotate.d/rdma-opensm",
    _UNITS + "rdma-opensm@.service",
    NAMES,
    # Units that are stopped, started, enabled and masked.
    "settings",
}
RESTING = {_OPENSM + "record", "settings"}
OPTIONS = "/etc/modprobe.d/rdma-ofed.conf"
NETWORKD = "/etc/systemd/network/50-rdma-ib0.network"
PREFERENCES = "/etc/apt/preferences.d/rdma-ofed-installed.pref"
OWNED = {
    "node1": {OPTIONS, NETWORKD, *MANAGING},
    "node2": {OPTIONS, NETWORKD, *RESTING},
    "node3": {OPTIONS, "/etc/netplan/90-rdma-ofed.yaml", *RESTING},
    "node4": {OPTIONS, "/etc/network/interfaces.d/rdma-ib0", "/etc/network/interfaces.d/rdma-ib0-8001", *RESTING},
    # Updates of the system replace no package of the vendor's stack.
    "node5": {OPTIONS, NETWORKD, PREFERENCES, *MANAGING},
}
TAKEN = {
    "node1": {"/etc/modprobe.d/ipoib-queues.conf", "/etc/modules-load.d/infiniband.conf", "/etc/systemd/network/20-ib0.network"},
    "node2": {"/etc/modprobe.d/ipoib.conf", "/etc/modules-load.d/ipoib.conf", "/etc/systemd/network/10-storage.network"},
    "node3": {"/etc/modprobe.d/site.conf", "/etc/modules", "/etc/netplan/10-site.yaml"},
    "node4": {"/etc/modprobe.d/ib.conf", "/etc/modules-load.d/ib.conf", "/etc/network/interfaces"},
    # The vendor's packages bring the first of them.
    "node5": {"/etc/modprobe.d/ib_ipoib.conf", "/etc/modprobe.d/site.conf", "/etc/systemd/network/ib.network"},
}
# Where networkd configures the interface, also for netplan.
BY_NETWORKD = ("node1", "node2", "node3", "node5")
# What node4 has on the P_Key of the partition `storage`: the index tells whether it was made again.
CHILD = "cat /sys/class/net/ib0.8001/ifindex; ip -brief address show ib0.8001"


class Site(t.NamedTuple):
    cluster: Cluster
    names: pathlib.Path
    """The inventory that says how to reach the hosts, and nothing else."""
    found: pathlib.Path
    """The folder that the discovery writes."""
    before: dict[str, dict[str, str]]
    """The files of each node as they were made by hand."""

    def play(self, playbook: str, *arguments: str) -> Run:
        return self.cluster.play(playbook, "-i", str(self.found), *arguments, inventory=self.names)

    def succeeds(self, playbook: str, *arguments: str) -> Run:
        run = self.play(playbook, *arguments)
        assert run.status == 0, run.output
        return run

    def now(self) -> dict[str, dict[str, str]]:
        return {node: handmade.state(self.cluster, node) for node in NODES}


def _inventory(path: pathlib.Path, hosts: t.Mapping[str, t.Any], **variables: t.Any) -> pathlib.Path:
    path.write_text(yaml.safe_dump({"all": {"vars": variables, "children": {"rdma": {"hosts": dict(hosts)}}}}), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    cluster, folder, made = Cluster(PREFIX), tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("stacks")
    handmade.build_stacks(made)
    try:
        cluster.command("up", "--topology", "handmade")
        handmade.set_up(cluster, made)
        lab = yaml.safe_load(cluster.inventory.read_text(encoding="utf-8"))["all"]
        hosts = {host: {"ansible_host": own["ansible_host"]} for host, own in lab["children"]["rdma"]["hosts"].items()}
        yield Site(
            cluster,
            names=_inventory(folder / "names.yml", hosts, **lab["vars"]),
            found=folder / "found",
            before={node: handmade.state(cluster, node) for node in NODES},
        )
    finally:
        if not os.environ.get("RDMA_KEEP"):
            cluster.command("down")


def shown(run: Run) -> dict[str, set[str]]:
    """Return the paths in the diffs of a run, by host. The diff of a task comes before the line that says that the host changed."""
    found: dict[str, set[str]] = {node: set() for node in NODES}
    paths: set[str] = set()
    for match in re.finditer(r"^(?:\+\+\+ after: (\S+)|changed: \[(\S+)\])", run.output, re.MULTILINE):
        if match[1]:
            paths.add(match[1])
        else:
            found[match[2]] |= paths
            paths = set()
    return found


def differ(before: t.Mapping[str, str], after: t.Mapping[str, str]) -> set[str]:
    return {path for path in {*before, *after} if before.get(path) != after.get(path)}


@pytest.mark.long
@pytest.mark.proves("discovered", debian12=REAL)
def test_the_discovery_declares_what_it_can_and_names_the_rest(site: Site) -> None:
    run = site.cluster.play("discover", "-e", "discover_output=%s" % site.found, inventory=site.names)
    assert run.status == 0 and not records.changes(run.events), run.output
    assert site.now() == site.before
    found = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in site.found.glob("*_vars/*.yml")}
    queues = {"recv_queue_size": 512, "send_queue_size": 512}
    assert found["rdma"]["kernel_modules_options"] == {"ib_ipoib": queues}
    assert found["rdma"]["kernel_modules_memlock"] == "keep"
    parent, child = found["node4"]["ipoib_interfaces"]
    assert (parent["name"], child["parent"], child["pkey"], found["node4"]["found_ib0_8001_address"]) == ("ib0", "ib0", "0x8001", "10.21.0.4/24")
    assert [found[node]["found_ib0_address"] for node in NODES] == ["10.20.0.%d/24" % number for number in range(1, 6)]
    routes = [{"to": "10.30.0.0/16", "via": "10.20.0.254"}]
    assert [found[node]["ipoib_interfaces"][0].get("routes") for node in NODES] == [None, routes, None, routes, None]
    assert (found["node5"]["ofed_source"], found["node5"]["ofed_version"]) == ("mlnx_ofed", handmade.VERSION)
    managing = {key: found["opensm"][key] for key in ("opensm_routing_engine", "opensm_options", "opensm_priority", "opensm_standby")}
    assert managing == {"opensm_routing_engine": ["updn"], "opensm_options": {"max_wire_smps": 16}, "opensm_priority": 10, "opensm_standby": True}
    (storage,) = (entry for entry in found["opensm"]["opensm_partitions"] if entry["name"] == "storage")
    assert (storage["mtu"], storage["members"]) == (4096, [{"keyword": "ALL", "membership": "limited"}, {"host": "node1"}, {"host": "node2"}])
    report = (site.found / "report.txt").read_text(encoding="utf-8")
    assert "Dangerous" not in report, report
    for words in (
        "node1: limits of locked memory: /etc/security/limits.d/90-rdma.conf line 1",
        "node5: source of mlnx_ofed %s: the node does not tell where it was installed from. It stays as it is; before packages" % handmade.VERSION,
        *("%s: %s, which configures ib0" % (node, path) for node, paths in TAKEN.items() for path in paths if "net" in path),
    ):
        assert words in report, report


@pytest.fixture(scope="module")
def predicted(site: Site) -> Run:
    return site.succeeds("site", "--check", "--diff", *ADOPT)


@pytest.mark.long
@pytest.mark.proves("check_mode", debian12=REAL)
def test_check_mode_shows_changes_of_ownership_only(site: Site, predicted: Run) -> None:
    assert site.now() == site.before
    assert shown(predicted) == {node: OWNED[node] | TAKEN[node] for node in NODES}, predicted.output
    # An interface is as declared, so none of its settings change: "settings" above are those of units.
    assert not re.search(r"^[-+]ib0 ", predicted.output, re.MULTILINE), predicted.output


@pytest.mark.long
@pytest.mark.proves("handmade", "adopted", debian12=REAL)
@pytest.mark.proves("mlnx_ofed", debian12=LOOK_ALIKE)
def test_the_cluster_is_taken_over_at_work(site: Site, predicted: Run) -> None:
    """Connections go on, no port goes down, no LID changes, and no other host becomes master."""
    for node in NODES:
        handmade.watch(site.cluster, node)
    child = site.cluster.shell("node4", CHILD).stdout
    assert "10.21.0.4/24" in child
    run = site.play("site", *ADOPT)
    measured = {node: handmade.seen(site.cluster, node) for node in NODES}
    masters = handmade.masters(site.cluster)
    assert run.status == 0, run.output
    assert records.differences(predicted.events, run.events) == []
    assert site.cluster.shell("node4", CHILD).stdout == child
    for node, own in measured.items():
        assert own.stream, node
        assert own.links == "", (node, own.links)
        assert len(own.ports) == 1 and "ACTIVE" in own.ports[0], (node, own.ports)
        assert own.sent > 100, (node, own)
        # networkd removes an address and adds it again, once. Meanwhile, a ping leaves by the default route, and has no answer. On an idle node, that takes
        # less than a millisecond. How many pings fall into it depends on the load of the node, so what counts is that there is one such gap, and no other loss.
        assert len(own.gaps) == (1 if node in BY_NETWORKD else 0), (node, own.gaps)
        assert len(own.lost) <= len(own.gaps), (node, own)
    # The subnet manager of node1 is replaced by one on the same port. In between, a poll finds none, or one that is still discovering the fabric.
    here = hex(int(handmade.MANAGER_GUID, 16))
    assert masters[0] == masters[-1] == "%s SMINFO_MASTER" % here, masters
    assert {each.split(" ")[0] for each in masters} <= {here, ""}, masters
    # Not at any time between two polls either: the standby never took over, and node1 became master once by hand and once after that.
    entered = "cat /var/log/opensm*.log /var/log/opensm/*/opensm.log 2>/dev/null | grep -c 'Entering MASTER state'"
    assert [site.cluster.shell(node, entered).stdout.strip() for node in ("node1", "node5")] == ["2", "0"]
    handmade.wait_for_fabric(site.cluster)


@pytest.mark.long
@pytest.mark.proves("handmade", "adopted", debian12=REAL)
def test_nothing_else_has_changed(site: Site) -> None:
    now = site.now()
    for node in NODES:
        changed = {path for path in differ(site.before[node], now[node]) if not path.startswith((_UNITS, "/etc/rc"))}
        assert changed == {path for path in OWNED[node] | TAKEN[node] if path.startswith("/etc/") and not path.startswith(_UNITS)}, node
        gone = {path for path in TAKEN[node] if path in site.before[node] and path not in now[node]}
        kept = handmade.state(site.cluster, node, "/var/backups/rdma-ofed/etc")
        assert {path: kept["/var/backups/rdma-ofed" + path] for path in TAKEN[node]} == {path: site.before[node][path] for path in TAKEN[node]}, node
        assert gone, node
    assert "192.0.2.3/24" in site.cluster.shell("node3", "ip -brief address show office").stdout


@pytest.mark.long
@pytest.mark.proves("unchanged", "verify", debian12=REAL)
def test_the_second_run_changes_nothing_and_verify_is_green(site: Site) -> None:
    before = site.now()
    run = site.succeeds("site", *ADOPT)
    assert records.changes(run.events) == {}
    site.succeeds("verify", *ADOPT)
    assert site.now() == before


@pytest.mark.long
@pytest.mark.proves("handmade", debian12=REAL)
def test_one_value_is_changed_and_nothing_else(site: Site) -> None:
    path = site.found / "host_vars/node2.yml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("10.20.0.2/24", "10.20.0.22/24"), encoding="utf-8")
    run = site.succeeds("site", "--diff", *ADOPT)
    assert shown(run) == {**{node: set() for node in NODES}, "node2": {NETWORKD, "settings"}}, run.output
    assert "10.20.0.22/24" in site.cluster.shell("node2", "ip -brief address show ib0").stdout
    path.write_text(text, encoding="utf-8")


@pytest.mark.long
@pytest.mark.proves("remove", "handmade", "adopted", debian12=REAL)
def test_the_cluster_is_given_back(site: Site) -> None:
    predicted = site.succeeds("remove", "--check", *REMOVE)
    run = site.succeeds("remove", *REMOVE)
    assert records.differences(predicted.events, run.events) == []
    handmade.wait_for_fabric(site.cluster)
    now = site.now()
    for node in NODES:
        left = differ(site.before[node], now[node])
        # The stack stays, and its packages stay protected.
        assert left == ({PREFERENCES} if node == "node5" else set()), (node, left)
        assert "10.20.0.%s/24" % node[-1] in site.cluster.shell(node, "ip -brief address show ib0").stdout
    assert "10.21.0.4/24" in site.cluster.shell("node4", CHILD).stdout
    assert "192.0.2.3/24" in site.cluster.shell("node3", "ip -brief address show office").stdout
