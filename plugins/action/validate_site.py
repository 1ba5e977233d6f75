# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validates the variables of a host on the controller: nothing is sent to the node. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._foreign import is_true
from ansible_collections.rdma.ofed.plugins.module_utils._gpudirect import _input as gpudirect
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _concern as opensm
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._data import declared_for
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._found import Found as OpensmFound
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import HIDDEN, SECRET
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions import port_guids
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import MASTER, RESTING
from ansible_collections.rdma.ofed.plugins.module_utils._record import decode
from ansible_collections.rdma.ofed.plugins.module_utils._schema._validate_site import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._foresight import CONCERNS, claims_of, takes_part
from ansible_collections.rdma.ofed.plugins.module_utils._site._foresight import arguments as given
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import OWN, PUBLISHED, concerns, is_known, own_names
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain
from ansible_collections.rdma.ofed.plugins.module_utils._site._problems import ROLES, Placement, host_problems, placement
from ansible_collections.rdma.ofed.plugins.module_utils._stack._input import distribution_notes, settled, unknown_distribution
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._actions import ControllerAction, completed, host_of
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import facts_of


def _refusals(host: str, variables: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any], *, place: Placement) -> list[str]:
    """What the roles of this run would refuse, in words. Where the look was not kept, nothing is known."""
    tags, skipped = (frozenset(str(tag) for tag in task_vars.get(name) or ()) for name in ("ansible_run_tags", "ansible_skip_tags"))
    found: list[str] = []
    for name, concern in CONCERNS.items():
        data = _looks.recall(host, name) if takes_part(name, tags, skipped) else None
        if data is None:
            continue
        options = completed(concern.options, given(name, variables))
        # What is wrong with the variables is among the problems.
        if options is not None:
            found += concern.refusals(options, decode(concern.seen, data))
    if takes_part("gpudirect", tags, skipped):
        found += gpudirect.foreseen(variables, facts_of(task_vars) or {})
    data = _looks.recall(host, "opensm") if takes_part("opensm", tags, skipped) else None
    if data is not None:
        manages = [each.fabric for each in place.places if each.role != RESTING]
        # What is declared for a fabric is with its designated host.
        found += opensm.foreseen(
            decode(OpensmFound, data),
            variables,
            manages=manages,
            declared=lambda: plain(declared_for(host, task_vars["hostvars"], place.election.designated)),
            guids={each.fabric: port_guids({}, facts_of(task_vars), each.ports) for each in place.places if each.ports},
        )
    return found


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
            # The playbooks leave such a node out, and go on with the others.
            unknown = [] if arguments["fail"] else unknown_distribution(variables, facts)
            result["left_out"] = "; ".join(map(str, unknown))
            problems += [each for each in host_problems(variables, facts, place.part != RESTING) if each not in unknown] + place.own + place.common
            if arguments["foresee"] and not problems and not unknown:
                result["refusals"] = _refusals(host, variables, task_vars, place=place)
                packages = _looks.recall(host, "packages")
                result["stack_settled"] = settled(variables, facts or {}, None if packages is None else dict(packages))
                managers = _looks.recall(host, "opensm")
                result["ask_fabric"] = managers is not None and opensm.asks(decode(OpensmFound, managers), variables, host=host, places=place.places)
            if not problems:
                result["addresses"] = [claim._asdict() for claim in claims_of(variables)]
            notes = distribution_notes(variables, facts)
            if notes:
                result["warnings"] = notes
            result.update(fabric=place.first.fabric, designated_host=place.first.designated, designated=place.part == MASTER, opensm=place.part)
            result["opensm_standby"] = is_true(variables.get("opensm_standby", False))
            result["designated_hosts"] = {each.fabric: each.designated for each in place.places if each.designated}
        # What the look found wrong with the Python of the node comes first. It stays wrong, however old the look is.
        wrong = list(dict.fromkeys([*(_looks.recall(host, "python", ages=False) or ()), *map(str, problems)]))
        if not arguments["fail"]:
            result["wrong"] = wrong
        elif wrong:
            lines = ["%s: %s" % (host, each) for each in wrong]
            result.update(failed=True, msg="invalid input, nothing was changed. %s" % "; ".join(lines), problems=lines)
        return result

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
