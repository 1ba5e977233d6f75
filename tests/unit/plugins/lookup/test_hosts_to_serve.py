# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A play serves the hosts that it has work for, and one that waits."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.lookup.hosts_to_serve import LookupModule
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks

HOSTS = ("node1", "node2", "node3", "node4", "node5")
IDLE: t.Dict[str, t.Any] = {"settled": ["ofed", "ipoib"], "stack_settled": True, "ask_fabric": False}


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


def served(*hosts: str, **options: str) -> t.List[str]:
    return LookupModule().run(["rdma"], {"groups": {"rdma": hosts or HOSTS}}, **options)


def judged(**others: t.Mapping[str, t.Any]) -> None:
    for host in HOSTS:
        _looks.keep_judged(host, {**IDLE, **others.get(host, {})})


def test_hosts_that_were_not_validated_are_served() -> None:
    assert served(role="ipoib") == list(HOSTS)
    judged()
    assert served("node9", "node1", role="ipoib") == ["node9", "node1"]


def test_hosts_with_work_come_first_and_one_waits() -> None:
    judged(node4={"settled": ["ofed"]}, node5={"settled": []})
    assert served(role="ipoib") == ["node4", "node5", "node1"]
    assert served(role="ofed") == ["node5", "node1"]


def test_values_tell_too() -> None:
    judged(node2={"stack_settled": False}, node3={"ask_fabric": True}, node4={})
    assert served(lacking="stack_settled") == ["node2", "node1"]
    assert served(having="ask_fabric") == ["node3", "node1"]


def test_a_host_that_has_failed_does_not_wait() -> None:
    judged(node3={"settled": []})
    _looks.keep_record("node1", kind="failed", task="Install the packages", said="no space left")
    assert served(role="ipoib") == ["node3", "node2"]


def test_a_host_with_work_in_another_play_waits_last() -> None:
    judged(node1={"settled": ["ofed"]}, node2={"settled": ["ofed"]}, node3={"settled": []})
    assert served(role="ofed") == ["node3", "node4"]


def test_hosts_that_are_not_done_are_served_at_the_end() -> None:
    judged()
    assert LookupModule().run(["rdma"], {"groups": {"rdma": HOSTS}}, unfinished=True) == list(HOSTS)
    _looks.keep_done(["node1", "node3", "node5"])
    assert LookupModule().run(["rdma"], {"groups": {"rdma": HOSTS}}, unfinished=True) == ["node2", "node4", "node1"]


def test_hosts_that_are_left_out_are_served_alone() -> None:
    judged(node2={"left_out": {"all": ["no root"]}}, node3={"left_out": {}})
    assert served(having="left_out") == ["node2", "node1"]


def test_nothing_to_do_is_a_play_without_hosts() -> None:
    judged()
    assert served(role="ipoib") == ["!all"]
    _looks.keep_done(HOSTS)
    assert LookupModule().run(["rdma"], {"groups": {"rdma": HOSTS}}, unfinished=True) == ["!all"]


def test_without_hosts_the_play_has_none() -> None:
    assert LookupModule().run(["rdma"], {"groups": {"rdma": []}}, role="ipoib") == ["!all"]


@pytest.mark.parametrize("name", ["web server", "fd00::1", "a,b", "!node2", "~node", "node[1:2]"])
def test_names_that_are_no_names_in_a_pattern_are_served_by_the_pattern(name: str) -> None:
    judged(node3={"settled": []})
    assert served(name, *HOSTS, role="ipoib") == ["rdma"]
