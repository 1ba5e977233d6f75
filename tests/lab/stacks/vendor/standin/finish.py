# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installer's steps after the packages: firmware, and the files that it rewrites."""

from __future__ import annotations

import pathlib
import re
import typing as t

from standin import host
from standin.options import Options

OFED_INFO = pathlib.Path("/usr/bin/ofed_info")
OPENIB_CONF = pathlib.Path("/etc/infiniband/openib.conf")
LIMITS = pathlib.Path("/etc/security/limits.conf")
UDEV_RULES = pathlib.Path("/etc/udev/rules.d/90-ib.rules")


def rewritten_info(text: str, package: str, version: str) -> str:
    """Convert ofed_info of a packaged release to that of a bundle: both answers, the headline, and every other OFED-internal."""
    lines = []
    for line in text.splitlines():
        if re.match(r"OFED", line):
            line = "%s-%s (%s):" % (package, version, line.replace(":", "").replace("internal-", ""))
        elif line.startswith("if") and "exit" in line and "X-s" in line:
            line = 'if [ "X$1" == "X-s" ]; then echo %s-%s:; exit 0; fi' % (package, version)
        elif line.startswith("if") and "exit" in line and "X-n" in line:
            line = 'if [ "X$1" == "X-n" ]; then echo %s; exit 0; fi' % version
        lines.append(line.replace("OFED-internal", package))
    return "\n".join(lines) + "\n"


def with_key(text: str, key: str, value: str) -> str:
    """Return openib.conf with every line of this key changed. Without such a line only POST_START_DELAY is added."""
    changed, count = re.subn(r"(?m)^(\s*%s=).*$" % re.escape(key), lambda match: match.group(1) + value, text)
    if not count and key == "POST_START_DELAY":
        changed += "\n# Seconds to sleep after openibd start finished and before releasing the shell\n%s=%s\n" % (key, value)
    return changed


def with_memlock(text: str) -> str:
    """Return limits.conf with a memlock line for each of soft and hard that it lacks."""
    for kind in ("soft", "hard"):
        if not re.search(r"(?m)^[^#]*%s.*memlock" % kind, text):
            text += "* %s memlock unlimited\n" % kind
    return text


def in_container() -> bool:
    return pathlib.Path("/.dockerenv").exists() or "docker" in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8")


def _edit(path: pathlib.Path, change: t.Callable[[str], str]) -> None:
    if path.is_file():
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def firmware(node: host.Host, options: Options, debs: pathlib.Path, tmpdir: str) -> int:
    """Return the result of the updater from its log. Without a log it is 1 if an update was wanted, else 0."""
    if "mlnx-fw-updater" in options.without:
        return 0
    update = not options.has("--without-fw-update") and options.group != "guest"
    update = update or options.has("--fw-update-only", "--force-fw-update")
    found = sorted(debs.glob("mlnx-fw-updater*.deb"))
    if not found:
        if update:
            node.say("Error: mlnx-fw-updater deb doesn't exist! Cannot perform firmware update!", True, host.RED)
        return 2 if update else 0
    if host.installed("mlnx-fw-updater"):
        node.run("dpkg --purge mlnx-fw-updater")
    log = node.logs / "fw_update.log"
    flags = "--log %s%s --tmpdir %s" % (log, " --force-fw-update" if options.has("--force-fw-update") else "", tmpdir)
    command = "FW_UPDATE_FLAGS='%s' RUN_FW_UPDATER='%s' dpkg -i %s" % (flags, "yes" if update else "no", found[0])
    node.say("Running: " + command, node.verbose > 1)
    print(host.output(command), end="", flush=True)
    said = re.search(r"EXIT_STATUS:\s*(\d+)", log.read_text(encoding="utf-8")) if log.exists() else None
    return int(said.group(1)) if said else int(update)


def opensm(node: host.Host, enable: bool) -> None:
    """Create the boot links of opensmd with --enable-opensm, else remove them, regardless of their origin."""
    if pathlib.Path("/etc/init.d/opensmd").exists():
        node.run("/usr/sbin/update-rc.d " + ("opensmd defaults" if enable else "-f opensmd remove"))
    elif host.installed("opensm"):
        node.run("systemctl %s opensmd" % ("enable" if enable else "disable"))


def settings(node: host.Host, options: Options, package: str, version: str) -> None:
    """Rewrite all files that no package owns, in the installer's order."""
    tuner, tune = options.has("--enable-affinity"), options.has("--enable-mlnx_tune")
    _edit(OPENIB_CONF, lambda text: with_key(text, "RUN_AFFINITY_TUNER", "yes" if tuner else "no"))
    _edit(OPENIB_CONF, lambda text: with_key(text, "RUN_MLNX_TUNE", "yes" if tune else "no"))
    delay = options.values.get("post_start_delay", "0")
    if delay not in ("", "0"):
        _edit(OPENIB_CONF, lambda text: with_key(text, "POST_START_DELAY", delay))
    opensm(node, options.has("--enable-opensm"))
    if not in_container():
        node.say("Configuring /etc/security/limits.conf.", not node.quiet)
        _edit(LIMITS, with_memlock)
    if options.has("--umad-dev-rw", "--umad-dev-na"):
        mode = "0660" if options.has("--umad-dev-na") else "0666"
        rule = 'KERNEL=="umad*", NAME="infiniband/%%k", MODE="%s"' % mode
        _edit(UDEV_RULES, lambda text: re.sub(r'(?m)^KERNEL=="umad\*".*$', lambda match: rule, text))
    _edit(OFED_INFO, lambda text: rewritten_info(text, package, version))
