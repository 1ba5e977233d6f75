# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Draws docs/fabric_report.png: the report of a fabric with 16 hosts and several findings."""

from __future__ import annotations

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/unit"), str(ROOT / "tests/tools")]

import conftest  # noqa: F401  # makes the collection importable
from ansible_collections.rdma.ofed.plugins.plugin_utils._report._page import page
from browser import Browser, program
from common import SetupError, main
from support import report_fabrics

PICTURE = ROOT / "docs/fabric_report.png"


def draw() -> None:
    if not program():
        raise SetupError("no Chromium is installed")
    before = report_fabrics.two_levels(16, 4, 2)
    with tempfile.TemporaryDirectory() as folder, Browser.started() as browser:
        path = pathlib.Path(folder) / "ib-findings.html"
        path.write_text(page(report_fabrics.report(report_fabrics.broken(before), before, hosts=("storage1",))), encoding="utf-8")
        browser.screen(1280, 800)
        browser.open(path)
        browser.picture(PICTURE)


if __name__ == "__main__":
    main(draw)
