# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The installed kernels, whether they have the RDMA modules, and the modules that DKMS builds and has installed for them."""

from __future__ import annotations

import os
import re
import typing as t

from ._sysfs import attribute, entries, link_target

# The modules that the roles of this collection need, in addition to the driver of the adapter.
CORE = ("ib_core", "ib_uverbs", "ib_umad", "ib_ipoib")
# The modules of upper-layer protocols.
ULPS = ("ib_iser", "ib_srp", "nvme_rdma", "rds_rdma", "rpcrdma")
MODULES = (*CORE, "rdma_ucm", "mlx4_core", "mlx4_ib", "mlx5_core", "mlx5_ib", *ULPS)
_SUFFIXES = (".ko", ".ko.xz", ".ko.zst", ".ko.gz")
_TREE = "var/lib/dkms"
# The driver itself, in the spelling of Debian and of Red Hat. Modules that depend on it (iser, srp, knem) have sources of their own.
_DRIVER = re.compile(r"^mlnx-of(ed|a)[-_]kernel\Z")
# Names and versions that can stand on a command line.
_PART = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._+~:-]*\Z")
_SYMBOL = re.compile(r"^alias symbol:(\S+) (\S+)$", re.MULTILINE)


class Kernel(t.NamedTuple):
    """One kernel below /lib/modules."""

    release: str
    running: bool
    modules: dict[str, bool]
    """For each of MODULES: whether it exists, as a file or built in."""
    rdma: bool
    """Whether all of CORE exist. Some distributions ship them in a separate package, and cloud kernels lack them."""
    stack: str = "none"
    """The origin of the `ib_core` that it would load: `inbox`, `ofed`, or `none`."""
    dkms: str = ""
    """Whether DKMS has built the vendor's driver for it, `built` or `missing`; "" where DKMS has no source of it."""


def _module_name(path: str) -> str:
    name = path.strip().rpartition("/")[2]
    suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
    return name[: -len(suffix)].replace("-", "_") if suffix else ""


def module_files(text: str) -> dict[str, str]:
    """Parse modules.dep, modules.builtin, or both: the files by the kernel's module names (with underscores). The first file of a name counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        path = line.partition(":")[0].strip()
        name = _module_name(path)
        if name:
            found.setdefault(name, path)
    return found


def module_needs(text: str) -> dict[str, tuple[str, ...]]:
    """Parse modules.dep: the dependencies of each module, including indirect ones."""
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        path, _colon, needs = line.partition(":")
        name = _module_name(path)
        if name:
            found.setdefault(name, tuple(_module_name(need) for need in needs.split()))
    return found


def symbol_exporters(text: str) -> dict[str, str]:
    """Parse modules.symbols: the modules by the symbols that they export. Symbols of the kernel itself are not listed."""
    return {symbol: name.replace("-", "_") for symbol, name in _SYMBOL.findall(text)}


def stack_of(files: t.Mapping[str, str]) -> str:
    """The origin of the `ib_core` that is loaded: `inbox`, `ofed` or `none`.

    depmod lists only the preferred file of a name. Files of the kernel are below `kernel/`, those of others
    below `updates/`, `extra/` or `weak-updates/`.
    """
    path = files.get("ib_core")
    if path is None:
        return "none"
    return "inbox" if path.startswith("kernel/") or "/kernel/drivers/" in path else "ofed"


def read_kernels(root: str = "/", running: str = "") -> tuple[Kernel, ...]:
    """All installed kernels by release. A directory left behind by a removed kernel has no modules.dep and is skipped."""
    base = os.path.join(root, "lib/modules")
    found = []
    sources = read_sources(root)
    for release in entries(base):
        text = "\n".join(attribute(base, release, name) for name in ("modules.dep", "modules.builtin"))
        if text.strip():
            files = module_files(text)
            modules = {name: name in files for name in sorted(MODULES)}
            found.append(Kernel(release, release == running, modules, all(modules[name] for name in CORE), stack_of(files), state_of(release, sources)))
    return tuple(found)


class Source(t.NamedTuple):
    """One version of one set of modules."""

    name: str
    version: str
    installed: tuple[str, ...] = ()
    """Releases of the kernels for which it is installed."""


def is_driver(source: Source) -> bool:
    return bool(_DRIVER.match(source.name))


def read_sources(root: str = "/") -> tuple[Source, ...]:
    """All sources in the DKMS tree. An installed build has a link `kernel-RELEASE-ARCH` to `VERSION/RELEASE/ARCH`."""
    found = []
    for name in entries(root, _TREE):
        builds: dict[str, list[str]] = {}
        for link in entries(root, _TREE, name):
            parts = link_target(root, _TREE, name, link).strip("/").split("/") if link.startswith("kernel-") else ()
            if len(parts) >= 3:
                builds.setdefault(parts[-3], []).append(parts[-2])
        for version in entries(root, _TREE, name):
            # The link to the source. Some packages leave it dangling when they remove the source.
            if os.path.lexists(os.path.join(root, _TREE, name, version, "source")):
                found.append(Source(name, version, tuple(sorted(builds.get(version, ())))))
    return tuple(found)


def dkms_modules(root: str, release: str) -> dict[str, str]:
    """The modules that DKMS has installed for a kernel, with their sources in the notation NAME/VERSION."""
    found: dict[str, str] = {}
    for name in entries(root, _TREE):
        for link in entries(root, _TREE, name):
            version = link_target(root, _TREE, name, link).strip("/").split("/")[0]
            if link.startswith("kernel-") and link[len("kernel-") :].rpartition("-")[0] == release and _PART.match(name) and _PART.match(version):
                files = entries(root, _TREE, name, link, "module")
                found.update((_module_name(file), "%s/%s" % (name, version)) for file in files if _module_name(file))
    return found


def state_of(release: str, sources: t.Sequence[Source]) -> str:
    """Whether DKMS has built the vendor's driver for the kernel: `built` or `missing`; "" where DKMS has no source of it."""
    drivers = [source for source in sources if is_driver(source)]
    if not drivers:
        return ""
    return "built" if any(release in source.installed for source in drivers) else "missing"
