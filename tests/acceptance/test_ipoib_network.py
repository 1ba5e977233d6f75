# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host with two IPoIB interfaces in one subnet: the kernel has the settings, and files of others stay as they are."""

from __future__ import annotations

import collections.abc
import pathlib
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from proofs import REAL

PREFIX = "rdma-surround"
TOPOLOGY = """\
vendid=0x2c9
devid=0xd2f0
sysimgguid=0x2c90300f00010
switchguid=0x2c90300f00010(2c90300f00010)
Switch	36 "S-0002c90300f00010"		# "switch1" base port 0 lid 0 lmc 0
[1]	"H-0002c90300001000"[1](2c90300001001) 		# "node1" lid 0 4xFDR
[2]	"H-0002c90300001000"[2](2c90300001002) 		# "node1" lid 0 4xFDR

vendid=0x2c9
devid=0x1003
sysimgguid=0x2c90300001000
caguid=0x2c90300001000
Ca	2 "H-0002c90300001000"		# "node1"
[1](2c90300001001) 	"S-0002c90300f00010"[1]		# lid 0 lmc 0 "switch1" lid 0 4xFDR
[2](2c90300001002) 	"S-0002c90300f00010"[2]		# lid 0 lmc 0 "switch1" lid 0 4xFDR
"""
TWO = [{"name": "ib0", "addresses": ["10.20.0.1/16"]}, {"name": "ib1", "addresses": ["10.20.1.1/16"]}]
PLAY = [{"name": "The network", "hosts": "rdma", "gather_facts": False, "roles": [{"role": "rdma.ofed.ipoib_network", "vars": {"ipoib_interfaces": TWO}}]}]
OURS = "/etc/sysctl.d/90-rdma-ofed.conf"
OTHERS = "/etc/sysctl.d/99-site.conf"
KEYS = ("arp_ignore", "arp_announce", "rp_filter")


class Site(t.NamedTuple):
    cluster: Cluster
    playbook: pathlib.Path

    def values(self) -> dict[str, list[str]]:
        """Return the values of the kernel, by interface."""
        names = self.cluster.shell("node1", "ls /proc/sys/net/ipv4/conf").stdout.split()
        script = "".join("cat %s\n" % " ".join("/proc/sys/net/ipv4/conf/%s/%s" % (name, key) for key in KEYS) for name in names)
        found = self.cluster.shell("node1", script).stdout.split()
        return {name: found[3 * index : 3 * index + 3] for index, name in enumerate(names)}

    def files(self) -> str:
        return self.cluster.shell("node1", "head -n 99 /etc/sysctl.d/*.conf /etc/sysctl.conf").stdout

    def play(self, *arguments: str) -> Run:
        return self.cluster.play(str(self.playbook), *arguments)

    def changes(self, *arguments: str) -> list[t.Any]:
        run = self.play(*arguments)
        assert run.status == 0, run.output
        return [change for changes in records.changes(run.events).values() for each in changes for change in each]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    """Yield a node with two interfaces. In a container, /proc/sys is read-only at first."""
    cluster = Cluster(PREFIX)
    folder = tmp_path_factory.mktemp("network")
    (folder / "two-ports.topo").write_text(TOPOLOGY, encoding="utf-8")
    (folder / "network.yml").write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    try:
        cluster.command("up", "--topology", str(folder / "two-ports.topo"))
        cluster.shell("node1", "modprobe ib_ipoib")
        site = Site(cluster, folder / "network.yml")
        assert {"ib0", "ib1"} < set(site.values())
        yield site
    finally:
        cluster.command("down")


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_where_nothing_can_be_set_it_is_reported(site: Site) -> None:
    before = site.values()
    run = site.play("--check")
    assert run.status == 0, run.output
    assert "/proc/sys is read-only on this node" in " ".join(run.output.split())
    assert site.values() == before
    # Some distributions have a strict filter on every interface; the kernel's own, none, would do.
    strict = "for name in default ib0 ib1; do echo 1 > /proc/sys/net/ipv4/conf/$name/rp_filter; done"
    site.cluster.shell("node1", "mount -o remount,rw /proc/sys; " + strict)


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_two_interfaces_of_a_subnet_get_their_settings_and_give_them_back(site: Site) -> None:
    before, files = site.values(), site.files()
    predicted = site.changes("--check")
    assert (site.values(), site.files()) == (before, files)
    assert site.changes() == predicted
    assert site.values() == {**before, **{name: ["1", "2", "2"] for name in ("ib0", "ib1")}}
    assert site.changes() == []
    site.cluster.shell("node1", "echo 0 > /proc/sys/net/ipv4/conf/ib1/arp_ignore")
    assert site.changes() == ["sysctl net.ipv4.conf.ib1.arp_ignore: 0 -> 1"]
    assert len(site.changes("-e", "ipoib_network_state=absent")) == len(predicted)
    assert (site.values(), site.files()) == (before, files)


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_a_file_that_undoes_a_setting_is_refused_and_stays(site: Site) -> None:
    site.cluster.shell("node1", "printf '# site\\nnet.ipv4.conf.ib0.arp_announce = 0\\n' > %s" % OTHERS)
    before = site.files(), site.values()
    run = site.play()
    assert run.status != 0
    assert "%s line 2 sets net.ipv4.conf.ib0.arp_announce = 0" % OTHERS in " ".join(run.output.split())
    assert (site.files(), site.values()) == before


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_systemd_applies_the_file_to_an_interface_that_appears(site: Site) -> None:
    """As udev does for each of them."""
    site.cluster.shell("node1", "rm %s" % OTHERS)
    site.changes()
    site.cluster.shell("node1", "for key in %s; do echo 0 > /proc/sys/net/ipv4/conf/ib1/$key; done" % " ".join(KEYS))
    rule = site.cluster.shell("node1", "grep -h systemd-sysctl /usr/lib/udev/rules.d/99-systemd.rules").stdout
    assert "--prefix=/net/ipv4/conf/$name" in rule
    site.cluster.shell("node1", "/usr/lib/systemd/systemd-sysctl --prefix=/net/ipv4/conf/ib1")
    assert site.values()["ib1"] == ["1", "2", "2"]
