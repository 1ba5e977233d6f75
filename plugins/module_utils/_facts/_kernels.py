# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""The installed kernels, and which of them have the RDMA modules."""

from __future__ import annotations

import os
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._facts._dkms import read_sources, state_of
from ansible_collections.rdma.ofed.plugins.module_utils._facts._sysfs import attribute, entries

# What this collection's roles need of a kernel; the driver of the adapter comes on top.
CORE = ("ib_core", "ib_uverbs", "ib_umad", "ib_ipoib")
# Those of upper-layer protocols.
ULPS = ("ib_iser", "ib_srp", "nvme_rdma", "rds_rdma", "rpcrdma")
MODULES = (*CORE, "rdma_ucm", "mlx4_core", "mlx4_ib", "mlx5_core", "mlx5_ib", *ULPS)
_SUFFIXES = (".ko", ".ko.xz", ".ko.zst", ".ko.gz")


class Kernel(t.NamedTuple):
    """One kernel below /lib/modules."""

    release: str
    running: bool
    modules: dict[str, bool]
    """For each of MODULES: whether it is there, as a file or built in."""
    rdma: bool
    """Whether all of CORE are there. Some distributions put them into a package of their own, and cloud kernels leave them out."""
    stack: str = "none"
    """Whose `ib_core` it would load: `inbox`, `ofed`, or `none`."""
    dkms: str = ""
    """Whether DKMS has built the vendor's driver for it, `built` or `missing`; "" where DKMS has none to build."""


def parse_module_names(text: str) -> set[str]:
    """modules.dep or modules.builtin -> names as the kernel spells them (with underscores)."""
    names = set()
    for line in text.splitlines():
        name = line.partition(":")[0].strip().rpartition("/")[2]
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
        if suffix:
            names.add(name[: -len(suffix)].replace("-", "_"))
    return names


def parse_stack(dependencies: str, builtin: str) -> str:
    """modules.dep and modules.builtin -> whose `ib_core` is loaded: `inbox`, `ofed` or `none`.

    depmod lists the one file of a name that goes before the others. The kernel's own are below `kernel/`, those of others
    below `updates/`, `extra/` or `weak-updates/`.
    """
    for line in (*dependencies.splitlines(), *builtin.splitlines()):
        path = line.partition(":")[0].strip()
        if "ib_core" in parse_module_names(path):
            return "inbox" if path.startswith("kernel/") or "/kernel/drivers/" in path else "ofed"
    return "none"


def kernel(release: str, names: t.Collection[str], running: str) -> Kernel:
    """One kernel with the module names that it has."""
    modules = {name: name in names for name in sorted(MODULES)}
    return Kernel(release, release == running, modules, all(modules[name] for name in CORE))


def read_kernels(root: str = "/", running: str = "") -> tuple[Kernel, ...]:
    """All installed kernels by release. A directory left behind by a removed kernel has no list of modules and is skipped."""
    base = os.path.join(root, "lib/modules")
    found = []
    sources = read_sources(root)
    for release in entries(base):
        texts = [attribute(base, release, name) for name in ("modules.dep", "modules.builtin")]
        if any(texts):
            one = kernel(release, parse_module_names("\n".join(texts)), running)
            found.append(one._replace(stack=parse_stack(*texts), dkms=state_of(release, sources)))
    return tuple(found)
