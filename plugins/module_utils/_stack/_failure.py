# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What to tell of a job of driver_stack that failed."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _mlnx_plan as mlnx
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_content import read_layout, way_out
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_place import DOWNLOAD_STAGE
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_codes import explain, log_folder, package_log, said_in
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import names_of, value_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import JOB

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State

_LINES = 8
_ERROR = re.compile(r"(?i)(E|dpkg|error|fatal)\b.*(:|error)")


def failure_of(job: State, root: str) -> CommandFailed:
    """What to tell of a job that failed."""
    output = jobs.read_log(JOB, root)
    options = job.memo.get("wanted", {}).get("installer_options", [])
    details: dict[str, t.Any] = {"job": job.result(), "rc": job.rc}
    if job.failed.startswith((mlnx.INSTALL_STAGE, mlnx.BUILD_STAGE)) and job.memo.get("wanted", {}).get("method") == "installer":
        builds = "--add-kernel-support" in names_of(options)
        words = explain(job.rc, output, builds, value_of(options, "--tmpdir") or "/tmp", job.log)
        folder = log_folder(output)
        log = package_log(output) or (folder + "/general.log" if folder else "")
        return CommandFailed(words, installer_said=said_in(read_text(log), _LINES) if log else [], **details)
    if job.failed == DOWNLOAD_STAGE:
        why = "it did not arrive in time; raise ofed_timeout, the next run goes on where this one ended"
        if job.rc != TIMED_OUT:
            why = [line.strip() for line in output.splitlines() if line.strip()][-1]
        return CommandFailed("ofed_bundle: %s: %s. Nothing was unpacked, no package was changed" % (job.memo.get("bundle", ""), why), **details)
    if job.failed == mlnx.CHECK_STAGE:
        wanted, found = job.memo.get("wanted", {}).get("version"), read_layout(job.memo.get("tree", "")).version
        words = "ofed_bundle: %s has the release %s, and %s is wanted. %s"
        return CommandFailed(words % (job.memo.get("bundle", ""), found or "that it does not tell", wanted, way_out(found, wanted)), **details)
    lines = [line for line in output.rpartition("\n==> ")[2].splitlines()[1:] if line.strip()]
    lines = ([line for line in lines if _ERROR.match(line)] or lines)[-_LINES:]
    said = "it did not end in time; raise ofed_timeout" if job.rc == TIMED_OUT else "exit status %d: %s" % (job.rc, " | ".join(lines))
    return CommandFailed("%s failed: %s. All output is in %s. The next run goes on from what is installed then" % (job.failed, said, job.log), **details)
