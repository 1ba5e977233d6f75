# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What apt would do with a repository that is not declared yet, simulated on a copy of its lists."""

from __future__ import annotations

import os
import shutil
import tempfile
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Refused
from ansible_collections.rdma.ofed.plugins.module_utils._tools import _apt as apt
from ansible_collections.rdma.ofed.plugins.module_utils._tools._packages import Transaction

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Output, Runner

_TIMEOUT = 600


def _copy(source: str, target: str) -> None:
    os.makedirs(target, exist_ok=True)
    for name in sorted(os.listdir(source)) if os.path.isdir(source) else []:
        path = os.path.join(source, name)
        if os.path.isfile(path) and name != "lock":
            # Lists are tens of megabytes; apt replaces them and writes into none.
            try:
                os.link(path, os.path.join(target, name))
            except OSError:
                shutil.copyfile(path, os.path.join(target, name))


def _ask(run: Runner, argv: t.Sequence[str], options: t.Sequence[str]) -> Output:
    return run([argv[0], *(word for option in options for word in ("-o", option)), *argv[1:]], ok=None, timeout=_TIMEOUT)


def _said(output: Output) -> str:
    lines = [line for line in (output.stderr + "\n" + output.stdout).splitlines() if line.startswith(("E:", "W:"))]
    return " ".join(lines) or (output.stderr or output.stdout).strip()


def _write(files: t.Mapping[str, str], folder: str) -> str:
    """Write the repository files and the key into a folder of their own; returns the path of the sources file."""
    sources = ""
    for path, content in files.items():
        if not content:
            continue
        if path.startswith("/etc/apt/sources.list.d/"):
            sources = os.path.join(folder, "sources", os.path.basename(path))
        target = os.path.join(folder, "preferences" if "/preferences.d/" in path else "sources" if "/sources.list.d/" in path else "", os.path.basename(path))
        text = content.replace("/etc/apt/keyrings", folder) if "/sources.list.d/" in path else content
        with open(target, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
    return sources


def preview(run: Runner, files: t.Mapping[str, str], *, name: str, argv: t.Sequence[str], address: str, root: str = "/") -> tuple[list[str], Transaction]:
    """Read the lists of the new repository into a copy; the versions of the package `name` there, and what `argv` would do.

    Without `argv`, nothing is simulated. The errors name the repository.
    """
    with tempfile.TemporaryDirectory(prefix="rdma-ofed-") as folder:
        # apt reads keys and folders as a user without rights.
        os.chmod(folder, 0o755)
        _copy(os.path.join(root, "var/lib/apt/lists"), folder + "/lists")
        os.makedirs(folder + "/lists/partial")
        _copy(os.path.join(root, "etc/apt/sources.list.d"), folder + "/sources")
        _copy(os.path.join(root, "etc/apt/preferences.d"), folder + "/preferences")
        for path in files:
            # An earlier declaration of the same repository is replaced, not added to.
            for kind in ("sources", "preferences"):
                old = os.path.join(folder, kind, os.path.basename(path))
                if os.path.exists(old):
                    os.unlink(old)
        sources = _write(files, folder)
        common = ["Dir::State::lists=%s/lists" % folder, "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "APT::Sandbox::User=root"]
        alone = ["Dir::Etc::sourcelist=%s" % sources, "Dir::Etc::sourceparts=/dev/null", "APT::Get::List-Cleanup=0"]
        read = _ask(run, apt.Apt().update, [*common, *alone])
        if read.rc or "\nE:" in "\n" + read.stderr:
            raise CommandFailed("ofed_repository: %s can't be used: %s. Nothing was changed" % (address, _said(read)))
        offers = apt.parse_madison(_ask(run, ("apt-cache", "madison", name), [*common, *alone]).stdout)
        if not offers.get(name):
            raise Refused("ofed_repository: %s has no package %s. Nothing was changed" % (address, name))
        if not argv:
            return offers[name], Transaction({}, {})
        options = [*common, "Dir::Etc::sourceparts=%s/sources" % folder, "Dir::Etc::preferencesparts=%s/preferences" % folder]
        simulated = _ask(run, apt.simulate(argv), options)
        if simulated.rc:
            raise Refused("ofed_repository: apt can't install this from %s: %s Nothing was changed" % (address, _said(simulated)))
        return offers[name], apt.parse_simulation(simulated.stdout)
