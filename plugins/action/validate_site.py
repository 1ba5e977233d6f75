# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of a host on the controller; nothing is sent to the node. The module of the same name has the documentation."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleError

from ..module_utils._concern import IMAGE, Concern, Part, Subject
from ..module_utils._concerns._registry import CONCERNS
from ..module_utils._errors import Problem, require_none
from ..module_utils._facts import _rails as rails
from ..module_utils._facts._railplaces import resolved
from ..module_utils._foreign import is_true, rows_of
from ..module_utils._plain import plain
from ..module_utils._record import decode
from ..module_utils._schema._validate_site import OPTIONS
from ..module_utils._site._addresses import addresses_of
from ..module_utils._site._leaving import ROLES, WHOLE, deferred, left_out, merged, takes_part, unprepared
from ..module_utils._site._looks import IDENTITY
from ..module_utils._site._machines import machine_marks
from ..module_utils._site._names import OWN, PUBLISHED, concerns, is_known, own_names
from ..module_utils._site._problems import host_notes, host_problems, node_problems, playbook_problems, site_notes
from ..module_utils._site._settled import ORDER, settled
from ..plugin_utils import _looks
from ..plugin_utils._actions import ControllerAction, completed, host_of, value_of
from ..plugin_utils._facts_of_run import facts_of

# The values of the option `role` for playbooks, which use no role.
_PLAYBOOKS = ("fabric", "discover", "rehearse")
_SECRETS = frozenset(name for concern in CONCERNS.values() for name in concern.secrets)
_HIDDEN = "(hidden)"
_HOOK = "ofed_rebuild_tasks"
NO_IMAGES = "rdma_image is set, and this playbook needs a running system: run rdma.ofed.site for the image, and this playbook for the nodes that boot it"


def _about(subject: Subject, parts: t.Mapping[str, Part], concern: Concern) -> Subject:
    """The host from the point of view of one concern."""
    data = None if concern.seen is None else subject.recall(concern.name)
    return subject._replace(
        part=parts.get(concern.name),
        found=None if concern.seen is None or data is None else decode(concern.seen, data),
        options=lambda: completed(concern.options, _options(subject, concern)),
    )


def _options(subject: Subject, concern: Concern) -> dict[str, t.Any]:
    """The options of the module, with ports in place of the names of rails, as its action passes them on."""
    given = concern.given(subject.variables)
    known = rails.explicit(subject.variables.get(rails.VARIABLE), subject.facts)
    return resolved(given, known, rows_of(subject.facts, "ports")) if known is not None else given


def _file_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """The problem of a hook whose file the controller lacks. That its path is absolute is validated with the variables of the role."""
    path = variables.get(_HOOK)
    if not isinstance(path, str) or not path.startswith("/") or os.path.isfile(path):
        return []
    return [Problem(_HOOK, path, "the absolute path of a file of tasks on the controller", "there is no such file")]


def _refusals(subject: Subject, concern: Concern) -> t.Sequence[str]:
    """What the role would refuse, in words. Without a kept look, nothing is known."""
    return () if concern.seen is not None and subject.found is None else concern.refusals(subject)


class ActionModule(ControllerAction):
    """Evaluates the variables; pure code validates them."""

    options = OPTIONS

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        if arguments["refused"]:
            return self._leaving(arguments["refused"], task_vars)
        role, fails = arguments["role"], arguments["fail"]
        own, _faults = self._variables(task_vars, [OWN] if OWN in task_vars else [])
        # The site's own variables need not even be evaluated.
        beside = PUBLISHED | own_names(own.get(OWN))
        names = [name for name in sorted(task_vars) if (name.startswith(role + "_") if role else concerns(name)) and name not in beside]
        variables, problems = self._variables(task_vars, names)
        host = host_of(task_vars)
        subject = Subject(
            host,
            variables,
            facts_of(task_vars),
            groups=task_vars.get("groups") or {},
            hostvars=task_vars.get("hostvars") or {},
            recall=lambda concern: _looks.recall(host, concern),
        )
        # Other playbooks do not run the tasks, and may run on another controller.
        problems += _file_problems(variables) if role or arguments["foresee"] else []
        result: dict[str, t.Any] = {}
        if role:
            problems += playbook_problems(variables, role) if role in _PLAYBOOKS else CONCERNS[role].problems(subject)
        else:
            parts = self._parts(subject, task_vars)
            problems += host_problems(subject if fails else subject._replace(facts=None), parts)
            problems += [problem for part in parts.values() for problem in (*part.own, *part.common)]
            result = self._judged(subject, parts, arguments, problems=problems, task_vars=task_vars)
        # If the task itself fails, problems of the node's Python, found by the look, come first. They apply however old the look is.
        python = _looks.recall(host, "python", ages=False) or () if role or fails else ()
        wrong = list(dict.fromkeys([*python, *map(str, problems)]))
        if not fails:
            result["wrong"] = wrong
        elif wrong:
            lines = ["%s: %s" % (host, each) for each in wrong]
            result.update(failed=True, msg="invalid input, nothing was changed. %s" % "; ".join(lines), problems=lines)
        return result

    def _leaving(self, refused: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """The result of the validation, extended by what roles would refuse."""
        wrong = [Problem("refused", role, ", ".join(ROLES), "these are the roles") for role in refused if role not in ROLES]
        wrong += [Problem("refused.%s" % role, reasons, "a list of reasons") for role, reasons in refused.items() if not isinstance(reasons, list)]
        require_none(wrong)
        found: dict[str, t.Any] = value_of("rdma_site", task_vars, self._templar, default={})
        leaves = found.get("left_out") or {}
        for role, reasons in refused.items():
            leaves = merged(leaves, role, map(str, reasons))
        # The warnings have already been shown.
        return {**{name: value for name, value in found.items() if name not in ("warnings", "deprecations")}, "left_out": leaves}

    def _parts(self, subject: Subject, task_vars: t.Mapping[str, t.Any]) -> dict[str, Part]:
        """The part of the host among all hosts, by concern. Only one host reports the problems of the whole site."""
        playing = task_vars.get("ansible_play_hosts") or [subject.host]
        first = subject.host == playing[0]
        # Unique for the task and the batch. Failed hosts leave both lists while the task runs; the last host fails last.
        key = "%s %s" % (self._task._uuid, (task_vars.get("ansible_play_batch") or playing)[-1])
        parts: dict[str, Part] = {}
        for name, concern in CONCERNS.items():
            if concern.survey is not None:
                known = None if first else _looks.recall_survey(key, name)
                parts[name] = concern.survey(subject, playing if first else None, known)
                if known is None:
                    _looks.keep_survey(key, name, parts[name].shared)
        return parts

    def _judged(
        self,
        subject: Subject,
        parts: t.Mapping[str, Part],
        arguments: t.Mapping[str, t.Any],
        *,
        problems: t.Sequence[Problem],
        task_vars: t.Mapping[str, t.Any],
    ) -> dict[str, t.Any]:
        """What the host is left out of, and the values on which roles decide."""
        result: dict[str, t.Any] = {}
        foresees, fails = arguments["foresee"], arguments["fail"]
        # Problems of this host alone do not affect the others.
        of_host = {} if fails else self._of_host(subject, parts, wrong=problems)
        later: dict[str, str] = {}
        unprepared_roles: dict[str, list[str]] = {}
        if is_true(subject.variables.get(IMAGE)):
            if arguments["images"]:
                lacks = {name: concern.lacks(subject._replace(part=parts.get(name))) for name, concern in CONCERNS.items()}
                later, unprepared_roles = deferred(lacks), unprepared(lacks)
                result["deferred"] = later
            else:
                of_host = {WHOLE: [*of_host.get(WHOLE, ()), NO_IMAGES]}
        # What such a role would say of the image does not count.
        of_host = {**{role: own for role, own in of_host.items() if role not in later}, **unprepared_roles}
        put_off = {role: [lack] for role, lack in later.items()}
        leaves = {**left_out(of_host), **put_off}
        if foresees and not problems and WHOLE not in leaves:
            tags, skipped = (frozenset(str(tag) for tag in task_vars.get(name) or ()) for name in ("ansible_run_tags", "ansible_skip_tags"))
            # A role that is left out refuses nothing.
            coming = [name for name in CONCERNS if name not in leaves and takes_part(name, tags, skipped)]
            abouts = {name: _about(subject, parts, concern) for name, concern in CONCERNS.items()}
            refused = {name: list(own) for name, own in ((name, _refusals(abouts[name], CONCERNS[name])) for name in coming) if own}
            result["refusals"] = [refusal for own in refused.values() for refusal in own]
            leaves = {**left_out({**of_host, **refused}), **put_off}
            for name, concern in CONCERNS.items():
                result.update(concern.foreseen(abouts[name]._replace(found=None) if name in leaves else abouts[name]))
            # The roles replace the outcomes that an earlier playbook of this run has left.
            stays = not any("%s_outcome" % role in task_vars for role in ORDER)
            result["settled"] = settled(CONCERNS, abouts, leaves) if stays else []
        result["left_out"] = leaves
        _looks.keep_judged(subject.host, result)
        local = task_vars.get("ansible_connection") == "local"
        result["machine"] = [] if local else machine_marks(_looks.recall(subject.host, IDENTITY, ages=False), subject.facts)
        if not problems:
            result["addresses"] = [address._asdict() for address in addresses_of(subject)]
        notes = host_notes(subject)
        notes += [remark for concern in CONCERNS.values() for remark in concern.remarks(subject)]
        # Once for the site: the list may be long, and so may that of all hosts.
        if subject.host == (task_vars.get("ansible_play_hosts") or [subject.host])[0]:
            notes += site_notes(subject)
        if notes:
            result["warnings"] = notes
        for name, concern in CONCERNS.items():
            result.update(concern.published(subject._replace(part=parts.get(name))))
        return result

    def _of_host(self, subject: Subject, parts: t.Mapping[str, Part], *, wrong: t.Iterable[Problem]) -> dict[str, list[str]]:
        """Problems of the host alone, in words, by role. `wrong`: problems of its variables, which are not repeated."""
        silent = _looks.recall_silent(subject.host)
        unserved = [str(problem) for concern in CONCERNS.values() for problem in concern.unserved(subject)]
        whole = [silent] if silent else [*(_looks.recall(subject.host, "python", ages=False) or ()), *unserved]
        found = {} if whole or subject.facts is None else node_problems(subject, parts)
        known = set(map(str, wrong))
        return {WHOLE: whole, **{role: [text for text in map(str, own) if text not in known] for role, own in found.items()}}

    def _variables(self, task_vars: t.Mapping[str, t.Any], names: t.Iterable[str]) -> tuple[dict[str, t.Any], list[Problem]]:
        """The named variables of this host, evaluated, and problems of those that can't be evaluated. Unknown variables are not evaluated."""
        variables: dict[str, t.Any] = {}
        problems: list[Problem] = []
        for name in names:
            if not is_known(name):
                variables[str(name)] = None
                continue
            try:
                variables[str(name)] = plain(self._templar.template(task_vars[name]))
            except AnsibleError as exc:
                shown = _HIDDEN if name in _SECRETS else plain(task_vars[name])
                problems.append(Problem(str(name), shown, "what can be evaluated on the controller", str(exc)))
        return variables, problems
