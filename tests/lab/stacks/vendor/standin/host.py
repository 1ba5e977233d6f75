# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installer's access to the node: commands, dpkg queries, logs and faults."""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import typing as t

PREREQUISITE, ERROR, INVALID, NO_SPACE, FOREIGN = 172, 1, 22, 28, 174
RED, YELLOW, GREEN, RESET = "\033[31m", "\033[33m", "\033[32m", "\033[0m"
# Never removed, even if their names match.
KEPT = re.compile(r"^xen|ovsvf-config|opensmtpd")


def faults(bundle: pathlib.Path) -> dict[str, str]:
    """Read faults from the environment, the node and the bundle. The environment passes them to the packages' scripts."""
    texts = [os.environ.get("OFED_STANDIN", "")]
    texts += [path.read_text(encoding="utf-8") for path in (pathlib.Path("/etc/ofed-standin"), bundle / ".faults") if path.is_file()]
    pairs = [word.partition("=") for text in texts for word in re.split(r"[,\s]+", text) if word]
    found: dict[str, str] = {}
    for key, _equals, value in pairs:
        found.setdefault(key, value)
    os.environ["OFED_STANDIN"] = ",".join("%s=%s" % pair if pair[1] else pair[0] for pair in found.items())
    return found


def distribution(root: pathlib.Path = pathlib.Path("/")) -> str:
    """Return ubuntu20.04 or debian12.5. Debian's os-release has no minor version, and a testing release none that counts."""
    release: dict[str, str] = dict(re.findall(r'(?m)^(\w+)="?([^"\n]*)"?$', (root / "etc/os-release").read_text(encoding="utf-8")))
    if release.get("ID") != "debian":
        return release.get("ID", "") + release.get("VERSION_ID", "")
    version = (root / "etc/debian_version").read_text(encoding="utf-8").strip()
    return "debian" + (version if version[:1].isdigit() else "0")


class Host:
    """One run: its log directory and its verbosity."""

    def __init__(self, package: str, tmpdir: str, quiet: bool, verbose: int) -> None:
        self.logs = pathlib.Path(tmpdir) / ("%s.%d.logs" % (package, os.getpid()))
        self.logs.mkdir(parents=True, exist_ok=True)
        self.general = self.logs / "general.log"
        self.general.write_text("", encoding="utf-8")
        self.quiet = quiet
        self.verbose = verbose

    def say(self, text: str, show: bool = True, colour: str = "") -> None:
        """Write to general.log, and to the terminal if the text is to be shown."""
        with self.general.open("a", encoding="utf-8") as log:
            log.write(text + "\n")
        if show:
            print(colour + text + RESET if colour else text, flush=True)

    def run(self, command: str, log: pathlib.Path | None = None) -> int:
        """Run a shell command with its output in the log. Death by a signal is a failure."""
        with (log or self.general).open("a", encoding="utf-8") as file:
            return subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False).returncode

    def must(self, command: str) -> None:
        self.say("Running: " + command, self.verbose > 1)
        if self.run(command):
            self.say("Failed command: " + command, True, RED)
            sys.exit(ERROR)

    def install(self, name: str, command: str, hooks: t.Mapping[str, str]) -> None:
        """Run dpkg for one package, with a log of its own."""
        self._hook("pre", name, hooks)
        self.say("Running " + command, self.verbose > 0)
        log = self.logs / (name + ".debinstall.log")
        log.write_text(command + "\n", encoding="utf-8")
        if self.run(command, log):
            self.say("Failed to install %s DEB" % name, True, RED)
            self.collect(log)
            self.say("See %s" % log, True, RED)
            sys.exit(ERROR)
        self._hook("post", name, hooks)

    def _hook(self, when: str, name: str, hooks: t.Mapping[str, str]) -> None:
        script = hooks.get("%s-install-%s" % (when, name))
        if script:
            self.say("Running %s %s install script: %s" % (name, when, script), self.verbose > 0)
            if self.run(script):
                self.say("Command execution failed: " + script, True, RED)
                sys.exit(ERROR)

    def collect(self, log: pathlib.Path) -> None:
        """Append the details of a failure to the log of the package."""
        if not self.quiet:
            print("Collecting debug info...", flush=True)
        with log.open("a", encoding="utf-8") as file:
            file.write("\n\n\n---------------- START OF DEBUG INFO -------------------\n")
            file.write("Install command: %s\n\n- uname -r: %s\n\n- dpkg --list:\n" % (shlex.join(sys.argv), os.uname().release))
        self.run("dpkg --list", log)
        with log.open("a", encoding="utf-8") as file:
            file.write("---------------- END OF DEBUG INFO -------------------\n")

    def pause(self, seconds: str) -> None:
        if seconds:
            time.sleep(float(seconds))


def output(command: str) -> str:
    """Return the output of a shell command, regardless of its status."""
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode(errors="replace")


def installed(name: str) -> bool:
    """Return whether a package is installed; unpacked or marked for removal counts as well."""
    return any(re.match(r"[rhi][iU]", line) for line in output("dpkg-query -l %s" % shlex.quote(name)).splitlines())


def listed(states: str) -> list[str]:
    """Return the packages whose two state letters match, as dpkg-query -l shows them, with one call for all patterns."""
    lines = output("dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n'").splitlines()
    return [line.split()[-1] for line in lines if re.match(states, line)]


def dependants(name: str) -> list[str]:
    """Return the installed packages that the removal of this one would break, according to dpkg."""
    text = output("dpkg --purge --dry-run %s 2>&1" % shlex.quote(name))
    return [match.group(1).partition(":")[0] for match in re.finditer(r"^\s*(\S+) depends on", text, re.M)]
