# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Debian's firewalld and ufw on a machine with two IPoIB interfaces, of which one is declared. The tests depend on each other."""

from __future__ import annotations

import collections.abc

import pytest
import yaml
from conftest import PREFIX, running
from firewalls import PLAY, TRUSTED, Site
from proofs import REAL

INSTALL = """
dpkg --list ufw 2>/dev/null | grep -q ^ii ||
    DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends --yes firewalld ufw netbase >/dev/null
systemctl disable --quiet --now firewalld ufw
"""
_RULES = "cat /etc/ufw/user.rules /etc/ufw/user6.rules"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> collections.abc.Iterator[Site]:
    path = tmp_path_factory.mktemp("firewall") / "network.yml"
    path.write_text(yaml.safe_dump(PLAY), encoding="utf-8")
    for machine in running(PREFIX + "-firewall", "three-ports", INSTALL):
        site = Site(machine, path)
        site.run("systemctl enable --quiet --now firewalld")
        site.connect()
        site.site()
        assert site.is_ready()
        yield site


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_firewalld_drops_and_that_is_reported_and_nothing_is_changed(site: Site) -> None:
    assert site.reached() == set()
    assert "firewall ib0" in site.verified()
    assert site.changes() == []
    assert site.answer() == "no zone"


@pytest.mark.proves("ipoib_network", "check_mode", "unchanged", debian12=REAL)
def test_the_declared_interface_and_no_other_is_put_into_its_zone(site: Site) -> None:
    files = site.files()
    predicted = site.changes(*TRUSTED, "--check")
    assert site.answer() == "no zone"
    assert site.changes(*TRUSTED) == predicted != []
    assert site.reached() == {"ib0"}
    site.run("firewall-cmd --reload")
    assert (site.answer(), site.reached()) == ("trusted", {"ib0"})
    assert site.files() == files
    assert site.changes(*TRUSTED) == []
    assert "firewall" not in site.verified(*TRUSTED)
    site.run("firewall-cmd --zone=trusted --remove-interface=ib0")
    assert site.changes(*TRUSTED) == ["firewall ib0 zone: public -> trusted"]
    assert site.reached() == {"ib0"}


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_what_was_added_is_taken_back(site: Site) -> None:
    files = site.files()
    assert site.changes("-e", "ipoib_network_state=absent") != []
    assert site.reached() == set()
    site.run("firewall-cmd --reload")
    assert (site.answer(), site.files(), site.reached()) == ("no zone", files, set())
    assert site.run("test -e /var/lib/rdma.ofed/firewall.json || echo gone") == "gone"


@pytest.mark.proves("ipoib_network", debian12=REAL)
def test_a_zone_that_others_have_chosen_stays(site: Site) -> None:
    site.run("firewall-cmd --permanent --zone=internal --add-interface=ib0; firewall-cmd --reload")
    files = site.files()
    refused = site.play(*TRUSTED)
    assert refused.status != 0
    assert "/etc/firewalld/zones/internal.xml puts ib0 into the zone internal" in " ".join(refused.output.split())
    assert (site.files(), site.answer()) == (files, "internal")
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
