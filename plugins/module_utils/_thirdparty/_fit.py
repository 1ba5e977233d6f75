# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether third-party modules fit the RDMA stack on disk, by the versions of symbols. Pure.

The kernel compares the CRC of each symbol that a module was built with to that of the module that exports it, and refuses a module where they differ.
"""

from __future__ import annotations

import typing as t

from .._facts._modules import consumers, of_stack
from ._found import Built, Misfit, Tree

_OF_KERNEL = "kernel/"


def compared(name: str, paths: t.Mapping[str, str]) -> bool:
    """Whether the versions of the symbols of this exporting module matter: those of the rest of the kernel change only with the kernel."""
    return name in paths and (of_stack(name) or not paths[name].startswith(_OF_KERNEL))


def misfit(name: str, tree: Tree, former: t.Collection[str] = ()) -> str:
    """The first symbol of the module that the tree lacks or has in another version; "" where there is none.

    `former`: the symbols that modules exported before; the kernel itself does not.
    """
    for symbol, version in sorted(tree.needed.get(name, {}).items()):
        exporter = tree.exporters.get(symbol, "")
        offered = tree.offered.get(exporter)
        if offered is None:
            if not exporter and symbol in former:
                return symbol
        elif offered.get(symbol, version) not in (0, version):
            return symbol
    return ""


def _from_others(name: str, tree: Tree) -> tuple[str, ...]:
    """The symbols of the module whose versions are known to come from the stack, or from other third-party modules."""
    rows = ((symbol, tree.offered.get(tree.exporters.get(symbol, ""), {}).get(symbol)) for symbol in tree.needed.get(name, {}))
    return tuple(sorted(symbol for symbol, version in rows if version))


def built_on(tree: Tree, stack: str) -> tuple[Built, ...]:
    """The third-party modules that were built on the stack on disk. One that does not fit it now was built on something else."""
    found = []
    for name in consumers(tree.paths, tree.needs):
        symbols = _from_others(name, tree)
        if symbols and not misfit(name, tree):
            found.append(Built(name, tree.release, tree.paths[name], tree.sources.get(name, ""), stack, symbols))
    return tuple(found)


def judged(modules: t.Sequence[Built], tree: Tree) -> tuple[Misfit, ...]:
    """Those of the recorded modules of a kernel that do not fit it now.

    A module without a file was removed, unless DKMS still has its source: then its build failed or is still to come.
    """
    former = frozenset(symbol for module in modules for symbol in module.symbols)
    found: dict[str, Misfit] = {}
    for module in modules:
        symbol = misfit(module.name, tree, former)
        missing = module.name not in tree.paths
        if (missing and _present(module, tree).source) or (not missing and (symbol or not tree.needed.get(module.name))):
            found[module.name] = Misfit(_present(module, tree), symbol, missing)
    for module in modules:
        through = next((need for need in tree.needs.get(module.name, ()) if need in found), "")
        if through and module.name not in found:
            # modules.dep lists indirect dependencies as well, so the order does not matter.
            found[module.name] = Misfit(_present(module, tree), through=found[through].through or through)
    return tuple(found[module.name] for module in modules if module.name in found)


def _present(module: Built, tree: Tree) -> Built:
    """The module with its present file, and its source as far as DKMS still has that."""
    source = tree.sources.get(module.name, module.source)
    return module._replace(path=tree.paths.get(module.name, module.path), source=source if source in tree.registered else "")
