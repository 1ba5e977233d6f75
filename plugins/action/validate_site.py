# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validates the variables of a host on the controller: nothing is sent to the node. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError

from ..module_utils._errors import Problem
from ..module_utils._foreign import is_true
from ..module_utils._gpudirect import _input as gpudirect
from ..module_utils._opensm import _concern as opensm
from ..module_utils._opensm._data import declared_for
from ..module_utils._opensm._found import Found as OpensmFound
from ..module_utils._opensm._options import HIDDEN, SECRET
from ..module_utils._opensm._partitions import port_guids
from ..module_utils._opensm._placement import MASTER, RESTING
from ..module_utils._record import decode
from ..module_utils._schema._validate_site import OPTIONS
from ..module_utils._site._foresight import CONCERNS, claims_of, takes_part
from ..module_utils._site._foresight import arguments as given
from ..module_utils._site._leaving import WHOLE, left_out
from ..module_utils._site._machines import machine_marks
from ..module_utils._site._names import OWN, PUBLISHED, concerns, is_known, own_names
from ..module_utils._site._plain import plain
from ..module_utils._site._problems import ROLES, Placement, host_problems, node_problems, placement
from ..module_utils._stack._input import distribution_notes, settled, unknown_distribution
from ..plugin_utils import _looks
from ..plugin_utils._actions import ControllerAction, completed, host_of
from ..plugin_utils._facts_of_run import facts_of


def _refusals(
    host: str, variables: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], *, place: Placement, leaves: t.Container[str]
) -> dict[str, list[str]]:
    """What the roles of this run would refuse, in words, by role. Where the look was not kept, nothing is known."""
    tags, skipped = (frozenset(str(tag) for tag in task_vars.get(name) or ()) for name in ("ansible_run_tags", "ansible_skip_tags"))
    found: dict[str, list[str]] = {}
    for name, concern in CONCERNS.items():
        data = _looks.recall(host, name) if name not in leaves and takes_part(name, tags, skipped) else None
        if data is None:
            continue
        options = completed(concern.options, given(name, variables))
        # What is wrong with the variables is among the problems.
        if options is not None:
            found[name] = list(concern.refusals(options, decode(concern.seen, data)))
    if "gpudirect" not in leaves and takes_part("gpudirect", tags, skipped):
        found["gpudirect"] = gpudirect.foreseen(variables, facts_of(task_vars) or {})
    data = _looks.recall(host, "opensm") if "opensm" not in leaves and takes_part("opensm", tags, skipped) else None
    if data is not None:
        manages = [each.fabric for each in place.places if each.role != RESTING]
        # What is declared for a fabric is with its designated host.
        refused = opensm.foreseen(
            decode(OpensmFound, data),
            variables,
            manages=manages,
            declared=lambda: plain(declared_for(host, task_vars["hostvars"], place.election.designated)),
            guids={each.fabric: port_guids({}, facts_of(task_vars), each.ports) for each in place.places if each.ports},
        )
        found["opensm"] = list(refused)
    return {role: refusals for role, refusals in found.items() if refusals}


class ActionModule(ControllerAction):
    """Evaluates the variables; pure code validates them."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        host = host_of(task_vars)
        role = arguments["role"]
        facts = facts_of(task_vars)
        own, _faults = self._variables(task_vars, [OWN] if OWN in task_vars else [])
        # What belongs to the site need not even be evaluated.
        beside = PUBLISHED | own_names(own.get(OWN))
        names = [name for name in sorted(task_vars) if (name.startswith(role + "_") if role else concerns(name)) and name not in beside]
        variables, problems = self._variables(task_vars, names)
        result: dict[str, t.Any] = {}
        if role:
            problems += ROLES[role](variables, facts)
        else:
            # One host reports what is wrong with all: a thousand hosts need not repeat it.
            playing = task_vars.get("ansible_play_hosts") or [host]
            # Unique for the task and the batch. Hosts that fail leave both lists while the task runs, and the last one is the last to fail.
            key = "%s %s" % (self._task._uuid, (task_vars.get("ansible_play_batch") or playing)[-1])
            known = None if host == playing[0] else _looks.recall_election(key)
            place = placement(
                host,
                groups=task_vars["groups"],
                hostvars=task_vars["hostvars"],
                variables=variables,
                playing=playing if host == playing[0] else None,
                known=known,
            )
            if known is None:
                _looks.keep_election(key, place.election)
            problems += host_problems(variables, facts if arguments["fail"] else None, place.part != RESTING) + place.own + place.common
            # What is wrong on the host alone ends nothing for the others.
            of_host: dict[str, list[str]] = {} if arguments["fail"] else self._of_host(host, variables, facts, manages=place.part != RESTING, wrong=problems)
            leaves = left_out(of_host)
            if arguments["foresee"] and not problems and WHOLE not in leaves:
                # What is left out refuses nothing.
                refusals = _refusals(host, variables, task_vars, place=place, leaves=leaves)
                result["refusals"] = [refusal for own in refusals.values() for refusal in own]
                leaves = left_out({**of_host, **refusals})
                packages = _looks.recall(host, "packages")
                result["stack_settled"] = settled(variables, facts or {}, None if packages is None else dict(packages))
                managers = None if "opensm" in leaves else _looks.recall(host, "opensm")
                result["ask_fabric"] = managers is not None and opensm.asks(decode(OpensmFound, managers), variables, host=host, places=place.places)
            result["left_out"] = leaves
            result["machine"] = [] if task_vars.get("ansible_connection") == "local" else machine_marks(_looks.recall(host, "identity", ages=False), facts)
            if not problems:
                result["addresses"] = [claim._asdict() for claim in claims_of(variables)]
            notes = distribution_notes(variables, facts)
            if notes:
                result["warnings"] = notes
            result.update(fabric=place.first.fabric, designated_host=place.first.designated, designated=place.part == MASTER, opensm=place.part)
            result["opensm_standby"] = is_true(variables.get("opensm_standby", False))
            # In the order in which they take over.
            fabrics = {each.fabric for each in place.places}
            result["managers"] = {fabric: list(hosts) for fabric, hosts in place.election.positions.items() if fabric in fabrics}
            result["designated_hosts"] = {each.fabric: each.designated for each in place.places if each.designated}
        # Where the task itself fails, what the look found wrong with the Python of the node comes first. It stays wrong, however old the look is.
        python = _looks.recall(host, "python", ages=False) or () if role or arguments["fail"] else ()
        wrong = list(dict.fromkeys([*python, *map(str, problems)]))
        if not arguments["fail"]:
            result["wrong"] = wrong
        elif wrong:
            lines = ["%s: %s" % (host, each) for each in wrong]
            result.update(failed=True, msg="invalid input, nothing was changed. %s" % "; ".join(lines), problems=lines)
        return result

    def _of_host(
        self, host: str, variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None, *, manages: bool, wrong: t.Iterable[Problem]
    ) -> dict[str, list[str]]:
        """What is wrong with the host alone, in words, by the role concerned. What is `wrong` with its variables anyway is not."""
        silent = _looks.recall_silent(host)
        whole = [silent] if silent else [*(_looks.recall(host, "python", ages=False) or ()), *map(str, unknown_distribution(variables, facts))]
        found = {} if whole or facts is None else node_problems(variables, facts, manages)
        known = set(map(str, wrong))
        return {WHOLE: whole, **{role: [text for text in map(str, own) if text not in known] for role, own in found.items()}}

    def _variables(self, task_vars: t.Mapping[str, t.Any], names: t.Iterable[str]) -> tuple[dict[str, t.Any], list[Problem]]:
        """The named variables of this host, evaluated, and those that can't be. Of unknown names, the names alone."""
        variables: dict[str, t.Any] = {}
        problems: list[Problem] = []
        for name in names:
            if not is_known(name):
                variables[str(name)] = None
                continue
            try:
                variables[str(name)] = plain(self._templar.template(task_vars[name]))
            except AnsibleError as exc:
                shown = HIDDEN if name in SECRET else plain(task_vars[name])
                problems.append(Problem(str(name), shown, "what can be evaluated on the controller", str(exc)))
        return variables, problems
