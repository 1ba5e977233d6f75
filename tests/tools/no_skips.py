# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pytest plugin: in CI, a test that is skipped for an unknown reason fails.

A skipped test looks green and tests nothing. Outside CI a developer may lack a tool, so skips are only reported.
"""

from __future__ import annotations

import os
import typing as t

import pytest

# Prefixes of the reasons that are valid on every machine. Keep this list short.
KNOWN_REASONS: t.Tuple[str, ...] = ("no opensm of a vendor: ", "no promtool: ")


def _is_known(report: pytest.TestReport) -> bool:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return any(reason.replace("Skipped: ", "", 1).startswith(known) for known in KNOWN_REASONS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # pytest also reports an expected failure as skipped, with "wasxfail".
    if os.environ.get("CI") == "true" and report.skipped and not hasattr(report, "wasxfail") and not _is_known(report):
        report.outcome = "failed"
        report.longrepr = "skipped in CI without a known reason (tests/tools/no_skips.py): %s" % (report.longrepr,)
