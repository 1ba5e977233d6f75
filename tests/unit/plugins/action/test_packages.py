# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packages by purpose: what is handed to which package manager, and when nothing is."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
from ansible import constants
from ansible.errors import AnsibleConnectionFailure
from ansible_collections.rdma.ofed.plugins.action import packages
from ansible_collections.rdma.ofed.plugins.module_utils._distro._packages import due
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import FAMILIES, NAMES, known_packages
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked
from hypothesis import given
from hypothesis import strategies as st

Answer = t.Dict[str, t.Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))


class Host:
    """A host behind the action plugin: what the look found, what was executed there, and what it answers to questions."""

    def __init__(self, family: str = "Debian", installed: dict[str, str] | None = None, said: Answer | None = None, name: str = "Some Linux") -> None:
        self.facts: dict[str, t.Any] = {"os": {"family": family, "name": name}}
        _looks.forget("node1")
        if installed is not None:
            _looks.keep("node1", {"packages": encode(installed)})
        self.said = said or {"rc": 0, "stdout": "", "stderr": ""}
        self.asked: list[str] = []
        self.executed: list[tuple[str, dict[str, t.Any]]] = []
        self.defaults: list[dict[str, t.Any]] = []
        self.check_mode = False

    def ask(self, line: str) -> Answer:
        self.asked.append(line)
        return self.said

    def execute(self, module_name: str, module_args: dict[str, t.Any], task_vars: t.Any) -> Answer:
        self.executed.append((module_name, module_args))
        return {"changed": True, "from": "module"}

    def get(self, name: str, task: t.Any, **_more: t.Any) -> t.Any:
        """Only dnf has an action plugin of its own."""
        if name != "ansible.builtin.dnf":
            return None
        return mock.Mock(run=lambda task_vars: self.execute(name, task.args, task_vars))

    def run(self, **arguments: t.Any) -> Answer:
        task = mock.Mock(async_val=0, check_mode=self.check_mode, diff=False, delegate_to=None, args=arguments, module_defaults=self.defaults)
        task.copy = lambda: mock.Mock(args={})
        templar = mock.Mock(template=lambda value: value)
        plugin = packages.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), templar, mock.Mock())
        plugin._execute_module = self.execute
        plugin._low_level_execute_command = self.ask
        plugin._shared_loader_obj.action_loader.get = self.get
        result: Answer = plugin.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {"rdma": marked(self.facts)} if self.facts else {}})
        return result


def test_apt_is_called_as_for_a_fresh_node() -> None:
    host = Host()
    result = host.run(purposes=["core", "srp"], names=["bash", "kmod"])
    assert (result["changed"], result["from"]) == (True, "module")
    names = ["rdma-core", "ibverbs-providers", "iproute2", "kmod", "srptools", "bash"]
    options = {"cache_valid_time": 86400, "install_recommends": False, "name": names, "state": "present", "update_cache": True}
    assert host.executed == [("ansible.builtin.apt", options)]


def test_services_that_may_not_start() -> None:
    host = Host()
    host.run(purposes=["opensm"], start_services=False)
    assert host.executed[0][1]["policy_rc_d"] == 101
    host = Host("RedHat")
    host.run(purposes=["opensm"], start_services=False)
    assert host.executed == [("ansible.builtin.dnf", {"name": ["opensm"], "state": "present"})]


def test_defaults_of_the_play_count_for_the_module_of_the_package_manager() -> None:
    host = Host()
    host.defaults = [{"ansible.builtin.apt": {"lock_timeout": 600, "state": "latest"}}, {"ansible.builtin.dnf": {"lock_timeout": 1}}]
    host.run(purposes=["opensm"])
    assert (host.executed[0][1]["lock_timeout"], host.executed[0][1]["state"]) == (600, "present")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_nothing_is_executed_where_the_look_found_all(family: t.Any) -> None:
    purposes = ["core", "tools", "opensm", "diagnostics", "firmware"]
    host = Host(family.name, dict.fromkeys(family.names(purposes), "1"))
    assert host.run(purposes=purposes) == {"changed": False}
    assert (host.executed, host.asked) == ([], [])
    assert _looks.recall("node1", "packages") is not None
    assert host.run(purposes=purposes, trust_look=False)["changed"] is True
    assert _looks.recall("node1", "packages") is None, "the node is another one now"
    host = Host(family.name, dict.fromkeys(family.names(purposes), "1"))
    assert host.run(purposes=purposes, names=["bash"])["changed"] is True
    host = Host(family.name, {"bash": "5"})
    assert host.run(purposes=["removable"], state="absent") == {"changed": False}
    assert (host.executed, host.asked) == ([], [])


@pytest.mark.parametrize(
    ("installed", "expected"),
    [({"opensm": "3.3.23"}, ["diagnostics"]), ({"infiniband-diags": "44.0"}, ["opensm"]), ({}, ["opensm", "diagnostics"]), (None, [])],
)
def test_for_what_a_package_was_missing(installed: dict[str, str] | None, expected: list[str]) -> None:
    result = Host(installed=installed).run(purposes=["opensm", "diagnostics"])
    assert result["changed"] and result["missing_purposes"] == expected


def test_after_a_connection_that_broke_nothing_is_known_of_packages() -> None:
    host = Host("Debian", {"bash": "5"})

    def broken(**_more: t.Any) -> t.NoReturn:
        raise AnsibleConnectionFailure("gone")

    host.execute = broken  # type: ignore[method-assign]
    with pytest.raises(AnsibleConnectionFailure):
        host.run(purposes=["opensm"])
    assert _looks.recall("node1", "packages") is None


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"rc": 0, "stdout": "Inst opensm (3.3.23 Debian:12 [amd64])\nConf opensm (3.3.23 Debian:12 [amd64])\n"}, {"changed": True}),
        ({"rc": 0, "stdout": "opensm is already the newest version\n"}, {"changed": False}),
        ({"rc": 100, "stdout": ""}, {"changed": False, "failed": True, "msg": "python3-apt must be installed"}),
    ],
)
def test_check_mode_without_python3_apt(said: Answer, expected: Answer) -> None:
    host = Host("Debian", {"bash": "5"}, {"stderr": "", **said})
    host.check_mode = True
    host.execute = lambda **_more: {"failed": True, "msg": "python3-apt must be installed"}  # type: ignore[method-assign]
    assert host.run(purposes=["opensm"]) == {**expected, "missing_purposes": ["opensm"]}
    assert host.asked == ["LC_ALL=C apt-get -y --no-install-recommends install --simulate opensm"]
    host.check_mode = False
    assert host.run(purposes=["opensm"])["failed"] is True


def test_what_something_else_needs_is_kept() -> None:
    said = {"rc": 1, "stdout": "", "stderr": "dpkg: dependency problems prevent removal of rdma-core:\n"}
    host = Host("Debian", {"rdma-core": "44.0-2", "perftest": "1"}, said)
    assert host.run(purposes=["removable"], state="absent")["changed"] is True
    assert host.asked == ["LC_ALL=C dpkg --simulate --remove perftest rdma-core"]
    assert host.executed == [("ansible.builtin.apt", {"name": ["perftest"], "state": "absent"})]
    host = Host("Debian", {"rdma-core": "44.0-2"}, said)
    assert host.run(purposes=["removable"], state="absent") == {"changed": False}
    host = Host("Suse", None, {"rc": 0, "stdout": "opensm 0\nbash 1\n", "stderr": ""})
    host.run(purposes=["opensm"], names=["bash"], state="absent")
    assert host.executed == [("community.general.zypper", {"name": ["opensm"], "state": "absent"})]
    host = Host("RedHat", None)
    host.run(purposes=["opensm"], state="absent", needed="remove")
    assert host.asked == []
    assert host.executed == [("ansible.builtin.dnf", {"autoremove": False, "name": ["opensm"], "state": "absent"})]


def test_a_question_that_fails_stops_the_removal() -> None:
    host = Host("Debian", None, {"rc": 2, "stdout": "", "stderr": "dpkg: error: no database\n"})
    result = host.run(purposes=["opensm"], state="absent")
    assert result["failed"] is True
    assert "no database" in result["msg"]
    assert not host.executed


def test_an_unknown_distribution_is_named_with_the_way_out() -> None:
    result = Host("Unknown", name="Gentoo").run(purposes=["opensm"], unsupported="On others do it yourself")
    assert result["msg"] == "node1 runs Gentoo (family Unknown); allowed: the families %s. On others do it yourself" % NAMES
    host = Host()
    host.facts = {}
    assert host.run(purposes=["opensm"])["msg"] == "node1: the facts are not there; run rdma.ofed.rdma_facts first"


def test_an_unknown_purpose_is_refused() -> None:
    result = Host().run(purposes=["opensm", "coffee"])
    assert result["failed"] is True
    assert result["msg"].startswith("purposes[1] is 'coffee'; allowed: core, ") or "purposes[1] is 'coffee'" in result["msg"]


some_names = st.lists(st.sampled_from([*sorted(known_packages())[:6], "bash", "zsh=5.9"]), unique=True)


@given(some_names, st.sets(st.sampled_from([*sorted(known_packages())[:6], "bash"])))
def test_after_the_work_nothing_is_due(names: list[str], there: set[str]) -> None:
    before = dict.fromkeys(there, "1")
    assert due(names, "present", None) == due(names, "absent", None) == names
    if "zsh=5.9" not in names:
        assert due(names, "present", {**before, **dict.fromkeys(names, "1")}) == []
    left = {name: version for name, version in before.items() if name not in due(names, "absent", before)}
    assert not set(names) & set(left)
    assert set(due(names, "absent", left)) <= {"bash", "zsh=5.9"}, "the facts can't tell that these are gone"
