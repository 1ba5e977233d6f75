# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validates the variables of a host on the controller: nothing is sent to the node. The module of the same name has the documentation."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._instances import MASTER, RESTING
from ansible_collections.rdma.ofed.plugins.module_utils._schema._validate_site import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import KNOWN, PLAIN, meant
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import ours, plain
from ansible_collections.rdma.ofed.plugins.module_utils._site._problems import ROLES, host_problems, placement


class ActionModule(ActionBase):
    """Evaluates the variables; pure code validates them."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        host = str(task_vars["inventory_hostname"])
        _checked, arguments = self.validate_argument_spec(OPTIONS)
        role = arguments["role"]
        facts = plain(task_vars.get("ansible_facts", {}).get("rdma"))
        names = ours(task_vars, (role + "_",), ()) if role else ours(task_vars, tuple(KNOWN), PLAIN | {name for name in task_vars if meant(name)})
        variables, problems = self._variables(task_vars, names)
        result["changed"] = False
        if role:
            problems += ROLES[role](variables, facts)
        else:
            # One host reports what is wrong with all: a thousand hosts need not repeat it.
            playing = task_vars.get("ansible_play_hosts") or [host]
            place = placement(
                host,
                groups=task_vars["groups"],
                hostvars=task_vars["hostvars"],
                variables=variables,
                playing=playing if host == playing[0] else None,
            )
            problems += host_problems(variables, facts, place.part != RESTING) + place.own + place.common
            result.update(fabric=place.first.fabric, designated_host=place.first.designated, designated=place.part == MASTER, opensm=place.part)
        if problems:
            lines = list(dict.fromkeys("%s: %s" % (host, problem) for problem in problems))
            result.update(failed=True, msg="invalid input, nothing was changed. %s" % "; ".join(lines), problems=lines)
        return result

    def _variables(self, task_vars: t.Mapping[str, t.Any], names: t.Iterable[str]) -> tuple[dict[str, t.Any], list[Problem]]:
        """The named variables of this host, evaluated, and those that can't be."""
        variables: dict[str, t.Any] = {}
        problems: list[Problem] = []
        for name in names:
            try:
                variables[str(name)] = plain(self._templar.template(task_vars[name]))
            except AnsibleError as exc:
                problems.append(Problem(str(name), plain(task_vars[name]), "what can be evaluated on the controller", str(exc)))
        return variables, problems
