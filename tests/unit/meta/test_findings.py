# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each finding is explained in docs/findings.md and worded in one place."""

from __future__ import annotations

import collections
import pathlib
import re

from ansible_collections.rdma.ofed.plugins.module_utils._check import _words
from ansible_collections.rdma.ofed.plugins.module_utils._fabric import _words as _fabric_words
from ansible_collections.rdma.ofed.plugins.module_utils._finding import Code
from ansible_collections.rdma.ofed.plugins.module_utils._jobs import _report as _job_report
from ansible_collections.rdma.ofed.plugins.module_utils._pairs import _report

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs/findings.md").read_text(encoding="utf-8")
CODES = sorted(code.value for code in Code)


def test_each_code_has_an_anchor_and_each_anchor_a_code() -> None:
    assert sorted(re.findall(r"^### (.*)$", PAGE, re.MULTILINE)) == CODES


def test_each_anchor_has_a_text() -> None:
    assert not [part.split("\n")[0] for part in PAGE.split("\n### ")[1:] if len(part.split()) < 8]


def test_each_code_has_words() -> None:
    written = collections.Counter(
        code.value for forms in (_words.FORMS, _fabric_words.COUNTER_FORMS, _fabric_words.FORMS, _report.FORMS, _job_report.FORMS) for code in forms
    )
    assert sorted(written) == CODES
    # Findings that nodes and the whole fabric have in common.
    assert {code for code, times in written.items() if times > 1} == {
        "bit_errors",
        "failed_over",
        "link_degraded",
        "no_master",
        "other_master",
        "several_masters",
    }
