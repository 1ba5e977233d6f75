# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A planned change of subnet managers, as a plan for its rehearsal."""

from __future__ import annotations

import os
import typing as t

from ...module_utils._errors import Problem, RdmaError, nearest, require_none
from ...module_utils._opensm import _placement
from ...module_utils._opensm._input import problems
from ...module_utils._opensm._placement import Groups, Hostvars
from ...module_utils._schema._opensm import OPTIONS, VARIABLES
from .._actions import completed, value_of
from .._facts_of_run import mark
from .._rehearsal import _declared, _plan
from .._rehearsal._declared import Change
from .._rehearsal._netlist import Netlist, netlist

Site = t.Tuple[Groups, Hostvars]

_KNOWN = frozenset(VARIABLES) - {"opensm_state"}


def _read(path: str) -> str:
    """The file with the fabric. Raises RdmaError."""
    try:
        with open(os.path.expanduser(path), encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError as exc:
        raise RdmaError("rehearse_fabric: %s can't be read: %s. Next: on a host of the fabric, run: ibnetdiscover > FILE" % (path, exc.strerror)) from exc


def _change(arguments: t.Mapping[str, t.Any], groups: t.Mapping[str, t.Sequence[str]]) -> Change:
    """The planned change. Raises InvalidInput."""
    managers, variables = tuple(map(str, arguments["managers"])), arguments["variables"]
    hosts = groups.get("all", ())
    found = [
        Problem("rehearse_managers[%d]" % index, host, nearest(host, map(str, hosts)) or "a host of the inventory", "the inventory has no such host")
        for index, host in enumerate(managers)
        if host not in hosts
    ]
    found += [Problem("rehearse_managers", list(managers), "each host once")] if len(set(managers)) != len(managers) else []
    found += [
        Problem("rehearse_variables", name, nearest(name, _KNOWN) or "variables of the role opensm", "a rehearsal changes no other variable")
        for name in variables
        if name not in _KNOWN
    ]
    found += [problem._replace(variable="rehearse_variables.%s" % problem.variable) for problem in problems(dict(variables))]
    require_none(found)
    return Change(managers, variables)


def _fabric_name(task_vars: t.Mapping[str, t.Any], templar: t.Any, *, groups: t.Mapping[str, t.Sequence[str]]) -> str:
    """The fabric that is rehearsed: the only one with a subnet manager, or the one that the play names. Raises RdmaError."""
    members, _wrong = _placement.read_members(groups, task_vars["hostvars"])
    names = sorted({member.fabric for member in members})
    named = value_of("fabric", task_vars, templar)
    if named in names or len(names) == 1:
        return str(named if named in names else names[0])
    raise RdmaError(
        "group opensm manages %s; name the fabric of the file with -e fabric=NAME" % ", ".join(names)
        if names
        else "group opensm has no host, so there is no subnet manager to rehearse. Pass the inventory with -i"
    )


def answer(arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], templar: t.Any, *, changed: Site | None = None) -> dict[str, t.Any]:
    """The plan. `changed`: groups and variables of an inventory with the change."""
    source = str(arguments["source"])
    fabric: Netlist = netlist(_read(source), source)
    now: Site = (task_vars["groups"], task_vars["hostvars"])
    change = _change(arguments, (changed or now)[0])
    name = _fabric_name(task_vars, templar, groups=now[0])
    template = arguments["template"]
    frame = _declared.Frame(name, fabric, template, _declared.Secrets(), lambda options: completed(OPTIONS, options), source)

    def state(site: Site, planned: Change) -> _declared.State:
        groups, hostvars = site
        ports = _declared.ports_of([str(host) for host in groups.get("all", ())], hostvars, fabric)
        return _declared.state(frame, *_declared.changed(groups, hostvars, planned, ports=ports))

    states = (state(now, Change()), state(changed or now, change))
    found = _plan.plan(*states, fabric=fabric, template=template, patience=arguments["patience"], restart=arguments["restart"])
    words = ["the inventory becomes %s" % arguments["after"]] if changed else []
    summary = {
        **found["summary"],
        "title": "Rehearsal on the fabric %s of %s, with %d switches and %d adapters" % (name, source, fabric.switches, fabric.adapters),
        "changes": [*words, *_plan.changes_of(change, restart=arguments["restart"])],
        "run": mark(),
    }
    # The fabric of a site fills many screens.
    return {"given": found["given"], "summary": summary, "_ansible_verbose_override": True}
