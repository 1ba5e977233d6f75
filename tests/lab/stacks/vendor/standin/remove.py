# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Removes the previous stack and the distribution's packages, as the installer does."""

from __future__ import annotations

import re
import shutil
import sys
import typing as t

from standin import host


class Removal:
    """The packages to remove, found by name and by dependency."""

    def __init__(self, known: t.Container[str]) -> None:
        self.known = known
        self.packages: list[str] = []
        self.dependants: list[str] = []
        self.foreign: list[str] = []
        self._checked: set[str] = set()

    def _note(self, name: str, into: list[str]) -> None:
        into.append(name)
        if name not in self.known and "mlnx-ofed-" not in name:
            self.foreign.append(name)

    def _requires(self, name: str) -> None:
        if name in self._checked or name == "rdma":
            return
        self._checked.add(name)
        for dependant in host.dependants(name):
            self._requires(dependant)
            if not host.KEPT.search(dependant) and dependant not in (*self.packages, *self.dependants) and host.installed(dependant):
                self._note(dependant, self.dependants)

    def look(self, patterns: t.Iterable[str]) -> None:
        """Find packages. A pattern matches anywhere in a name: openmpi also matches libopenmpi3."""
        installed = host.listed("[rhi][iU]")
        for pattern in patterns:
            for name in [name for name in installed if pattern in name]:
                if not host.KEPT.search(name) and name not in (*self.packages, *self.dependants):
                    self._note(name, self.packages)
                    self._requires(name)


def previous(node: host.Host, package: str, force: bool) -> None:
    """Run the uninstaller of the previous version, answered with yes."""
    program = shutil.which("ofed_uninstall.sh")
    if not program:
        return
    node.say("Uninstalling the previous version of %s" % package, not node.quiet)
    log = node.logs / "ofed_uninstall.log"
    status = node.run("yes | %s%s --keep-mft" % (program, " --force" if force else ""), log)
    if status == host.FOREIGN:
        node.say("Error: One or more packages depends on %s.\nThese packages should be removed before uninstalling %s:" % (package, package))
        text = log.read_text(encoding="utf-8")
        between = re.search(r"Those packages should be[^\n]*\n(.*?)To force uninstallation use", text, re.S)
        print(between.group(1) if between else "", end="", flush=True)
        node.say("To force uninstallation use '--force' flag.")
        node.collect(log)
        node.say("See %s" % log, True, host.RED)
        sys.exit(host.FOREIGN)
    if status:
        node.say("Failed to uninstall the previous installation", True, host.RED)
        node.collect(log)
        node.say("See %s" % log, True, host.RED)
        sys.exit(host.ERROR)


def old_packages(node: host.Host, package: str, catalogue: t.Mapping[str, t.Any], force: bool) -> None:
    """Remove the previous version and the distribution's packages with one apt-get remove, then purge the remaining ones one by one."""
    node.say("Removing old packages...", not node.quiet)
    previous(node, package, force)
    removal = Removal(catalogue["known"])
    removal.look(catalogue["remove"])
    if removal.foreign and not force:
        node.say("\nError: One or more packages depends on %s.\nThese packages should be removed before uninstalling %s:\n" % (package, package))
        node.say(" ".join(removal.foreign) + "\n")
        node.say("To force uninstallation use '--force' flag.")
        sys.exit(host.FOREIGN)
    everything = [*removal.packages, *removal.dependants]
    if everything:
        node.must("apt-get remove -y " + " ".join(everything))
    left = host.listed("rc")
    for name in [name for name in everything if name in left]:
        command = "apt-get remove --purge -y " + name
        if name.startswith("opensm"):
            node.run(command)
        else:
            node.must(command)
