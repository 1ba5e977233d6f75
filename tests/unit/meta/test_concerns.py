# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists of concerns outside the registry are complete."""

from __future__ import annotations

import pathlib
import re

from ansible_collections.rdma.ofed.plugins.module_utils._concerns._looks import LOOKS
from ansible_collections.rdma.ofed.plugins.module_utils._concerns._registry import CONCERNS, ROLES

PLAYBOOKS = pathlib.Path(__file__).resolve().parents[3] / "playbooks"


def test_each_concern_with_hints_has_a_look() -> None:
    assert {name for name, concern in CONCERNS.items() if concern.hints is not None} <= set(LOOKS) <= set(CONCERNS)


def test_no_role_of_the_site_runs_unvalidated() -> None:
    """With --skip-tags always, the play that validates is skipped."""
    text = (PLAYBOOKS / "site.yml").read_text(encoding="utf-8")
    (guard,) = re.findall(r"when: rdma_site is not defined\n\s+run_once: true\n\s+tags: \[(.*)\]", text)
    assert set(guard.split(", ")) == set(re.findall(r"name: rdma\.ofed\.(\w+)$", text, re.MULTILINE)) - {"node_check"}


def test_each_role_that_can_be_absent_is_removed() -> None:
    text = (PLAYBOOKS / "remove.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"- role: rdma\.ofed\.(\w+)", text)) == {name for name in ROLES if name + "_state" in CONCERNS[name].variables}


def test_what_a_concern_needs_comes_before_it() -> None:
    assert [(name, needed) for index, name in enumerate(ROLES) for needed in CONCERNS[name].needs if needed not in ROLES[:index]] == []
