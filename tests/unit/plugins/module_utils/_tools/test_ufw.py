# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rules in the files of ufw."""

from __future__ import annotations

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._tools._ufw import COMMENT, forget, parse_rules, setting

HEAD = "*filter\n:ufw-user-input - [0:0]\n### RULES ###\n"
OURS = "### tuple ### allow any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0 comment=%s\n-A ufw-user-input -i ib0 -j ACCEPT\n" % COMMENT.encode().hex()


def test_our_rule() -> None:
    (rule,) = parse_rules(HEAD + "\n" + OURS, 4)
    assert rule.ours and rule.opens("ib0") and not rule.opens("ib1") and not rule.closes("ib0")
    assert rule.words == "allow any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0"


@pytest.mark.parametrize("action", ["allow_log", "limit", "deny"])
def test_a_rule_of_ours_that_was_changed_is_the_site_s(action: str) -> None:
    (rule,) = parse_rules(OURS.replace("allow", action), 4)
    assert not rule.ours


def test_only_a_rule_with_our_comment_is_deleted() -> None:
    assert forget("ib0") == ("ufw", "delete", "allow", "in", "on", "ib0", "comment", COMMENT)


@pytest.mark.parametrize(
    ("fields", "opens", "closes"),
    [
        ("allow any any 0.0.0.0/0 any 0.0.0.0/0 in", True, False),
        ("allow any any 0.0.0.0/0 any 0.0.0.0/0", True, False),
        ("allow_log any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0", True, False),
        ("deny any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0", False, True),
        ("reject any any 0.0.0.0/0 any 0.0.0.0/0 in_ib1", False, False),
        ("limit any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0", False, False),
        ("allow tcp 22 0.0.0.0/0 any 0.0.0.0/0 in", False, False),
        ("allow any any 0.0.0.0/0 any 10.20.0.0/16 in_ib0", False, False),
        ("allow tcp 80 0.0.0.0/0 any 0.0.0.0/0 Apache - in_ib0", False, False),
    ],
)
def test_what_a_rule_does_for_an_interface(fields: str, opens: bool, closes: bool) -> None:
    (rule,) = parse_rules(HEAD + "### tuple ### %s\n" % fields, 4)
    assert (rule.opens("ib0"), rule.closes("ib0"), rule.ours) == (opens, closes, False)


@pytest.mark.parametrize(
    "fields",
    [
        "route:allow any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0",
        "allow any any 0.0.0.0/0 any 0.0.0.0/0 out_ib0",
        "allow any any 0.0.0.0/0 any 0.0.0.0/0 in_ib0!out_eth0",
        "allow any any",
        "allow any any 0.0.0.0/0 any 0.0.0.0/0 in in in in",
        "",
    ],
)
def test_other_rules_are_left_out(fields: str) -> None:
    assert parse_rules(HEAD + "### tuple ### %s\n" % fields, 4) == []


def test_ipv6_has_other_addresses() -> None:
    (rule,) = parse_rules("### tuple ### allow any any ::/0 any ::/0 in_ib0\n", 6)
    assert rule.opens("ib0")
    (rule,) = parse_rules("### tuple ### allow any any ::/0 any ::/0 in_ib0\n", 4)
    assert not rule.opens("ib0")


@pytest.mark.parametrize(("text", "value"), [("ENABLED=yes\n", "yes"), ('# x\nENABLED="No"\n', "no"), ("#ENABLED=yes\n", ""), ("", "")])
def test_settings(text: str, value: str) -> None:
    assert setting(text, "ENABLED") == value
