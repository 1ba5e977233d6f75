# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Zones and answers of firewalld, as its releases 0.9 to 2 write them."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools._firewalld import Zone, default_zone, parse_active, parse_zone

PATH = "/etc/firewalld/zones/trusted.xml"
HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'
TRUSTED = '<zone target="ACCEPT">\n  <short>Trusted</short>\n  <interface name="ib0"/>\n  <interface name="ib0.8001"/>\n  <forward/>\n</zone>\n'
PUBLIC = '<zone>\n  <short>Public</short>\n  <service name="ssh"/>\n  <port port="4711" protocol="tcp"/>\n%s</zone>\n'
FABRIC = '<source address="10.20.0.0/16"/>'


def test_a_zone_has_interfaces_and_a_target() -> None:
    assert parse_zone(PATH, HEAD + TRUSTED) == Zone(PATH, frozenset(["ib0", "ib0.8001"]), open=True)
    assert parse_zone(PATH, HEAD + PUBLIC % "") == Zone(PATH)
    assert parse_zone(PATH, HEAD + PUBLIC % FABRIC) == Zone(PATH, sources=True)


@pytest.mark.parametrize(
    ("rule", "is_open"),
    [
        ('<rule family="ipv4">%s<accept/></rule>' % FABRIC, True),
        ("<rule><protocol value='tcp'/><accept/></rule>", False),
        ('<rule family="ipv4">%s<service name="nfs"/><accept/></rule>' % FABRIC, False),
        ('<rule family="ipv4">%s<reject/></rule>' % FABRIC, False),
    ],
)
def test_a_rule_may_accept_everything(rule: str, is_open: bool) -> None:
    zone = parse_zone(PATH, HEAD + PUBLIC % rule)
    assert zone is not None and zone.open is is_open
    # The source of a rule is not that of the zone.
    assert not zone.sources


@pytest.mark.parametrize("text", ["", "<zone", "<policy/>", '<!DOCTYPE z [<!ENTITY a "b">]><zone>&a;</zone>', "<zone/>" + " " * (1 << 20)])
def test_what_is_no_zone_is_left_out(text: str) -> None:
    assert parse_zone(PATH, text) is None


def test_a_comment_is_allowed() -> None:
    assert parse_zone(PATH, HEAD + "<!-- the site's -->\n<zone/>") == Zone(PATH)


@pytest.mark.parametrize(
    ("text", "zone"), [("# DefaultZone=drop\nDefaultZone=work\n", "work"), ("", "public"), ("DefaultZone = home \nDefaultZone=block", "block")]
)
def test_the_default_zone(text: str, zone: str) -> None:
    assert default_zone(text) == zone


def test_the_active_zones() -> None:
    before = "public\n  interfaces: eth0\ntrusted\n  interfaces: ib0 ib0.8001\n  sources: 10.0.0.0/8\n"
    assert parse_active(before) == {"eth0": "public", "ib0": "trusted", "ib0.8001": "trusted"}
    assert parse_active(before.replace("public\n", "public (default)\n")) == parse_active(before)
    assert parse_active("") == {}
