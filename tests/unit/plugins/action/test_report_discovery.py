# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From the looks that a run has kept to the files of an inventory."""

from __future__ import annotations

import pathlib
import typing as t
from unittest import mock

import pytest
import yaml
from ansible import constants
from ansible_collections.rdma.ofed.plugins.action import rdma_facts, report
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._config import Directive
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found, Seen
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._handmade import SeenOfStack
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._wanted import USUAL
from ansible_collections.rdma.ofed.plugins.module_utils._record import encode
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

HOSTS = ["node1", "node2", "node3"]


@pytest.fixture(autouse=True)
def _run(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path / "tmp"))


def looks(size: int) -> dict[str, t.Any]:
    directive = Directive("options", "ib_ipoib", "send_queue_size=%d" % size, "/etc/modprobe.d/{{ 7 * 7 }}.conf", 1)
    return {"kernel_modules": encode(SeenOfStack(Seen(found=Found(loaded=dict.fromkeys(USUAL, False), directives=(directive,))))), "opensm": []}


def run(folder: pathlib.Path, check: bool = False, **arguments: t.Any) -> dict[str, t.Any]:
    task: t.Any = mock.Mock(async_val=0, check_mode=check, diff=False, delegate_to=None, args={"kind": "discovery", "dest": str(folder), **arguments})
    found = report.ActionModule(task, mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    facts = marked({"os": {"family": "Debian"}, "stack": {"kind": "mlnx_ofed", "version": "23.10-0.5.5.0", "evidence": "ofed_info"}, "ports": []})
    hostvars = {host: {"ansible_facts": {"rdma": facts}} for host in HOSTS}
    groups = {"all": HOSTS, "rdma": [*HOSTS, "node4"], "ungrouped": []}
    known = {"ansible_play_hosts": HOSTS, "ansible_play_hosts_all": [*HOSTS, "node4"], "hostvars": hostvars, "groups": groups, "inventory_hostname": "node1"}
    result: dict[str, t.Any] = found.run(task_vars=known)
    return result


def test_files_and_report(tmp_path: pathlib.Path) -> None:
    for host, size in zip(HOSTS, (512, 512, 128)):
        _looks.keep(host, looks(size))
    folder = tmp_path / "discovered"
    result = run(folder)
    assert [pathlib.Path(path).relative_to(folder).as_posix() for path in result["files"]][:2] == ["hosts.yml", "group_vars/rdma.yml"]
    declared = yaml.safe_load((folder / "group_vars/rdma.yml").read_text(encoding="utf-8"))
    assert declared["ofed_version"] == "23.10-0.5.5.0"
    # A look that can't be read is named.
    assert any("opensm: the look has no result" in words for words in result["not_expressed"]["node1"])
    assert "node4" in (folder / "report.txt").read_text(encoding="utf-8")
    assert result["changed"] is False and "failed" not in result


def test_check_mode_writes_nothing(tmp_path: pathlib.Path) -> None:
    assert run(tmp_path / "discovered", check=True)["files"] == []
    assert not (tmp_path / "discovered").exists()


def test_a_folder_with_files_is_refused_before_the_look(tmp_path: pathlib.Path) -> None:
    (tmp_path / "mine.yml").write_text("", encoding="utf-8")
    assert "is not empty. No host was looked at" in run(tmp_path, before=True)["msg"]
    assert "failed" not in run(tmp_path, before=True, overwrite=True)


def test_what_the_look_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    task: t.Any = mock.Mock(async_val=0, check_mode=False, diff=False, delegate_to=None, args={"discover": True}, timeout=180)
    action = rdma_facts.ActionModule(task, mock.Mock(transport="ssh"), mock.Mock(), mock.Mock(), mock.Mock(), mock.Mock())
    action._execute_module = mock.Mock(return_value={"ansible_facts": {"rdma": {}}, "look": {"opensm": []}})
    action.run(task_vars={"inventory_hostname": "node1", "ansible_facts": {}, "groups": {}})
    asked = action._execute_module.call_args[1]["module_args"]["look"]
    assert set(asked) == {name for name, concern in CONCERNS.items() if concern.discovery.hints is not None}
    assert _looks.recall_all("node1") == {"opensm": []}
