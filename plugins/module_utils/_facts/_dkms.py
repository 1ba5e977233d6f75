# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The tree of DKMS: which modules it has to build, and for which kernels it has them installed."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import entries

_TREE = "var/lib/dkms"
# The driver itself, in the spelling of Debian and of Red Hat. What is built on top of it (iser, srp, knem) has sources of its own.
_DRIVER = re.compile(r"^mlnx-of(ed|a)[-_]kernel\Z")


class Source(t.NamedTuple):
    """One version of one set of modules."""

    name: str
    version: str
    installed: tuple[str, ...] = ()
    """Releases of the kernels that have it installed."""


def is_driver(source: Source) -> bool:
    """Whether it is the vendor's driver."""
    return bool(_DRIVER.match(source.name))


def read_sources(root: str = "/") -> tuple[Source, ...]:
    """Everything in the tree. An installed build has a link `kernel-RELEASE-ARCH` to `VERSION/RELEASE/ARCH`."""
    found = []
    for name in entries(root, _TREE):
        builds: dict[str, list[str]] = {}
        for link in entries(root, _TREE, name):
            try:
                target = os.readlink(os.path.join(root, _TREE, name, link)) if link.startswith("kernel-") else ""
            except OSError:
                continue
            parts = target.strip("/").split("/")
            if len(parts) >= 3:
                builds.setdefault(parts[-3], []).append(parts[-2])
        for version in entries(root, _TREE, name):
            # A link to the source, which is left dangling by some that remove it.
            if os.path.lexists(os.path.join(root, _TREE, name, version, "source")):
                found.append(Source(name, version, tuple(sorted(builds.get(version, ())))))
    return tuple(found)


def state_of(release: str, sources: t.Sequence[Source]) -> str:
    """`built` or `missing`: whether the kernel has the vendor's driver from DKMS. "" where DKMS has none to build."""
    drivers = [source for source in sources if is_driver(source)]
    if not drivers:
        return ""
    return "built" if any(release in source.installed for source in drivers) else "missing"
