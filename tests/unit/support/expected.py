# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wanted and found states of a check, by concern."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._check._found import Found
from ansible_collections.rdma.ofed.plugins.module_utils._check._wanted import Wanted
from ansible_collections.rdma.ofed.plugins.module_utils._host._node import Node
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Found as Modules
from ansible_collections.rdma.ofed.plugins.module_utils._kmod._found import Seen

if t.TYPE_CHECKING:
    import pathlib

    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner


def wanting(wanted: Wanted, **concerns: t.Any) -> Wanted:
    """Return a wanted state with these concerns; None means that a concern is not checked."""
    return wanted._replace(concerns={name: value for name, value in {**wanted.concerns, **concerns}.items() if value is not None})


def having(found: Found, **concerns: t.Any) -> Found:
    """Return a found state with these concerns; kernel modules get the limits that are present."""
    modules = concerns.get("kernel_modules")
    if isinstance(modules, Modules):
        concerns["kernel_modules"] = found.concerns.get("kernel_modules", Seen())._replace(found=modules)
    return found._replace(concerns={**found.concerns, **concerns})


def limited(found: Found, **limits: t.Any) -> Found:
    """Return a found state with these limits of locked memory."""
    return having(found, kernel_modules=found.concerns.get("kernel_modules", Seen())._replace(**limits))


def at(run: Runner, root: pathlib.Path, release: str = "6.1.0") -> Node:
    return Node(run, release, {}, str(root))
