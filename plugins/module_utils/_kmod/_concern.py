# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Kernel modules in the one look at a node, and the planning on the controller. Pure."""

from __future__ import annotations

import typing as t

from .._concern import Concern, judged, planned
from .._errors import RdmaError
from .._foreign import is_true
from .._schema._kernel_modules import OPTIONS, VARIABLES
from . import _plan as planner
from ._check import check, lasting, need_modules
from ._config import LOAD_PATH, RDMA_PATH, parse_list
from ._discovery import DISCOVERY
from ._found import Found, Seen
from ._input import problems, undecided
from ._limits import RESOURCES, Limit, is_limit
from ._names import canonical
from ._wanted import USUAL, Wanted, wanted_of

READ = (
    "kernel_modules_load",
    "kernel_modules_options",
    "kernel_modules_initramfs_drivers",
    "kernel_modules_adopt",
    "rdma_allow_interruption",
    *(resource.variable for resource in RESOURCES.values()),
)


def limits_of(variables: t.Mapping[str, t.Any]) -> list[Limit]:
    """The limits that a host declares. Malformed values are left out."""
    values = {name: variables.get(resource.variable, VARIABLES[resource.variable]["default"]) for name, resource in RESOURCES.items()}
    return [Limit(name, str(value)) for name, value in values.items() if is_limit(value, RESOURCES[name])]


def hints(variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """For the look: the modules that a host's variables name, as `names`, those with declared options, as `options`, `adopt`, where settings are to be
    taken over from files of others, and `daemons`, the limits, where those with lower ones are to be restarted.

    Malformed values are left out: the validation reports them.
    """
    names = set(USUAL)
    for variable in (READ[0], READ[2]):
        value = variables.get(variable)
        names.update(name for name in (value if isinstance(value, list) else ()) if isinstance(name, str))
    options = variables.get("kernel_modules_options")
    declared = [name for name in options if isinstance(name, str)] if isinstance(options, dict) else []
    found = {"names": sorted({canonical(name) for name in names.union(declared)}), "options": sorted({canonical(name) for name in declared})}
    chosen = {
        "adopt": is_true(variables.get(READ[3])),
        "daemons": [list(limit[:2]) for limit in limits_of(variables)] if is_true(variables.get(READ[4])) else [],
    }
    return {**found, **{name: value for name, value in chosen.items() if value}}


def describe(wanted: Wanted, found: Found) -> list[dict[str, t.Any]]:
    """What is known about each declared module."""
    ours = {entry.name for path in (LOAD_PATH, RDMA_PATH) for entry in parse_list("", found.text(path))}
    return [
        {
            "name": name,
            "module": module,
            "loaded": planner.is_loaded(module, found),
            "persisted_by": planner.persisted_by(module, found) or ("rdma.ofed" if name in ours else ""),
        }
        for module, name in sorted(planner.kernel_names(wanted, found).items())
    ]


def _is_seen(wanted: Wanted, seen: Seen) -> bool:
    """Whether the look covered these modules, and the files of others and the daemons where it has to."""
    covered = {*wanted.load, *wanted.options, *wanted.initramfs_drivers} <= seen.names and set(wanted.options) <= seen.options
    return covered and (seen.found.others is not None or not wanted.adopt) and (seen.found.daemons is not None or not wanted.restarts)


def unchanged(options: t.Mapping[str, t.Any], seen: Seen) -> dict[str, t.Any] | None:
    """The result of the module where nothing is to be done on the node; None where the module has to run there.

    `options`: those of the module. `seen`: what the look found.
    """
    invalid = problems({"kernel_modules_" + name: value for name, value in options.items()})
    if not options["load_now"] or options.get("image") or invalid or undecided(options):
        return None
    wanted, found = wanted_of(options), seen.found
    if not _is_seen(wanted, seen) or (options["assume_rdma_core"] and not found.rdma_core):
        return None
    if options.get("initramfs") == "never":
        found = found._replace(stale=())
    todo = planner.plan(wanted, found)
    if todo or check(wanted, found):
        return None
    return {**todo.result(planner.pending(wanted, found)), "modules": describe(wanted, found), "warnings": planner.warnings(wanted, found)}


def refusals(options: t.Mapping[str, t.Any], seen: Seen) -> list[str]:
    """What the module would refuse on the node, whatever is installed before it runs. `options`: those of the module."""
    if problems({"kernel_modules_" + name: value for name, value in options.items()}) or undecided(options):
        return []
    wanted, found = wanted_of(options), seen.found
    if not _is_seen(wanted, seen):
        return []
    try:
        need_modules(wanted, found)
    except RdmaError as exc:
        return [exc.msg]
    return [str(problem) for problem in lasting(wanted, found)]


CONCERN = Concern(
    "kernel_modules",
    VARIABLES,
    needs=("ofed",),
    problems=judged(problems),
    reads=READ,
    hints=lambda subject: hints(subject.variables),
    seen=Seen,
    refusals=planned(refusals),
    options=OPTIONS,
    elsewhere={"allow_interruption": "rdma_allow_interruption", "rails": "rdma_rails", "restore": "rdma_restore", "image": "rdma_image"},
    unchanged=unchanged,
    discovery=DISCOVERY,
)
