# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import parse_template, render
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_effect import (
    NOTHING,
    RESTART,
    SIGHUP,
    changed_keys,
    file_effect,
    is_live,
    plan,
    redact,
    redact_diff,
    separates,
    strongest,
)

TEMPLATE = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
OLD = render(TEMPLATE, {})


@pytest.mark.parametrize(
    ("declared", "effect"),
    [
        ({}, NOTHING),
        ({"sweep_interval": 10}, NOTHING),
        ({"sweep_interval": "0xa"}, NOTHING),
        ({"sweep_interval": 20}, SIGHUP),
        ({"sm_priority": 3, "log_max_size": 5, "qos": True, "qos_ca_sl2vl": "0"}, SIGHUP),
        ({"routing_engine": "updn"}, RESTART),
        ({"sweep_interval": 20, "lmc": 1}, RESTART),
        ({"partition_config_file": "/etc/opensm/ib/partitions.conf"}, RESTART),
    ],
)
def test_what_a_running_opensm_needs(declared: dict[str, object], effect: str) -> None:
    new = render(TEMPLATE, declared)
    assert plan(OLD, new, True) == effect
    assert plan(new, OLD, True) == effect
    assert plan(OLD, new, False) == NOTHING


def test_comments_and_order_need_nothing() -> None:
    lines = [line for line in OLD.splitlines() if line and not line.startswith("#")]
    assert plan(OLD, "\n".join(reversed(lines)), True) == NOTHING


def test_a_file_that_was_not_there_needs_a_restart() -> None:
    assert plan("", OLD, True) == RESTART


def test_a_key_that_is_gone_needs_a_restart_and_a_new_one_does_not() -> None:
    shorter = OLD.replace("sweep_interval 10\n", "")
    assert changed_keys(OLD, shorter) == ["sweep_interval"]
    assert plan(OLD, shorter, True) == RESTART
    assert plan(shorter, OLD, True) == SIGHUP


def test_a_vendors_key_needs_a_restart() -> None:
    assert plan("virt_enabled 1\n", "virt_enabled 2\n", True) == RESTART
    assert not is_live("virt_enabled")


def test_every_key_of_the_template_has_an_effect() -> None:
    keys = parse_template(TEMPLATE)
    live = [key for key in keys if is_live(key)]
    assert len(live) == 109
    assert {"guid", "subnet_prefix", "log_file", "console", "daemon", "node_name_map_name", "transaction_timeout"} <= set(keys) - set(live)


@pytest.mark.parametrize(("kind", "effect"), [("partitions", SIGHUP), ("qos_policy", SIGHUP), ("root_guids", SIGHUP), ("node_names", NOTHING)])
def test_the_content_of_other_files(kind: str, effect: str) -> None:
    assert file_effect(kind, "a", "b", True) == effect
    assert file_effect(kind, "a", "a", True) == NOTHING
    assert file_effect(kind, "a", "b", False) == NOTHING


def test_the_strongest_counts() -> None:
    assert strongest([]) == NOTHING
    assert strongest([SIGHUP, NOTHING]) == SIGHUP
    assert strongest([SIGHUP, RESTART, NOTHING]) == RESTART


def test_another_sm_key_separates_managers() -> None:
    assert separates(OLD, render(TEMPLATE, {"sm_key": "0x2"}))
    assert not separates(OLD, render(TEMPLATE, {"sm_key": 1, "sa_key": 5}))


def test_secrets_are_hidden_and_still_seen_to_change() -> None:
    new = render(TEMPLATE, {"sm_key": "0xfeedbeef", "sweep_interval": 33})
    newer = render(TEMPLATE, {"sm_key": "0xdeadbeef", "sweep_interval": 33})
    before, after = redact(new, newer)
    assert "beef" not in before + after
    assert before != after
    assert before.count("\n") == after.count("\n")
    assert [line for line in after.splitlines() if line not in before.splitlines()] == ["sm_key (hidden, another one)"]
    assert redact(new, new)[0] == redact(new, new)[1]
    assert "beef" not in redact("", new)[1]
    assert redact(new, "")[1] == ""


def test_the_diff_of_other_files_stays() -> None:
    path = "/etc/opensm/ib/opensm.conf"
    entry = {"before_header": path, "after_header": path, "before": "", "after": "sm_key 0x5\n"}
    other = {"before_header": "settings", "after_header": "settings", "before": "", "after": "sm_key 0x5\n"}
    hidden, same = redact_diff([entry, other], {path})
    assert hidden == {**entry, "after": "sm_key (hidden)\n"}
    assert same == other
