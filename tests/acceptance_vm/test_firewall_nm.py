# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian's firewalld where NetworkManager tells it the zones of interfaces. The tests depend on each other."""

from __future__ import annotations

import collections.abc

import pytest
import records
import yaml
from cluster import Run
from common import ROOT
from conftest import PREFIX, running
from firewalls import NODE, PLAY, TRUSTED, Site
from interfaces import within
from proofs import REAL

# With the library by which firewall-cmd finds profiles, and the names of protocols, without which firewalld ends.
INSTALL = """
dpkg --list firewalld 2>/dev/null | grep -q ^ii ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes firewalld gir1.2-nm-1.0 netbase >/dev/null
"""
KEYFILE = "/etc/NetworkManager/system-connections/rdma-ib0.nmconnection"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    folder = tmp_path_factory.mktemp("firewall")
    (folder / "network.yml").write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    ports = (ROOT / "tests/lab/topologies/three-ports.topo").read_text(encoding="utf-8")
    (folder / "three-ports.topo").write_text("# lab %s network=networkmanager\n%s" % (NODE, ports), encoding="utf-8")
    for machine in running(PREFIX + "-firewall-nm", str(folder / "three-ports.topo"), INSTALL):
        site = Site(machine, folder / "network.yml")
        site.run("systemctl enable --quiet --now firewalld")
        site.connect()
        yield site


def zone(site: Site) -> str:
    """Return the line of the keyfile, and the answer of firewalld."""
    return site.run("grep ^zone= %s || true" % KEYFILE) + " " + site.answer()


def changed(run: Run) -> list[str]:
    return [each for changes in records.changes(run.events).values() for change in changes for each in change]


@pytest.mark.proves("ipoib_network", "networkmanager", "check_mode", debian12=REAL)
def test_one_run_puts_the_interface_into_its_zone(site: Site) -> None:
    files = site.files()
    predicted, done = site.site(*TRUSTED, "--check"), site.site(*TRUSTED)
    assert records.differences(predicted.events, done.events) == []
    assert site.is_ready()
    assert (zone(site), site.reached(), site.files()) == ("zone=trusted trusted", {"ib0"}, files)
    assert site.run("test -e /etc/firewalld/zones/trusted.xml || echo none") == "none"


@pytest.mark.proves("ipoib_network", "networkmanager", "unchanged", debian12=REAL)
def test_it_stays_there_when_firewalld_restarts_and_after_a_second_run(site: Site) -> None:
    site.run("systemctl restart firewalld")
    # systemd calls it started before its rules are loaded.
    assert within(60, lambda: (zone(site), site.reached()) == ("zone=trusted trusted", {"ib0"}))
    assert changed(site.site(*TRUSTED)) == []


@pytest.mark.proves("ipoib_network", "networkmanager", debian12=REAL)
def test_an_active_interface_changes_its_zone_and_stays_up(site: Site) -> None:
    # As a cluster manager adds it.
    site.run("ip address add 10.20.0.99/24 dev ib0")
    site.run("systemd-run --quiet --unit=watch ip -oneline monitor link dev ib0")
    assert site.changes() == [
        "firewall ib0 zone: trusted -> public",
        "firewall ib0 zone at boot: trusted -> none",
        "remove file /var/lib/rdma.ofed/firewall.json",
    ]
    assert (zone(site).strip(), site.reached()) == ("public", set())
    site.run("systemctl restart firewalld")
    assert within(60, lambda: site.reached() == set())
    assert site.changes(*TRUSTED) != []
    site.run("systemctl restart firewalld")
    assert within(60, lambda: (zone(site), site.reached()) == ("zone=trusted trusted", {"ib0"}))
    assert "10.20.0.99/24" in site.run("ip address show dev ib0")
    assert "state DOWN" not in site.run("journalctl --output=cat --unit=watch")


@pytest.mark.proves("ipoib_network", "networkmanager", "reboot", debian12=REAL)
def test_it_is_there_after_a_reboot(site: Site) -> None:
    site.machine.command("restart", NODE)
    site.connect()
    assert site.is_ready()
    assert (zone(site), site.reached()) == ("zone=trusted trusted", {"ib0"})
