# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parse the output of a job: the package that it works on, and why it failed, with advice.

The vendor's manual documents the exit codes 0, 1, 2, 22, 28, 171, 172 and 173 of mlnxofedinstall and its helpers. 174 and 30 appear
only in the scripts.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
import time
import typing as t

from .._errors import CommandFailed
from .._host import _job as jobs
from .._host._files import under
from .._host._initramfs import REBUILD_STAGE
from .._host._run import TIMED_OUT
from . import _plan as stages
from ._bundle import DIRECTORY, read_layout, way_out
from ._bundle_place import DOWNLOAD_STAGE, UNPACK_STAGE, tidy
from ._installer_options import Installer, names_of, value_of
from ._installer_run import AGAIN, packages_missing
from ._look import JOB

_LINES = 8
# Jobs run in the C locale, in which every tool prints this text.
_NO_SPACE = os.strerror(errno.ENOSPC)
_ERROR = re.compile(r"(?i)(E|dpkg|error|fatal)\b.*(:|error)")
# dpkg: "Setting up rdma-core (44.0-2) ...", dnf: "  Installing : rdma-core-44.0-2.x86_64   3/12", zypper: "( 3/12) Installing: rdma-core-44.0-2.x86_64".
# The installer itself prints "Removing old packages...".
_DPKG = re.compile(r"^(?:Unpacking|Setting up|Removing) ([a-z0-9][a-z0-9+.-]{0,99})(?::[a-z0-9-]{1,20})? \(", re.MULTILINE)
_RPM = re.compile(r"^[ (0-9/)]{0,20}(?:Installing|Upgrading|Erasing|Removing) {0,9}: ([A-Za-z0-9][\w+.-]{0,99})-[^\s-]{1,99}-[^\s-]{1,99}", re.MULTILINE)
# The installer writes one file per package: mlnx-ofed-kernel-dkms.debinstall.log.
_FILE = re.compile(r"^(.+)\.(?:deb|rpm)(?:install|build)\.log\Z")
_TAIL_BYTES = 4000
_SEPARATORS = re.compile(r"[\s'\":]+")
_LOGS = re.compile(r"MLNX_OFED_LINUX[^/]*\.logs\b")
_ASKED = re.compile(r"do you want to continue\s*\?", re.IGNORECASE)
# The forms of several releases: Failed command: CMD, Failed executing "CMD", Failed to run CMD.
_COMMAND = re.compile(r"Failed (?:command:|executing|to (?:run|execute))[^\S\n]*\"?([^\n\033\"]+)")
_PACKAGE = re.compile(r"Failed to (install|build) (\S+) (?:DEBS?|RPMS?)\b")
# Logs that the output refers to, the closest to the cause first: See /tmp/x.debinstall.log, ERROR: See /tmp/x.log, Consult /x/make.log for more.
_PACKAGE_LOG = re.compile(r"See (/\S+?\.(?:deb|rpm)(?:install|build)\.log)\b")
_NAMED_LOG = re.compile(r"\b(?:See|Consult|Check|in|log)(?: the)?(?: log file)?:? \"?(/[^\s\"\033]+?\.log)\b")
_LOG_BYTES = 1 << 20
_NAMED = re.compile(r"packages? (?:should|must) be removed before", re.IGNORECASE)


class Meaning(t.NamedTuple):
    """The meaning of an exit code, and the next step."""

    text: str
    next_step: str


CODES: t.Mapping[int, Meaning] = {
    0: Meaning("success", ""),
    1: Meaning(
        "a general failure: a package could not be built or installed, there is none for this kernel, or the family of the distribution is another",
        "read general.log in its log folder from the end",
    ),
    2: Meaning("no firmware was found for an adapter", "leave ofed_firmware_update off and burn images with the role hca_firmware"),
    22: Meaning("an option is not known to this release, or its value is wrong", "compare ofed_installer_options with the output of mlnxofedinstall --help"),
    28: Meaning("not enough free space", "free space below /tmp (or the folder of --tmpdir), /usr and /lib/modules; a full installation needs about 3 GB"),
    30: Meaning("the bundle supports this kernel already", "leave --add-kernel-support out"),
    171: Meaning("the node has no adapter that this is for", "leave ofed_firmware_update off on nodes without such an adapter"),
    172: Meaning(
        "a prerequisite is missing: the bundle is for another distribution or architecture, lacks its file .mlnx, or a package of the distribution is missing",
        "use the bundle for this distribution, or add --skip-distro-check to ofed_installer_options; install the packages that the log names",
    ),
    173: Meaning("the mst driver could not be started", "leave ofed_firmware_update off, or install the headers of the kernel, for kernel-mft"),
    174: Meaning(
        "packages that are not part of OFED depend on packages that would be removed",
        "remove those packages, or list them in ofed_allow_removal: they are removed, and have to be reinstalled for the new stack",
    ),
    124: Meaning("it did not end in time", "raise ofed_timeout"),
    126: Meaning("it may not be executed", "mount the file system of its folder without noexec, and restore the modes that the files have in the bundle"),
    127: Meaning("it, or its interpreter, is not there", "install perl, and check that the bundle is complete"),
}
_FLATTENED = Meaning(
    "a step of the build for this kernel failed: with --add-kernel-support every failure ends in 1, whatever it was",
    "install the headers and the compiler of this kernel, and read that log from the end",
)
_DECLINED = Meaning("it asked for a confirmation and received no answer", "report this: it is started with options that need no confirmation")


def last_package(text: str) -> str:
    """The last package that the output of a package manager names; "" where it names none."""
    found = [(match.start(), match[1]) for form in (_DPKG, _RPM) for match in form.finditer(text)]
    return max(found)[1] if found else ""


def package_at_work(job: jobs.State, root: str = "/") -> str:
    """The package from the newest log of a running job; "" where no log names one."""
    begun = time.time() - job.elapsed
    folder = value_of(job.memo.get("wanted", {}).get("installer_options", ()), "--tmpdir") or "/tmp"
    logs = glob.glob(os.path.join(glob.escape(under(root, folder)), "MLNX_OFED_LINUX.*.logs", "*.log"))
    times = {}
    for path in (*logs, under(root, job.log)):
        with contextlib.suppress(OSError):
            times[path] = os.stat(path).st_mtime
    for path in sorted((path for path, when in times.items() if when >= begun), key=times.__getitem__, reverse=True):
        match = _FILE.match(os.path.basename(path))
        # The packages of a former stage are done.
        name = match[1] if match else last_package(jobs.read_end(path, _TAIL_BYTES).rpartition("\n==> ")[2])
        if name:
            return name
    return ""


def _last(pattern: t.Pattern[str], output: str) -> str:
    """The group of the last match; "" where there is no match."""
    found = pattern.findall(output)
    return str(found[-1]) if found else ""


def log_folder(output: str) -> str:
    """The newest log folder that the installer's output names; "" where it names none."""
    found = ""
    for word in _SEPARATORS.split(output):
        path = word[word.find("/") :]
        folder, slash, name = path.rpartition("/MLNX_OFED_LINUX")
        logs = _LOGS.match(slash[1:] + name)
        if folder and logs:
            found = "%s/%s" % (folder, logs.group(0))
    return found


def log_named(output: str) -> str:
    """The log that the installer refers to, preferably that of a package; "" where it names none."""
    return _last(_PACKAGE_LOG, output) or _last(_NAMED_LOG, output)


def dependants_named(output: str) -> list[str]:
    """The foreign packages about which the installer complains. Old releases append the architecture to some names."""
    lines = [line for line in output.split("\n") if line.strip()]
    named = [after for line, after in zip(lines, lines[1:]) if _NAMED.search(line)]
    return sorted({name.partition(":")[0] for name in re.findall(r"[a-z0-9][a-z0-9+._:-]+", named[-1] if named else "")})


def said_in(log: str, lines: int) -> list[str]:
    """The last lines of such a log, without what the installer appends: the command, versions and all packages of the node."""
    found = [line.strip() for line in log.partition("---- START OF DEBUG INFO")[0].splitlines()]
    return [line for line in found if line.strip("-") and not line.startswith("Processing triggers")][-lines:]


def meaning(code: int, output: str = "", kernel_support: bool = False) -> Meaning:
    """The meaning of an exit code. `kernel_support`: whether --add-kernel-support was among the options."""
    if code == 1 and _ASKED.search(output) and not kernel_support:
        return _DECLINED
    missing = packages_missing(output)
    if missing:
        text = "packages of the distribution are missing and could not be installed: %s" % ", ".join(missing)
        return Meaning(text, "enable a repository that has them, or install them on the node, and run the playbook again")
    command, packages = _last(_COMMAND, output).strip(), _PACKAGE.findall(output)
    if code == 1 and packages:
        verb, package = packages[-1]
        log = log_named(output) or "the log of that package in its log folder"
        done, rest = ("installed", "") if verb == "install" else ("built", ", and compare the release with the kernels that it supports")
        return Meaning("the package %s could not be %s" % (package, done), "read %s%s" % (log, rest))
    if code == 1 and kernel_support:
        return _FLATTENED._replace(text="%s; its command failed: %s" % (_FLATTENED.text, command)) if command else _FLATTENED
    if code == 1 and command:
        return Meaning("its command failed: %s" % command, "try that command yourself; general.log in its log folder has its output")
    return CODES.get(code, Meaning("an undocumented code", "read general.log in its log folder from the end"))


def explain(code: int, output: str = "", *, kernel_support: bool = False, tmpdir: str = "/tmp", log: str = "") -> str:
    """A message for the user: the code, its meaning, the next step, the logs. `log`: that of the job."""
    output = output.rpartition(AGAIN)[2]
    found = meaning(code, output, kernel_support)
    words = "mlnxofedinstall ended with exit status %d: %s" % (code, found.text)
    named = dependants_named(output)
    if named:
        words += " (%s)" % ", ".join(named)
    told, folder = log_named(output), log_folder(output)
    # With kernel support, the build log is not where those of the installation are.
    usual = "%s/MLNX_OFED_LINUX%s" % (tmpdir.rstrip("/"), "-*/mlnx_iso.*_logs" if kernel_support else ".*.logs")
    logs = "its log is %s" % told if told else "its logs are in %s" % (folder or usual)
    both = "; all output is in %s" % log if log else ""
    return "%s. Next: %s; %s%s" % (words, found.next_step, logs, both)


def _printed(name: str, job: jobs.State, root: str) -> list[str]:
    """The lines that the failed stage of a job printed. The output of cleanup steps follows it."""
    # Each stage starts with a line that contains its command line.
    before, *stages_of_job = ("\n" + jobs.read_log(name, root)).split("\n==> ")
    failed = [text for text in stages_of_job if text.startswith(job.failed + ":")] or stages_of_job
    lines = failed[-1].splitlines()[1:] if failed else before.splitlines()
    return [line.strip() for line in lines if line.strip()]


def reason(name: str, job: jobs.State, root: str) -> str:
    """The end of the output of a job's failed stage, or that the stage timed out."""
    if job.rc == TIMED_OUT:
        return "it did not finish in time; raise ofed_timeout"
    lines = _printed(name, job, root)
    return "exit status %d: %s" % (job.rc, " | ".join(([line for line in lines if _ERROR.match(line)] or lines)[-_LINES:]))


def _installer_failure(job: jobs.State, root: str, details: t.Mapping[str, t.Any]) -> CommandFailed:
    output, options = jobs.read_log(JOB, root), job.memo["wanted"]["installer_options"]
    builds = "--add-kernel-support" in names_of(options)
    words = explain(job.rc, output, kernel_support=builds, tmpdir=value_of(options, "--tmpdir") or "/tmp", log=job.log)
    folder = log_folder(output)
    log = log_named(output) or (folder + "/general.log" if folder else "")
    return CommandFailed(words, installer_said=said_in(jobs.read_end(log, _LOG_BYTES), _LINES) if log else [], **details)


def failure_of(job: jobs.State, root: str) -> CommandFailed:
    """The error for a failed job of driver_stack."""
    wanted = job.memo["wanted"]
    details: dict[str, t.Any] = {"job": job.result(), "rc": job.rc}
    if job.failed.startswith((stages.INSTALL_STAGE, stages.BUILD_STAGE)) and wanted["method"] == "installer":
        return _installer_failure(job, root, details)
    if job.failed == DOWNLOAD_STAGE:
        why = "the download did not finish in time; raise ofed_timeout, the next run continues where this one stopped"
        if job.rc != TIMED_OUT:
            why = next(reversed(_printed(JOB, job, root)), "exit status %d" % job.rc)
        return CommandFailed("ofed_bundle: %s: %s. Nothing was unpacked, no package was changed" % (job.memo["bundle"], why), **details)
    if job.failed == UNPACK_STAGE and _NO_SPACE in jobs.read_log(JOB, root):
        words = "ofed_bundle: %s could not be unpacked: the file system of %s is full. %s. Free some space there, or set the path of an unpacked bundle"
        return CommandFailed(words % (job.memo["bundle"], DIRECTORY, "What was unpacked is removed again, and no package was changed"), **details)
    if job.failed == stages.OPTIONS_STAGE:
        wrong = [Installer(wanted["version"]).refused_by_help(name) for name in _printed(JOB, job, root)]
        return CommandFailed("%s. No package was changed" % "; ".join(map(str, wrong)), **details)
    if job.failed == stages.CHECK_STAGE:
        found = read_layout(job.memo["tree"]).version
        words = "ofed_bundle: %s has the release %s, and %s is wanted. %s"
        text = words % (job.memo["bundle"], found or "that it does not tell", wanted["version"], way_out(found, wanted["version"]))
        return CommandFailed(text, **details)
    then = "The next run continues from what is installed then"
    if job.failed.startswith(REBUILD_STAGE):
        then = "The stack is installed; rebuild the image before the next boot, which would load the former modules"
    return CommandFailed("%s failed: %s. All output is in %s. %s" % (job.failed, reason(JOB, job, root), job.log, then), **details)


def require_success(name: str, job: jobs.State, root: str) -> None:
    """Raise CommandFailed for a job of kernel_policy or kernel_bundle that failed or was interrupted."""
    if not job.interrupted and not job.failed:
        return
    tidy(root)
    words = "%s was interrupted. The next run starts it again; all output is in %s" % (job.stage or "the job", job.log)
    if not job.interrupted:
        words = "%s failed, %s. All output is in %s" % (job.failed, reason(name, job, root), job.log)
    raise CommandFailed(words, job=job.result())
