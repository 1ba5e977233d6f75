# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian's firewalld and ufw on a machine with two IPoIB interfaces, of which one is declared.

The third port of the machine is in a network namespace, as if in another host, and connects to both. The tests depend on each other.
"""

from __future__ import annotations

import collections.abc
import json
import pathlib
import shlex
import typing as t

import pytest
import records
import yaml
from cluster import Cluster, Run
from conftest import PREFIX, running
from interfaces import run, within
from proofs import REAL

NODE = "node1"
ADDRESSES = {"ib0": "10.20.0.1", "ib1": "10.23.0.1"}
VARIABLES: dict[str, t.Any] = {"ofed_tools": False, "ipoib_interfaces": [{"name": "ib0", "addresses": [ADDRESSES["ib0"] + "/24"]}]}
TRUSTED = ("-e", "ipoib_network_firewall=trusted")
PLAY = [{"name": "The network", "hosts": "rdma", "gather_facts": False, "roles": [{"role": "rdma.ofed.ipoib_network", "vars": VARIABLES}]}]
INSTALL = """
dpkg --list ufw 2>/dev/null | grep -q ^ii ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes firewalld ufw >/dev/null
systemctl disable --quiet --now firewalld ufw
"""
_PEER = """
set -e
modprobe ib_ipoib
ip netns add peer
ip link set ib2 netns peer
ip -n peer address add 10.20.0.3/24 dev ib2
ip -n peer address add 10.23.0.3/24 dev ib2
ip -n peer link set ib2 up
ip address add 10.23.0.1/24 dev ib1
ip link set ib1 up
systemctl enable --quiet --now firewalld
systemd-run --quiet --unit=listener python3 -m http.server 4711
"""
_CONNECT = "import socket, sys; socket.create_connection((sys.argv[1], 4711), 5)"
_FILES = "cd / && find etc/firewalld etc/ufw -type f ! -name 'trusted.xml*' -exec sha256sum {} + | sort"
_RULES = "cat /etc/ufw/user.rules /etc/ufw/user6.rules"


class Site(t.NamedTuple):
    machine: Cluster
    playbook: pathlib.Path

    def run(self, script: str) -> str:
        return run(self.machine, NODE, script)

    def play(self, *arguments: str) -> Run:
        return self.machine.play(str(self.playbook), *arguments)

    def changes(self, *arguments: str) -> list[t.Any]:
        done = self.play(*arguments)
        assert done.status == 0, done.output
        return [change for changes in records.changes(done.events).values() for each in changes for change in each]

    def verified(self, *arguments: str) -> str:
        return self.machine.play("verify", "-e", json.dumps(VARIABLES), *arguments).output

    def has_carriers(self) -> bool:
        return self.run("cat /sys/class/net/ib0/carrier /sys/class/net/ib1/carrier").split() == ["1", "1"]

    def reached(self) -> set[str]:
        """Return the interfaces whose addresses the peer can connect to."""
        script = "ip netns exec peer python3 -c %s %s 2>/dev/null && echo yes || echo no"
        return {name for name, address in ADDRESSES.items() if self.run(script % (shlex.quote(_CONNECT), address)) == "yes"}

    def answer(self) -> str:
        return self.run("firewall-cmd --get-zone-of-interface=ib0 2>&1 || true")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    path = tmp_path_factory.mktemp("firewall") / "network.yml"
    path.write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    for machine in running(PREFIX + "-firewall", "three-ports", INSTALL):
        run(machine, NODE, _PEER)
        done = machine.play("site", "-e", json.dumps(VARIABLES))
        assert done.status == 0, done.output
        ready = Site(machine, path)
        assert within(120, ready.has_carriers)
        yield ready


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_firewalld_drops_and_that_is_reported_and_nothing_is_changed(site: Site) -> None:
    assert site.reached() == set()
    assert "firewall ib0" in site.verified()
    assert site.changes() == []
    assert site.answer() == "no zone"


@pytest.mark.proves("ipoib_network", "check_mode", "unchanged", debian12=REAL)
def test_the_declared_interface_and_no_other_is_put_into_its_zone(site: Site) -> None:
    files = site.run(_FILES)
    predicted = site.changes(*TRUSTED, "--check")
    assert site.answer() == "no zone"
    assert site.changes(*TRUSTED) == predicted != []
    assert site.reached() == {"ib0"}
    site.run("firewall-cmd --reload")
    assert (site.answer(), site.reached()) == ("trusted", {"ib0"})
    assert site.run(_FILES) == files
    assert site.changes(*TRUSTED) == []
    assert "firewall" not in site.verified(*TRUSTED)
    site.run("firewall-cmd --zone=trusted --remove-interface=ib0")
    assert site.changes(*TRUSTED) == ["firewall ib0 zone: public -> trusted"]
    assert site.reached() == {"ib0"}


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_what_was_added_is_taken_back(site: Site) -> None:
    files = site.run(_FILES)
    assert site.changes("-e", "ipoib_network_state=absent") != []
    assert site.reached() == set()
    site.run("firewall-cmd --reload")
    assert (site.answer(), site.run(_FILES), site.reached()) == ("no zone", files, set())
    assert site.run("test -e /var/lib/rdma.ofed/firewall.json || echo gone") == "gone"


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_a_zone_that_others_have_chosen_stays(site: Site) -> None:
    site.run("firewall-cmd --permanent --zone=internal --add-interface=ib0; firewall-cmd --reload")
    files = site.run(_FILES)
    refused = site.play(*TRUSTED)
    assert refused.status != 0
    assert "/etc/firewalld/zones/internal.xml puts ib0 into the zone internal" in " ".join(refused.output.split())
    assert (site.run(_FILES), site.answer()) == (files, "internal")
    assert site.changes(*TRUSTED, "-e", "ipoib_network_firewall_zone=internal") == []
    site.run("firewall-cmd --permanent --zone=internal --remove-interface=ib0; systemctl disable --quiet --now firewalld")


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_ufw_gets_a_rule_and_keeps_those_of_others(site: Site) -> None:
    site.run("ufw allow 22/tcp; ufw allow in on eth0; ufw --force enable")
    rules = site.run(_RULES)
    assert site.reached() == set()
    assert "firewall ib0" in site.verified()
    predicted = site.changes(*TRUSTED, "--check")
    assert site.changes(*TRUSTED) == predicted == ["firewall ib0 rule of ufw: none -> allow"]
    assert site.reached() == {"ib0"}
    assert site.changes(*TRUSTED) == []
    assert "firewall" not in site.verified(*TRUSTED)
    assert site.changes() == ["firewall ib0 rule of ufw: allow -> none"]
    assert (site.run(_RULES), site.reached()) == (rules, set())
