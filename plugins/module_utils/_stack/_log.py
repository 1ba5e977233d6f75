# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What a job writes: the package that it works on, and why it failed, with what to do."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import time
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed
from ansible_collections.rdma.ofed.plugins.module_utils._host import _job as jobs
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._initramfs import REBUILD_STAGE
from ansible_collections.rdma.ofed.plugins.module_utils._host._run import TIMED_OUT
from ansible_collections.rdma.ofed.plugins.module_utils._stack import _plan as stages
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle import DIRECTORY, read_layout, way_out
from ansible_collections.rdma.ofed.plugins.module_utils._stack._bundle_place import DOWNLOAD_STAGE, UNPACK_STAGE, tidy
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_codes import explain, log_folder, package_log, said_in
from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_options import names_of, refused_by_help, value_of
from ansible_collections.rdma.ofed.plugins.module_utils._stack._look import JOB

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._job import State

_LINES = 8
# Jobs run in the C locale, in which every tool says this.
_NO_SPACE = os.strerror(errno.ENOSPC)
_ERROR = re.compile(r"(?i)(E|dpkg|error|fatal)\b.*(:|error)")
# dpkg: "Setting up rdma-core (44.0-2) ...", dnf: "  Installing : rdma-core-44.0-2.x86_64   3/12", zypper: "( 3/12) Installing: rdma-core-44.0-2.x86_64".
_DPKG = re.compile(r"^(?:Unpacking|Setting up|Removing) ([a-z0-9][a-z0-9+.-]{0,99})[: ]", re.MULTILINE)
_RPM = re.compile(r"^[ (0-9/)]{0,20}(?:Installing|Upgrading|Erasing|Removing) {0,9}: ([A-Za-z0-9][\w+.-]{0,99})-[^\s-]{1,99}-[^\s-]{1,99}", re.MULTILINE)
# The installer has a file for each package: mlnx-ofed-kernel-dkms.debinstall.log.
_FILE = re.compile(r"^(.+)\.(?:deb|rpm)(?:install|build)\.log\Z")
_TAIL_BYTES = 4000


def last_package(text: str) -> str:
    """The last package that the output of a package manager names; "" where it names none."""
    found = [(match.start(), match[1]) for form in (_DPKG, _RPM) for match in form.finditer(text)]
    return max(found)[1] if found else ""


def package_at_work(job: State, root: str = "/") -> str:
    """The package of the newest log of a running job; "" where none tells it."""
    begun = time.time() - job.elapsed
    folder = value_of(job.memo.get("wanted", {}).get("installer_options", ()), "--tmpdir") or "/tmp"
    logs = glob.glob(os.path.join(glob.escape(root.rstrip("/") + folder), "MLNX_OFED_LINUX.*.logs", "*.log"))
    times = {}
    for path in (*logs, root.rstrip("/") + job.log):
        with contextlib.suppress(OSError):
            times[path] = os.stat(path).st_mtime
    for path in sorted((path for path, when in times.items() if when >= begun), key=times.__getitem__, reverse=True):
        match = _FILE.match(os.path.basename(path))
        name = match[1] if match else last_package(jobs.read_end(path, _TAIL_BYTES))
        if name:
            return name
    return ""


def _printed(name: str, job: State, root: str) -> list[str]:
    """The lines that the failed stage of a job printed. What cleans up after it comes behind that."""
    # Each stage begins with a line that has its command line.
    before, *stages_of_job = ("\n" + jobs.read_log(name, root)).split("\n==> ")
    failed = [text for text in stages_of_job if text.startswith(job.failed + ":")] or stages_of_job
    lines = failed[-1].splitlines()[1:] if failed else before.splitlines()
    return [line.strip() for line in lines if line.strip()]


def reason(name: str, job: State, root: str) -> str:
    """The end of what the failed stage of a job printed, or that it took too long."""
    if job.rc == TIMED_OUT:
        return "it did not end in time; raise ofed_timeout"
    lines = _printed(name, job, root)
    return "exit status %d: %s" % (job.rc, " | ".join(([line for line in lines if _ERROR.match(line)] or lines)[-_LINES:]))


def _installer_failure(job: State, root: str, details: t.Mapping[str, t.Any]) -> CommandFailed:
    output, options = jobs.read_log(JOB, root), job.memo["wanted"]["installer_options"]
    builds = "--add-kernel-support" in names_of(options)
    words = explain(job.rc, output, kernel_support=builds, tmpdir=value_of(options, "--tmpdir") or "/tmp", log=job.log)
    folder = log_folder(output)
    log = package_log(output) or (folder + "/general.log" if folder else "")
    return CommandFailed(words, installer_said=said_in(read_text(log), _LINES) if log else [], **details)


def failure_of(job: State, root: str) -> CommandFailed:
    """The error for a job of driver_stack that failed."""
    wanted = job.memo["wanted"]
    details: dict[str, t.Any] = {"job": job.result(), "rc": job.rc}
    if job.failed.startswith((stages.INSTALL_STAGE, stages.BUILD_STAGE)) and wanted["method"] == "installer":
        return _installer_failure(job, root, details)
    if job.failed == DOWNLOAD_STAGE:
        why = "it did not arrive in time; raise ofed_timeout, the next run goes on where this one ended"
        if job.rc != TIMED_OUT:
            why = next(reversed(_printed(JOB, job, root)), "exit status %d" % job.rc)
        return CommandFailed("ofed_bundle: %s: %s. Nothing was unpacked, no package was changed" % (job.memo["bundle"], why), **details)
    if job.failed == UNPACK_STAGE and _NO_SPACE in jobs.read_log(JOB, root):
        words = "ofed_bundle: %s could not be unpacked: the file system of %s is full. %s. Make room there, or give the path of an unpacked bundle"
        return CommandFailed(words % (job.memo["bundle"], DIRECTORY, "What was unpacked is removed again, and no package was changed"), **details)
    if job.failed == stages.OPTIONS_STAGE:
        wrong = [refused_by_help(name, version=wanted["version"], family="") for name in _printed(JOB, job, root)]
        return CommandFailed("%s. No package was changed" % "; ".join(map(str, wrong)), **details)
    if job.failed == stages.CHECK_STAGE:
        found = read_layout(job.memo["tree"]).version
        words = "ofed_bundle: %s has the release %s, and %s is wanted. %s"
        text = words % (job.memo["bundle"], found or "that it does not tell", wanted["version"], way_out(found, wanted["version"]))
        return CommandFailed(text, **details)
    if job.failed.startswith(REBUILD_STAGE):
        words = "%s failed: %s. All output is in %s. The stack is installed; rebuild the image before the next boot, which would load the former modules"
        return CommandFailed(words % (job.failed, reason(JOB, job, root), job.log), **details)
    words = "%s failed: %s. All output is in %s. The next run goes on from what is installed then"
    return CommandFailed(words % (job.failed, reason(JOB, job, root), job.log), **details)


def require_success(name: str, job: State, root: str) -> None:
    """Raise CommandFailed for a job of kernel_policy or kernel_bundle that failed or was interrupted."""
    if not job.interrupted and not job.failed:
        return
    tidy(root)
    words = "%s was interrupted. The next run begins it again; all output is in %s" % (job.stage or "the job", job.log)
    if not job.interrupted:
        words = "%s failed, %s. All output is in %s" % (job.failed, reason(name, job, root), job.log)
    raise CommandFailed(words, job=job.result())
