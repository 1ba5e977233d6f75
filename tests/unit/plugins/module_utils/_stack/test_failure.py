# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The reason of a failed job is the output of its failed stage, regardless of later cleanup."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_place import DOWNLOAD_STAGE
from ansible_collections.rdma.ofed.plugins.module_utils._stack._log import failure_of, reason
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import JOB

CLEANING = "\n==> cleaning up: rm -rf -- /var/lib/rdma.ofed/bundles/bundle.part\n"


def failed(stage: str, rc: int = 1) -> jobs.State:
    memo = {"bundle": "http://mirror/bundle.tgz", "wanted": {"method": "installer", "installer_options": ()}}
    return jobs.State("1", False, "cleaning up", 2, 3, 1.0, True, rc, stage, "/log", memo)


def write_log(root: pathlib.Path, text: str) -> None:
    path = root / jobs.JOBS.lstrip("/") / JOB / "log"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("cleaning", ["", CLEANING, CLEANING + "rm: it is busy\n"])
def test_the_failed_stage_tells_the_reason(tmp_path: pathlib.Path, cleaning: str) -> None:
    write_log(tmp_path, "\n==> first: true\nfine\n\n==> second: false\nerror: broken\n" + cleaning)
    assert reason(JOB, failed("second"), str(tmp_path)) == "exit status 1: error: broken"


@pytest.mark.parametrize("cleaning", ["", CLEANING])
def test_a_failed_download_tells_the_checksum(tmp_path: pathlib.Path, cleaning: str) -> None:
    write_log(tmp_path, "\n==> %s: curl\nthe checksum is sha256:00 instead of sha256:11\n%s" % (DOWNLOAD_STAGE, cleaning))
    assert "the checksum is sha256:00 instead of sha256:11" in failure_of(failed(DOWNLOAD_STAGE), str(tmp_path)).msg


def test_a_stage_that_printed_nothing_has_its_status(tmp_path: pathlib.Path) -> None:
    write_log(tmp_path, "\n==> %s: curl\n%s" % (DOWNLOAD_STAGE, CLEANING))
    assert "exit status 7" in failure_of(failed(DOWNLOAD_STAGE, 7), str(tmp_path)).msg
