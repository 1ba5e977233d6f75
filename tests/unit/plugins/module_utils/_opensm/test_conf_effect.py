# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._conf import (
    LIVE,
    RELOAD,
    RESTART,
    RUNNING,
    changed_keys,
    effect,
    redact,
    strongest,
    without_secrets,
)
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import parse_template, render
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Plan

TEMPLATE = (pathlib.Path(__file__).parents[4] / "corpus/opensm_template/debian_3_3_23.conf").read_text(encoding="utf-8")
OLD = render(TEMPLATE, {})


@pytest.mark.parametrize(
    ("declared", "state"),
    [
        ({}, RUNNING),
        ({"sweep_interval": 10}, RUNNING),
        ({"sweep_interval": "0xa"}, RUNNING),
        ({"sweep_interval": 20}, RELOAD),
        ({"sm_priority": 3, "log_max_size": 5, "qos": True, "qos_ca_sl2vl": "0"}, RELOAD),
        ({"routing_engine": "updn"}, RESTART),
        ({"sweep_interval": 20, "lmc": 1}, RESTART),
        ({"partition_config_file": "/etc/opensm/ib/partitions.conf"}, RESTART),
    ],
)
def test_what_a_running_opensm_needs(declared: dict[str, object], state: str) -> None:
    new = render(TEMPLATE, declared)
    assert effect(OLD, new) == state
    assert effect(new, OLD) == state


def test_comments_and_order_need_nothing() -> None:
    lines = [line for line in OLD.splitlines() if line and not line.startswith("#")]
    assert effect(OLD, "\n".join(reversed(lines))) == RUNNING


def test_a_file_that_was_not_there_needs_a_restart() -> None:
    assert effect("", OLD) == RESTART


def test_a_key_that_is_gone_needs_a_restart_and_a_new_one_does_not() -> None:
    shorter = OLD.replace("sweep_interval 10\n", "")
    assert changed_keys(OLD, shorter) == ["sweep_interval"]
    assert effect(OLD, shorter) == RESTART
    assert effect(shorter, OLD) == RELOAD


def test_a_vendors_key_needs_a_restart() -> None:
    assert effect("virt_enabled 1\n", "virt_enabled 2\n") == RESTART
    assert "virt_enabled" not in LIVE


def test_every_key_of_the_template_has_an_effect() -> None:
    keys = parse_template(TEMPLATE)
    live = [key for key in keys if key in LIVE]
    assert len(live) == 109
    assert {"guid", "subnet_prefix", "log_file", "console", "daemon", "node_name_map_name", "transaction_timeout"} <= set(keys) - set(live)


def test_the_strongest_counts() -> None:
    assert strongest([]) == RUNNING
    assert strongest([RELOAD, RUNNING]) == RELOAD
    assert strongest([RELOAD, RESTART, RUNNING]) == RESTART


def test_another_sm_key_separates_managers() -> None:
    assert changed_keys(OLD, render(TEMPLATE, {"sm_key": "0x2"})) == ["sm_key"]
    assert "sm_key" not in changed_keys(OLD, render(TEMPLATE, {"sm_key": 1, "sa_key": 5}))


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


def test_the_diff_shows_what_is_declared_or_changes() -> None:
    """Regression: the run showed 666 lines, and check mode 10 before the package was installed."""
    declared = {"sm_priority": 13, "guid": "0x0000000000000001", "no_partition_enforcement": True, "sm_key": "0x5"}
    path = "/etc/rdma-ofed/opensm/ib/opensm.conf"

    def shown(before: str, after: str) -> tuple[str, str]:
        (change,) = without_secrets(Plan((Change(Kind.FILE, path, "", before, after),)), {path: tuple(declared)}).changes
        return change.before, change.after

    first, foretold = shown("", render(TEMPLATE, declared)), shown("", render("", declared))
    assert first[0] == foretold[0] == ""
    assert (
        sorted(first[1].splitlines())
        == sorted(foretold[1].splitlines())
        == [
            "guid 0x0000000000000001",
            "no_partition_enforcement TRUE",
            "sm_key (hidden)",
            "sm_priority 13",
        ]
    )
    # A key whose package default differs in a new release changes too.
    newer = render(TEMPLATE.replace("sweep_interval 10", "sweep_interval 11"), {**declared, "sm_priority": 12})
    before, after = shown(render(TEMPLATE, declared), newer)
    assert {*after.splitlines()} - {*before.splitlines()} == {"sm_priority 12", "sweep_interval 11"}
    assert len(after.splitlines()) == len(declared) + 1


def test_the_diff_of_other_files_stays() -> None:
    hidden, same = without_secrets(
        Plan((Change(Kind.FILE, "/etc/opensm/ib/opensm.conf", "", "", "sm_key 0x5\n"), Change(Kind.FILE, "/etc/other", "", "", "sm_key 0x5\n"))), {}
    ).changes
    assert hidden.after == "sm_key (hidden)\n"
    assert same.after == "sm_key 0x5\n"
