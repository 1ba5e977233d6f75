# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges the variables of a host on the controller: nothing is sent to the node. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._instances import MASTER
from ansible_collections.rdma.ofed.plugins.module_utils._schema._validate_site import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._names import KNOWN, PLAIN, meant
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import ours, plain
from ansible_collections.rdma.ofed.plugins.module_utils._site._problems import host_problems, placement, role_problems


def _outcome(host: str, problems: t.Sequence[Problem]) -> dict[str, t.Any]:
    """The part of the result that tells what is wrong."""
    lines = list(dict.fromkeys("%s: %s" % (host, problem) for problem in problems))
    return {"failed": True, "msg": "invalid input, nothing was changed. %s" % "; ".join(lines), "problems": lines} if lines else {}


class ActionModule(ActionBase):
    """Reads the variables, and leaves every judgement to pure code."""

    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        host = str(task_vars["inventory_hostname"])
        _checked, arguments = self.validate_argument_spec(OPTIONS)
        role = arguments["role"]
        facts = plain(task_vars.get("ansible_facts", {}).get("rdma"))
        if role:
            variables, problems = self._variables(task_vars, ours(task_vars, (role + "_",), ()))
            result.update(changed=False, **_outcome(host, problems + role_problems(role, variables, facts)))
            return result
        variables, problems = self._variables(task_vars, ours(task_vars, tuple(KNOWN), PLAIN | {name for name in task_vars if meant(name)}))
        # One host says what is wrong with all: a thousand hosts need not repeat it.
        playing = task_vars.get("ansible_play_hosts") or [host]
        place = placement(host, task_vars["groups"], task_vars["hostvars"], variables, playing if host == playing[0] else None)
        problems += host_problems(variables, facts, place.manages) + place.own + place.common
        result.update(changed=False, fabric=place.fabric, designated_host=place.designated, designated=place.part == MASTER, opensm=place.part)
        result.update(_outcome(host, problems))
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
