# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pytest plugin: writes a JUnit file per run to build/junit, and a line with the time of each test that is slow or fails.

The environment variable RDMA_SUITE is the name of the suite; RDMA_ALONE is the command that runs one test, with {} for its node id. A suite may run several
times: its files are numbered. This file also runs on the oldest Python of the plugins.
"""

from __future__ import annotations

import collections
import os
import pathlib
import shlex
import typing as t

import pytest
import timing
from _pytest.junitxml import xml_key
from common import JUNIT

WORTH_SECONDS = 0.5
"""A shorter test appears only in the JUnit file: there are thousands."""

SUITE = os.environ.get("RDMA_SUITE", "")


def unused(suite: str) -> pathlib.Path:
    number = 1
    while (JUNIT / ("%s.%d.xml" % (suite, number))).exists():
        number += 1
    return JUNIT / ("%s.%d.xml" % (suite, number))


def _write(name: str, seconds: float, why: t.Optional[str]) -> None:
    """Write the line of a test. `why` is the error, None if it passed."""
    alone = os.environ.get("RDMA_ALONE", "").replace("{}", shlex.quote(name))
    timing.test(SUITE, name, seconds=seconds, failed=why is not None, why=why or "", alone=alone)


def _why(report: t.Union[pytest.CollectReport, pytest.TestReport]) -> str:
    """Return the first lines of the error as pytest marks them, and the last lines of standard error, where the lab reports problems."""
    error = timing.brief([line[1:] for line in report.longreprtext.splitlines() if line.startswith("E ")])
    return "\n".join(filter(None, [error, timing.brief(report.capstderr.splitlines()[-timing.WORTH_LINES :])]))


class Times:
    """Sums set-up, call and teardown of each test."""

    def __init__(self) -> None:
        self.seconds: t.Dict[str, float] = collections.defaultdict(float)
        self.why: t.Dict[str, str] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            _write(report.nodeid, 0.0, _why(report))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.why.setdefault(report.nodeid, _why(report))

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        seconds, why = self.seconds.pop(nodeid, 0.0), self.why.get(nodeid)
        if why is not None or seconds >= WORTH_SECONDS:
            _write(nodeid, seconds, why)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set the option before pytest's own plugin reads it. In a worker of xdist, its controller has done so."""
    if SUITE and not hasattr(config, "workerinput"):
        JUNIT.mkdir(parents=True, exist_ok=True)
        config.option.xmlpath = str(unused(SUITE))
        config.pluginmanager.register(Times(), "rdma-times")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Name the commit that is tested in the JUnit file: see proofs.VARIABLE. The fixture of pytest for such properties does nothing in a worker of xdist."""
    xml = session.config.stash.get(xml_key, None)
    if xml and os.environ.get("RDMA_COMMIT"):
        xml.add_global_property("RDMA_COMMIT", os.environ["RDMA_COMMIT"])
