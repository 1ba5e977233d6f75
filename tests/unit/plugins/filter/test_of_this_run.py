# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The facts of a fact cache are not those of this run."""

from __future__ import annotations

import pytest
from ansible import constants
from ansible_collections.rdma.ofed.plugins.filter.of_this_run import FilterModule
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import marked

of_this_run = FilterModule().filters()["of_this_run"]


def test_facts_are_those_of_this_run_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", "/root/.ansible/tmp/ansible-local-7a")
    facts = marked({"gpu": {}})
    assert of_this_run(facts) == facts
    assert of_this_run({}) == of_this_run({"gpu": {}}) == of_this_run(None) == of_this_run("rdma") == {}
    # The cache hands them to the next run.
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", "/root/.ansible/tmp/ansible-local-8b")
    assert of_this_run(facts) == {}
