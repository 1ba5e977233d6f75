# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Results and facts of all hosts are read without a search for templates in them: its cost grows with the facts of each host."""

from __future__ import annotations

import pathlib
import typing as t

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.plugin_utils._actions import registered
from ansible_collections.rdma.ofed.plugins.plugin_utils._end_of_run import host_of_run
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import facts_by_host, marked
from ansible_collections.rdma.ofed.plugins.plugin_utils._tables import _pending


class Hostvars(t.Dict[str, t.Dict[str, t.Any]]):
    """Variables of hosts that must not be evaluated."""

    raw_get = dict.__getitem__

    def __getitem__(self, host: str) -> t.NoReturn:
        raise AssertionError("evaluated the variables of %s" % host)


HOSTS = Hostvars(node1={"ansible_facts": {"rdma": marked({"ports": []})}, "rdma_site": {"left_out": {"ipoib": ["{{ text }}"]}}, "rdma_pending": []})


def test_facts_of_any_host_are_not_evaluated() -> None:
    assert facts_by_host(HOSTS)("node1") == marked({"ports": []})


def test_results_of_all_hosts_are_not_evaluated(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    assert registered({"hostvars": HOSTS}, ["node1"], "rdma_site") == {"node1": {"left_out": {"ipoib": ["{{ text }}"]}}}
    assert host_of_run("node1", {"hostvars": HOSTS}, variables=["rdma_site"], failures=["failure"], alive=["node1"]).leaves == {"ipoib": ["{{ text }}"]}
    assert _pending.answer({}, {"hostvars": HOSTS, "ansible_play_hosts_all": ["node1"]}, False) == {"pending": {}}
