# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of RDMA devices after a boot: the effect of rdma-core's udev rule and of rdma_rename with its policy.

The containers have no udev. Names change at boot only, as on a host whose driver is not reloaded.
"""

from __future__ import annotations

import os
import re

from . import adapter
from .node import Hca, Node

RULE = "60-rdma-persistent-naming.rules"
# The first of these directories that has a file of that name wins.
FOLDERS = ("etc/udev/rules.d", "run/udev/rules.d", "usr/local/lib/udev/rules.d", "usr/lib/udev/rules.d", "lib/udev/rules.d")
KERNEL = "NAME_KERNEL"
BY_PLACE = ("NAME_FALLBACK", "NAME_PCI")

_RENAME = re.compile(r"^[^#\n]*\brdma_rename %k (NAME_[A-Z]+)", re.MULTILINE)


def policy(root: str = "/") -> str:
    """Return the policy of the node's udev rule; the kernel's if rdma-core is not installed."""
    for folder in FOLDERS:
        try:
            with open(os.path.join(root, folder, RULE), encoding="utf-8") as stream:
                found = _RENAME.findall(stream.read())
        except OSError:
            continue
        return found[-1] if found else KERNEL
    return KERNEL


def by_place(node: Node, hca: Hca) -> str:
    """Return the name that by_pci in rdma_rename.c gives: 0000:03:00.1 becomes ibp3s0f1. The first function has a suffix only on multi-function cards."""
    domain, bus, rest = hca.pci.split(":")
    slot, _dot, function = rest.partition(".")
    name = "ib%sp%ds%d" % ("P%d" % int(domain, 16) if int(domain, 16) else "", int(bus, 16), int(slot, 16))
    return name + ("f%d" % int(function) if int(function) or len(adapter.functions(node.hcas, hca)) > 1 else "")


def named(node: Node, chosen: str) -> Node:
    """Return the node with the names that the policy gives its devices."""
    if chosen not in BY_PLACE:
        return node
    return node._replace(hcas=tuple(hca._replace(device=by_place(node, hca)) for hca in node.hcas))
