#!/usr/bin/python3
# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stand-in for the uninstaller: uninstall.sh of a bundle and /usr/sbin/ofed_uninstall.sh of ofed-scripts.

As in 5.0, it exits with 174 only for packages whose NAMES contain a listed name, not for packages that depend on a listed one: those are removed silently. The
fault `strict-uninstall` (see mlnxofedinstall) makes it refuse these too.
"""

from __future__ import annotations

import os
import pathlib
import re
import shlex
import subprocess
import sys

LOG = pathlib.Path("/tmp/ofed.uninstall.log")
KEPT = re.compile(r"^xen|ovsvf-config|opensmtpd")
# Filled in when the bundle is built.
_NAMES = "@REMOVE@"
REMOVE = _NAMES.split()
USAGE = """
 Usage: %s [options]

           --unload-modules     Run /etc/init.d/openibd stop before uninstall
           --force              Force uninstallation and remove packages that depends on MLNX_OFED
           --keep-mft           Don't remove MFT package
           -v|--verbose         Increase verbosity level
           --dry-run            Print the list of packages to be uninstalled without actually uninstalling them
           -q                   Set quiet - no messages will be printed
"""


def output(command: str) -> str:
    done = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode(errors="replace")


def listed(states: str) -> list[str]:
    """Return the packages whose two state letters match, as dpkg-query -l shows them, with one call for all patterns."""
    lines = output("dpkg-query -W -f '${db:Status-Abbrev} ${Package}\\n'").splitlines()
    return [line.split()[-1] for line in lines if re.match(states, line)]


def faults() -> set[str]:
    node = pathlib.Path("/etc/ofed-standin")
    words = os.environ.get("OFED_STANDIN", "") + " " + (node.read_text(encoding="utf-8") if node.is_file() else "")
    return {word.partition("=")[0] for word in re.split(r"[,\s]+", words)}


class Uninstaller:
    def __init__(self, flags: set[str]) -> None:
        self.flags = flags
        self.quiet = bool(flags & {"-q", "--quiet"})
        self.verbose = bool(flags & {"-v", "--verbose"})
        self.packages: list[str] = []
        self.dependants: list[str] = []
        self.foreign: list[str] = []
        self.checked: set[str] = set()
        self.strict = "strict-uninstall" in faults()
        self.info = output("ofed_info").lower()
        LOG.unlink(missing_ok=True)

    def note(self, text: str) -> None:
        with LOG.open("a", encoding="utf-8") as log:
            log.write(text + "\n")
        if self.verbose:
            print(text, flush=True)

    def run(self, command: str, must: bool = True) -> None:
        self.note("Running: " + command)
        with LOG.open("a", encoding="utf-8") as log:
            status = subprocess.run(command, shell=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False).returncode
        if status and must:
            print("Failed command: " + command, flush=True)
            sys.exit(1)

    def _own(self, name: str) -> bool:
        return name in REMOVE or name.lower() in self.info or bool(re.search("ofed-scripts|mlnx-ofed-", name))

    def _requires(self, name: str, root: str) -> None:
        if name in self.checked or name == "rdma":
            return
        self.checked.add(name)
        text = output("dpkg --purge --dry-run %s 2>&1" % shlex.quote(name))
        for match in re.finditer(r"^\s*(\S+) depends on", text, re.M):
            dependant = match.group(1).partition(":")[0]
            self._requires(dependant, root)
            if KEPT.search(dependant) or dependant in (*self.packages, *self.dependants) or ("--keep-mft" in self.flags and "mft" in dependant):
                continue
            self.note(dependant + " will be removed.")
            self.dependants.append(dependant)
            if (self.strict or root not in REMOVE) and not self._own(dependant):
                self.foreign.append(dependant)

    def look(self) -> None:
        installed = listed("[rhi][iU]")
        for pattern in REMOVE:
            if "--keep-mft" in self.flags and "mft" in pattern:
                continue
            for name in [name for name in installed if pattern in name]:
                if KEPT.search(name) or name in (*self.packages, *self.dependants):
                    continue
                self.note(name + " will be removed.")
                self.packages.append(name)
                if not self._own(name):
                    self.foreign.append(name)
                self._requires(name, name)

    def confirm(self) -> None:
        print("\nThis program will uninstall all %s packages on your machine.\n" % output("ofed_info -s").strip().rstrip(":"))
        print("Do you want to continue?[y/N]:", end="", flush=True)
        answer = sys.stdin.read(1)
        print(answer + "\n", flush=True)
        if answer not in ("y", "Y"):
            print("Uninstall was aborted.")
            sys.exit(1)

    def remove(self) -> None:
        self.run("dpkg --configure -a", must=False)
        self.run("apt-get install -f", must=False)
        everything = [*self.packages, *self.dependants]
        if everything:
            self.run("apt-get remove -y " + " ".join(everything))
        left = listed("rc")
        for name in [name for name in everything if name in left]:
            self.run("apt-get remove --purge -y " + name, must=not name.startswith("opensm"))

    def main(self) -> int:
        dry = "--dry-run" in self.flags
        if not self.quiet:
            print("Log: %s" % LOG, file=sys.stderr, flush=True)
        if "--force" not in self.flags and not dry:
            self.confirm()
        if not self.quiet:
            print("Removing MLNX_OFED packages", flush=True)
        if dry:
            print("Running in dry run mode. Packages will not be removed.", flush=True)
        if "--unload-modules" in self.flags:
            print("Unloading kernel modules...", flush=True)
            if not dry and subprocess.run(["/etc/init.d/openibd", "stop"], check=False).returncode:
                print("Failed to unload kernel modules", flush=True)
                return 1
        self.look()
        if self.foreign and "--force" not in self.flags:
            print("\nError: One or more packages depends on MLNX_OFED.\nThose packages should be removed before uninstalling MLNX_OFED:\n")
            print(" ".join(self.foreign) + "\n")
            print("To force uninstallation use '--force' flag.", flush=True)
            return 174
        if not self.quiet:
            print("The following packages will be removed:\n" + " ".join([*self.packages, *self.dependants]), end="")
        print(flush=True)
        if not dry:
            self.remove()
        return 0


def main(argv: list[str]) -> int:
    if os.getuid():
        print("Only root can run %s" % sys.argv[0])
        return 172
    known = {"--force", "--unload-modules", "-v", "--verbose", "-q", "--quiet", "--dry-run", "--keep-mft"}
    if set(argv) - known:
        # Help and misspelt options: no action and no error.
        print(USAGE % sys.argv[0])
        return 0
    os.environ.update(LANG="C", LC_ALL="C")
    return Uninstaller(set(argv)).main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
