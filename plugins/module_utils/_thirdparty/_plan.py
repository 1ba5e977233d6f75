# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What rebuilds third-party modules that do not fit the stack: DKMS, in the order of their dependencies, or tasks of the site. Pure."""

from __future__ import annotations

import typing as t

from .._host._step import Step
from .._plan import Change, Kind, Pending
from ._found import Built, Found, Misfit

BUILDING = "building the third-party module "
# Success is what the versions on disk say afterwards. A build that fails must not prevent those of other modules.
_ANY = tuple(range(256))
_WAYS = "set ofed_rebuild_tasks to a file of tasks that rebuilds it, or remove its file if it is not used"


class Build(t.NamedTuple):
    """One source in DKMS, to be built for one kernel."""

    source: str
    kernel: str


def builds(found: Found) -> tuple[Build, ...]:
    """The builds for the modules that do not fit. A source comes after those whose modules its own depend on."""
    by_name = {(misfit.module.kernel, misfit.module.name): misfit.module.source for misfit in found.misfits}
    ordered: dict[Build, None] = {}

    def add(kernel: str, name: str, above: tuple[Build, ...] = ()) -> None:
        build = Build(by_name.get((kernel, name), ""), kernel)
        if not build.source or build in ordered or build in above:
            return
        mine = [other for (release, other), source in by_name.items() if (source, release) == build]
        for need in (need for other in mine for need in found.needs.get(kernel, {}).get(other, ())):
            add(kernel, need, (*above, build))
        ordered[build] = None

    for kernel, name in sorted(by_name):
        add(kernel, name)
    return tuple(ordered)


def steps(todo: t.Iterable[Build]) -> tuple[Step, ...]:
    """The steps that repeat the builds. All modules of a source are removed for the kernel, also those that fit.

    `install` alone would keep what is built. Where this was the only kernel, DKMS forgets the source as well, and it is added again.
    """
    found: list[Step] = []
    for source, kernel in todo:
        name, _slash, version = source.partition("/")
        common, stage = ("-m", name, "-v", version), "%s%s for kernel %s" % (BUILDING, source, kernel)
        for argv in (("dkms", "remove", *common, "-k", kernel), ("dkms", "add", *common), ("dkms", "install", *common, "-k", kernel)):
            found.append(Step(stage, argv, ok=_ANY))
    return tuple(found)


def change(module: Built, by: str) -> Change:
    """The rebuild of a module. `by`: the command or the file of tasks that does it."""
    return Change(Kind.MODULE, module.name, module.kernel, "built on %s" % (module.stack or "another stack"), "rebuilt by %s" % by)


def reason(misfit: Misfit) -> str:
    """Why the module does not fit, in words."""
    module = misfit.module
    file = "/lib/modules/%s/%s" % (module.kernel, module.path)
    if misfit.missing:
        return "%s is missing: its build by DKMS (%s) failed, or is still to come; see /var/lib/dkms/%s/build/make.log" % (file, module.command, module.source)
    if misfit.through:
        return "%s was built on the module %s, which does not fit the stack on disk" % (file, misfit.through)
    if not misfit.symbol:
        return "the versions of symbols of %s can't be read" % file
    return "%s does not fit the stack on disk, which lacks the symbol %s or has it in another version" % (file, misfit.symbol)


def pending(misfit: Misfit) -> Pending:
    """What is left to the site."""
    module = misfit.module
    way = "dkms did not rebuild it; try %s" % module.command if module.source else _WAYS
    before = Change(Kind.MODULE, module.name, module.kernel, "built on %s" % (module.stack or "another stack"), "rebuilt", "rebuild")
    return Pending(before, (reason(misfit), way))
