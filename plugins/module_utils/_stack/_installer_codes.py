# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The exit codes of mlnxofedinstall and its helpers, and what to do about each.

The vendor's manual lists 0, 1, 2, 22, 28, 171, 172 and 173. 174 and 30 are in the scripts only.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._stack._installer_run import AGAIN, packages_missing


class Meaning(t.NamedTuple):
    """What an exit code means, and the next step."""

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
    28: Meaning("not enough free space", "make room below /tmp (or the folder of --tmpdir), /usr and /lib/modules; a full installation takes about 3 GB"),
    30: Meaning("the bundle supports this kernel already", "leave --add-kernel-support out"),
    171: Meaning("the node has no adapter that this is for", "leave ofed_firmware_update off on nodes without such an adapter"),
    172: Meaning(
        "a prerequisite is missing: the bundle is for another distribution or architecture, lacks its file .mlnx, or a package of the distribution is missing",
        "take the bundle for this distribution, or add --skip-distro-check to ofed_installer_options; install the packages that the log names",
    ),
    173: Meaning("the mst driver could not be started", "leave ofed_firmware_update off, or install the headers of the kernel, for kernel-mft"),
    174: Meaning(
        "packages that are not part of OFED depend on packages that would go",
        "remove those packages, or name them in ofed_allow_removal: they go, and have to be installed again for the new stack",
    ),
    124: Meaning("it did not end in time", "raise ofed_timeout"),
    126: Meaning("it may not be executed", "mount the file system of its folder without noexec, and give the files back the modes that the bundle has"),
    127: Meaning("it, or its interpreter, is not there", "install perl, and check that the bundle is complete"),
}
_FLATTENED = Meaning(
    "a step of the build for this kernel failed: with --add-kernel-support every failure ends in 1, whatever it was",
    "install the headers and the compiler of this kernel, and read mlnx_add_kernel_support.*.log and general.log in the log folder",
)
_DECLINED = Meaning("it asked for a confirmation and got no answer", "report this: it is started in a way that asks for none")

_SEPARATORS = re.compile(r"[\s'\":]+")
_LOGS = re.compile(r"MLNX_OFED_LINUX[^/]*\.logs\b")
_ASKED = re.compile(r"do you want to continue\s*\?", re.IGNORECASE)
_COMMAND = re.compile(r"Failed command: ([^\n\033]+)")
_PACKAGE = re.compile(r"Failed to install (\S+) (?:DEB|RPM)\b")
_PACKAGE_LOG = re.compile(r"See (/\S+?\.(?:deb|rpm)install\.log)\b")
_NAMED = re.compile(r"packages? (?:should|must) be removed before", re.IGNORECASE)


def _last(pattern: t.Pattern[str], output: str) -> str:
    """What the last match has in its group; "" where there is none."""
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


def dependants_named(output: str) -> list[str]:
    """The foreign packages that the installer complains of. Old releases append the architecture to some names."""
    lines = [line for line in output.split("\n") if line.strip()]
    named = [after for line, after in zip(lines, lines[1:]) if _NAMED.search(line)]
    return sorted({name.partition(":")[0] for name in re.findall(r"[a-z0-9][a-z0-9+._:-]+", named[-1] if named else "")})


def package_log(output: str) -> str:
    """The log of the package that could not be installed; "" where none is named."""
    return _last(_PACKAGE_LOG, output)


def said_in(log: str, lines: int) -> list[str]:
    """The last lines of such a log, without what the installer appends to it: the command, versions and all packages of the node."""
    found = [line.strip() for line in log.partition("---- START OF DEBUG INFO")[0].splitlines()]
    return [line for line in found if line.strip("-") and not line.startswith("Processing triggers")][-lines:]


def meaning(code: int, output: str = "", kernel_support: bool = False) -> Meaning:
    """What an exit code means. `kernel_support` tells that --add-kernel-support was among the options."""
    if code == 1 and _ASKED.search(output) and not kernel_support:
        return _DECLINED
    if code == 1 and kernel_support:
        return _FLATTENED
    missing = packages_missing(output)
    if missing:
        text = "packages of the distribution are missing and could not be installed: %s" % ", ".join(missing)
        return Meaning(text, "enable a repository that has them, or install them on the node, and run the playbook again")
    command, package = _last(_COMMAND, output).strip(), _last(_PACKAGE, output)
    if code == 1 and command:
        return Meaning("its command failed: %s" % command, "try that command yourself; general.log in its log folder has its output")
    if code == 1 and package:
        return Meaning("the package %s could not be installed" % package, "read %s" % (package_log(output) or "the log of that package in its log folder"))
    return CODES.get(code, Meaning("an undocumented code", "read general.log in its log folder from the end"))


def explain(code: int, output: str = "", *, kernel_support: bool = False, tmpdir: str = "/tmp", log: str = "") -> str:
    """A sentence for the user: the code, its meaning, the next step, the logs. `log` is that of the job."""
    output = output.rpartition(AGAIN)[2]
    found = meaning(code, output, kernel_support)
    words = "mlnxofedinstall ended with exit status %d: %s" % (code, found.text)
    named = dependants_named(output)
    if named:
        words += " (%s)" % ", ".join(named)
    folder = log_folder(output)
    logs = "its logs are in %s" % (folder or "%s/MLNX_OFED_LINUX.*.logs" % tmpdir.rstrip("/"))
    both = "; all output is in %s" % log if log else ""
    return "%s. Next: %s; %s%s" % (words, found.next_step, logs, both)
