# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The files of the loaded driver, where they are still there: those of the kernel stay beside those of a vendor, and DKMS keeps what it replaced."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import in_stack
from ansible_collections.rdma.ofed.plugins.module_utils._tools._modinfo import parse_files

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._facts._modules import Module
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

_FOLDERS = ("lib/modules/%s", "var/lib/dkms")


def _candidates(names: t.Collection[str], release: str, root: str) -> list[str]:
    found = []
    for folder in _FOLDERS:
        top = os.path.join(root, folder % release if "%" in folder else folder)
        for path, _folders, files in os.walk(top):
            found += [os.path.join(path, file) for file in files if ".ko" in file and file.partition(".ko")[0].replace("-", "_") in names]
    return sorted(found)


def former_files(modules: t.Sequence[Module], run: Runner, *, release: str, root: str = "/") -> dict[str, str]:
    """For each loaded module of the stack a file with the same build. Empty where one of them has none: half a driver is of no use."""
    wanted = {module.name: module.srcversion_loaded for module in modules if in_stack(module.name)}
    paths = _candidates(wanted, release, root)
    if not paths:
        return {}
    found: dict[str, str] = {}
    for path, fields in parse_files(run(["modinfo", *paths], ok=None, timeout=60).stdout).items():
        name = os.path.basename(path).partition(".ko")[0].replace("-", "_")
        # Those of Debian's kernels have none, and those of a vendor have one. Folders of the kernel come before those for updates.
        if fields.get("srcversion", "") == wanted.get(name):
            found.setdefault(name, path)
    return found if set(found) == set(wanted) else {}
