# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The network back-ends, each by one line."""

from __future__ import annotations

import posixpath

from ansible_collections.rdma.ofed.plugins.module_utils._host._files import HEADER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib import _boot, _rename
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backend import Backend, Files
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifcfg_backend import IFCFG
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._ifupdown_backend import IFUPDOWN
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._netplan_backend import NETPLAN
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkd_backend import NETWORKD
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._networkmanager_backend import NETWORKMANAGER
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._backends._wicked_backend import WICKED
from ansible_collections.rdma.ofed.plugins.module_utils._ipoib._found import Record

# In the order in which former ones let go of interfaces and are told that files have gone.
BACKENDS: tuple[Backend, ...] = (
    NETWORKD,
    IFUPDOWN,
    NETPLAN,
    NETWORKMANAGER,
    IFCFG,
    WICKED,
)

# No back-end: removing needs none, and must work where the one that was used is gone.
NONE = Backend()


def named(name: str) -> Backend:
    """The back-end of this name; NONE for ""."""
    return next((backend for backend in BACKENDS if backend.name == name), NONE)


def names() -> tuple[str, ...]:
    return tuple(backend.name for backend in BACKENDS)


def recorded(files: Files) -> dict[str, Record]:
    """What earlier runs did, with whatever back-end."""
    found: dict[str, Record] = {}
    for backend in BACKENDS:
        found.update(backend.records(files))
    for name, mtu in _boot.recorded_mtus(files).items():
        found[name] = found.get(name, Record(name))._replace(mtu=mtu)
    return found


def is_ours(path: str, text: str) -> bool:
    """Whether a file belongs to this collection."""
    if path in (*_boot.PATHS, _rename.RULE_PATH):
        return HEADER in text
    return any(backend.is_ours(path, text) for backend in BACKENDS)


def file_mode(path: str) -> int:
    """The permissions of a file of ours."""
    if path == _boot.SCRIPT_PATH:
        return 0o755
    return next((backend.modes[posixpath.dirname(path)] for backend in BACKENDS if posixpath.dirname(path) in backend.modes), 0o644)
