# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at third-party modules: those that were built on the present stack, and whether recorded ones fit it."""

from __future__ import annotations

import contextlib
import json
import os
import typing as t

from .._facts._boot import read_next_boot
from .._facts._gpu_driver import parse_versions, symvers_of
from .._facts._kernels import dkms_modules, is_driver, module_files, module_needs, read_sources, symbol_exporters
from .._facts._modules import consumers
from .._facts._stack import THIRD_PARTY
from .._facts._sysfs import link_target
from .._foreign import hexadecimal, read_table
from .._host._files import read_text, write_text
from ._fit import built_on, compared, judged
from ._found import Built, Found, Tree

if t.TYPE_CHECKING:
    from .._host._run import Runner

_SECONDS = 20


def _versions(text: str) -> dict[str, int]:
    return {symbol: hexadecimal(crc) or 0 for symbol, crc in parse_versions(text).items()}


def _needed(run: Runner, file: str) -> dict[str, int]:
    return _versions(run(["modprobe", "--dump-modversions", file], ok=None, timeout=_SECONDS).stdout)


def _offered(run: Runner, file: str, symvers: t.Mapping[str, int]) -> dict[str, int]:
    """What a module exports. modprobe shows that since kmod 26; before, Module.symvers of the stack or of the kernel tells it."""
    output = run(["modprobe", "--show-exports", file], ok=None, timeout=_SECONDS)
    return _versions(output.stdout) if output.rc == 0 else dict(symvers)


def _registered(tried: t.Collection[str], root: str) -> frozenset[str]:
    """The sources from which DKMS can build.

    A link to a source that is no longer there does not count: DKMS would remove the module and could not build another. `tried`: what the last job has built.
    DKMS forgets a source with its last build, and the job may have ended between that and its addition.
    """

    def has_code(source: str) -> bool:
        places = ("var/lib/dkms/%s/source/dkms.conf" % source, "usr/src/%s/dkms.conf" % source.replace("/", "-"))
        return any(os.path.isfile(os.path.join(root, place)) for place in places)

    return frozenset(filter(has_code, {"%s/%s" % (source.name, source.version) for source in read_sources(root)}.union(tried)))


def read_tree(run: Runner, release: str, names: t.Collection[str] | None = None, *, tried: t.Collection[str] = (), root: str = "/") -> Tree:
    """The modules of a kernel: with `names` for these third-party modules, else for all that depend on the stack."""
    base = os.path.join(root, "lib/modules", release)
    dependencies = read_text(os.path.join(base, "modules.dep"))
    paths, needs = module_files(dependencies), module_needs(dependencies)
    there = [name for name in (consumers(paths, needs) if names is None else names) if name in paths]
    if not run.has("modprobe") or (names is None and not there):
        return Tree(release, paths, needs)
    needed = {name: _needed(run, os.path.join(base, paths[name])) for name in there}
    exporters = symbol_exporters(read_text(os.path.join(base, "modules.symbols")))
    of_vendor, of_kernel = _versions(symvers_of(root, release)), _versions(read_text(os.path.join(base, "build/Module.symvers")))
    offered: dict[str, t.Mapping[str, int]] = {}
    for name in sorted({exporters[symbol] for versions in needed.values() for symbol in versions if symbol in exporters}):
        if compared(name, paths):
            known = of_kernel if paths[name].startswith("kernel/") else of_vendor
            offered[name] = _offered(run, os.path.join(base, paths[name]), {symbol: crc for symbol, crc in known.items() if exporters.get(symbol) == name})
    return Tree(release, paths, needs, exporters, needed, offered, dkms_modules(root, release), _registered(tried, root))


def _of_vendor(module: Built, owners: t.Callable[[t.Sequence[str]], t.Collection[str]], vendors: t.Collection[str], *, root: str) -> bool:
    """Whether the module, or its source in DKMS, is in a package of the stack."""
    if module.source:
        files = ["/usr/src/%s/dkms.conf" % module.source.replace("/", "-")]
    else:
        files = ["/lib/modules/%s/%s" % (module.kernel, module.path)]
        # A link of weak-modules belongs to no package, and leads to the module that was built for another kernel.
        target = link_target(root, files[0].lstrip("/"))
        files += [os.path.normpath(os.path.join(os.path.dirname(files[0]), target))] if target else []
    return bool(set(owners(files)) & set(vendors))


def on_stack(
    run: Runner, stack: str, *, running: str, owners: t.Callable[[t.Sequence[str]], t.Collection[str]], vendors: t.Collection[str], root: str = "/"
) -> tuple[Built, ...]:
    """The third-party modules that were built on the present stack, for the running kernel and the one that boots next.

    `stack`: its words. `owners`: the packages that own files. `vendors`: the packages of the stack. Takes a few short processes for each module, and none
    where no module depends on the stack.
    """
    drivers = {"%s/%s" % (source.name, source.version) for source in read_sources(root) if is_driver(source)}
    found: list[Built] = []
    for release in dict.fromkeys((running, read_next_boot(root).release)):
        if release:
            built = built_on(read_tree(run, release, root=root), stack)
            found += [module for module in built if module.source not in drivers and not _of_vendor(module, owners, vendors, root=root)]
    return tuple(found)


def read_record(root: str = "/") -> tuple[Built, ...]:
    """The modules that were built on a former stack and did not fit yet, from the record on the node."""
    rows = read_table(read_text(os.path.join(root, THIRD_PARTY))).get("modules")
    return tuple(filter(None, map(Built.of_row, rows if isinstance(rows, list) else ())))


def write_record(modules: t.Sequence[Built], root: str = "/") -> None:
    """Record them for later runs; without any, remove the record."""
    rows = [{name: value for name, value in module.row().items() if name != "command"} for module in modules]
    path = os.path.join(root, THIRD_PARTY)
    if rows:
        write_text(path, json.dumps({"modules": rows}, indent=1, sort_keys=True) + "\n", 0o600)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def look(run: Runner, modules: t.Sequence[Built], root: str = "/", *, tried: t.Collection[str] = ()) -> Found:
    """Whether the recorded modules fit the stack on disk. `tried`: the sources that the last job has built, or was to build."""
    found = Found(tuple(modules))
    for release in dict.fromkeys(module.kernel for module in modules):
        mine = [module for module in modules if module.kernel == release]
        tree = read_tree(run, release, [module.name for module in mine], tried=tried, root=root)
        # A kernel that was removed has no modules.
        if tree.paths:
            found = found._replace(misfits=(*found.misfits, *judged(mine, tree)), needs={**found.needs, release: tree.needs})
    return found
