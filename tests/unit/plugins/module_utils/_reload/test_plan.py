# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decisions of the reload planner, and what is loaded afterwards."""

from __future__ import annotations

import typing as t

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._facts._connections import SshPath
from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
from ansible_collections.rdma.ofed.plugins.module_utils._facts._usage import User
from ansible_collections.rdma.ofed.plugins.module_utils._reload import _plan
from ansible_collections.rdma.ofed.plugins.module_utils._reload._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._reload._plan import LEAVE, REBOOT, REFUSE, RELOAD, plan, ssh_user, words
from ansible_collections.rdma.ofed.plugins.module_utils._reload._steps import loaded_again
from ansible_collections.rdma.ofed.plugins.module_utils._reload._wanted import Wanted

CORE, USER = Module("ib_core", differs=True, used_by=("ib_umad",), refcount=1), Module("ib_umad")
LOADED = Found(modules=(CORE, USER))
ALLOWED = Wanted(policy="if_idle", allow_reload=True)


def test_a_host_needs_no_consent_for_containers() -> None:
    assert plan(ALLOWED._replace(allow_container=False), LOADED).action == RELOAD
    enclosed = LOADED._replace(enclosed="container")
    assert plan(ALLOWED._replace(allow_container=False), enclosed).action == LEAVE
    assert plan(ALLOWED._replace(allow_container=True), enclosed).action == RELOAD


def test_check_mode_of_an_installation_judges_no_modules_that_are_still_those_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither their signatures nor their presence on disk."""
    monkeypatch.setattr(_plan, "words_of_trust", lambda untrusted: "not trusted")
    refused = LOADED._replace(untrusted=t.cast(t.Any, ("ib_core",)))
    assert plan(ALLOWED, refused)[:2] == (REFUSE, ("not trusted",))
    assert plan(ALLOWED._replace(assume_changed=True), refused).action == RELOAD
    gone = LOADED._replace(available=frozenset(["ib_umad"]))
    assert plan(ALLOWED, gone)[:2] == (REBOOT, ("ib_core of the loaded driver is no longer on disk, and could not be loaded again",))
    assert plan(ALLOWED._replace(assume_changed=True), gone).action == RELOAD


def test_modules_of_others_and_of_unknown_files_do_not_count_as_gone() -> None:
    assert plan(ALLOWED, LOADED._replace(available=frozenset())).action == RELOAD
    other, compat = Module("dummy"), Module("mlx_compat")
    assert plan(ALLOWED, Found(modules=(CORE, USER, other, compat), available=frozenset(["ib_core", "ib_umad"]))).action == RELOAD


@pytest.mark.parametrize(
    ("ssh", "device"),
    [
        (SshPath(), None),
        (SshPath(client="192.0.2.1", device="eth0"), None),
        (SshPath(client="192.0.2.1", device="ib0", over_rdma=True), "ib0"),
        # The path of its traffic is unknown: it may be the driver.
        (SshPath(client="192.0.2.1"), "an unknown interface"),
    ],
)
def test_whether_the_connection_runs_over_the_driver(ssh: SshPath, device: str | None) -> None:
    found = ssh_user(LOADED._replace(ssh=ssh))
    assert [user.name for user in found] == ([device] if device else [])


def test_a_user_without_details_has_no_brackets() -> None:
    assert words(User("mount", "/scratch", "nfs")).startswith("mount /scratch (nfs): ")
    assert words(User("mount", "/scratch", "")).startswith("mount /scratch: ")


def test_what_openibd_switches_off_stays_away_where_openibd_is() -> None:
    conf = "UMAD_LOAD=no\n"
    assert loaded_again(LOADED._replace(openibd=True, conf=conf)) == ("ib_core",)
    assert loaded_again(LOADED._replace(openibd=True, conf="UMAD_LOAD=yes\n")) == ("ib_core", "ib_umad")


def test_what_rdma_core_lists_is_loaded_where_openibd_is_not() -> None:
    listed = LOADED._replace(listed=("ib_ipoib", "ib_core"))
    assert loaded_again(listed) == ("ib_core", "ib_umad", "ib_ipoib")
    assert loaded_again(listed._replace(openibd=True)) == ("ib_core", "ib_umad")
