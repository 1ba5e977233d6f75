# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module rdma_facts, and keep the result for the planners. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils._concern import IMAGE, Subject
from ..module_utils._concerns._registry import CONCERNS
from ..module_utils._facts import _rails as rails
from ..module_utils._facts._railplaces import likely_names
from ..module_utils._foreign import is_true
from ..module_utils._plain import plain
from ..module_utils._schema._rdma_facts import OPTIONS
from ..module_utils._site._ends import generic
from ..module_utils._site._looks import IDENTITY
from ..plugin_utils import _looks
from ..plugin_utils._actions import CollectionAction, host_of
from ..plugin_utils._facts_of_run import facts_of, marked
from ..plugin_utils._pythons import declared_python

_INTERFACES = "ipoib_interfaces"
_SEE = "Next: log in there and find out what the RDMA tools wait for, or raise rdma_look_timeout"


class ActionModule(CollectionAction):
    """Executes one module."""

    asynchronous = True

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        host = host_of(task_vars)
        # With delegate_facts, the facts belong to another host.
        owner = self._task.delegate_to if self._task.delegate_to and self._task.delegate_facts else host
        arguments = dict(self._task.args)
        if "image" not in arguments:
            arguments.update({"image": True} if is_true(self._variables(task_vars, [IMAGE]).get(IMAGE)) else {})
        reuse = boolean(plain(arguments.get("reuse", False)), strict=False)
        variables = task_vars
        if owner != host:
            # `get` of HostVars returns an undefined value for an unknown host.
            variables = task_vars["hostvars"][owner] if owner in task_vars["hostvars"] else {}  # noqa: SIM401
        found = facts_of(variables)
        if reuse and found is not None and set(plain(arguments.get("gather", OPTIONS["gather"]["default"]))) <= set(found):
            return {"changed": False, "skipped": True, "skip_reason": "this run has gathered the facts"}
        # The result of an asynchronous task comes with another task.
        if not self._task.async_val and boolean(plain(arguments.get("keep_look", False)), strict=False):
            arguments["look"] = {IDENTITY: {}, **self._hints(host, task_vars)}
        elif not self._task.async_val and boolean(plain(arguments.get("discover", False)), strict=False):
            arguments["look"] = {name: dict(concern.discovery.hints) for name, concern in CONCERNS.items() if concern.discovery.hints is not None}
        # The facts are newer than what was kept.
        _looks.forget(str(owner))
        answer = self._heard(arguments, task_vars) if boolean(plain(arguments.get("keep_failure", False)), strict=False) else self._answer(arguments, task_vars)
        looks = answer.pop("look", {"python": answer["wrong"]} if "wrong" in answer else None)
        if looks and not self._task.delegate_to:
            _looks.keep(host, looks)
        if "rdma" in answer.get("ansible_facts", {}):
            # Their names are declared, and the node may not have them yet.
            declared = self._variables(variables, [rails.VARIABLE]).get(rails.VARIABLE)
            answer["ansible_facts"]["rdma"] = marked(rails.with_rails(answer["ansible_facts"]["rdma"], declared))
        return answer

    def _heard(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The answer of the module. Without an answer, keep the reason, so that the validation leaves the host out."""
        host = host_of(task_vars)
        # The task timeout can end this process at any point.
        _looks.keep_silent(host, "the host did not answer within %s s; it hangs, or is very slow. %s" % (self._task.timeout, _SEE))
        try:
            answer = self._answer(arguments, task_vars)
        except AnsibleConnectionFailure as exc:
            answer = {"unreachable": True, "msg": str(exc)}
        said = generic(str(answer.get("msg") or ""), [host, str(task_vars.get("ansible_host") or "")])
        reason = "unreachable: %s" % said if answer.get("unreachable") else said or "the look failed" if answer.get("failed") else ""
        _looks.keep_silent(host, reason)
        return {"changed": False, "left_out": reason} if reason else answer

    def _answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The answer of the module. If the module can't run, the answer is failed or, if requested, `wrong` says what is wrong with the node's Python."""
        # After a delegated or asynchronous task, no validation would report it.
        seeks = boolean(plain(arguments.get("find_python", False)), strict=False) and not (self._task.delegate_to or self._task.async_val)
        sought = self._sought(task_vars) if seeks and not declared_python(self._templar, task_vars) else {}
        facts = sought.get("ansible_facts") or {}
        if sought.get("wrong"):
            return {"changed": False, "wrong": sought["wrong"]}
        known = {**task_vars, "ansible_facts": {**task_vars.get("ansible_facts", {}), **facts}} if facts else task_vars
        answer = self._execute("rdma_facts", arguments, known)
        # A declared Python is examined only if none of our modules has answered.
        if seeks and not sought and answer.get("failed") and not answer.get("refused"):
            wrong = self._sought(task_vars).get("wrong")
            return {"changed": False, "wrong": wrong} if wrong else answer
        return {**answer, "ansible_facts": {**answer.get("ansible_facts", {}), **facts}} if facts else answer

    def _sought(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of the action plugin interpreter for the node."""
        task = self._task.copy()
        task.args = {}
        action = self._shared_loader_obj.action_loader.get(
            "rdma.ofed.interpreter",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        found: dict[str, t.Any] = action.run(task_vars=task_vars)
        return found

    def _hints(self, host: str, task_vars: t.Mapping[str, t.Any]) -> dict[str, dict[str, t.Any]]:
        """What the look needs to know, by concern."""
        found = {}
        declared = self._variables(task_vars, [rails.VARIABLE]).get(rails.VARIABLE)
        for name, concern in CONCERNS.items():
            if concern.hints is not None:
                variables = self._variables(task_vars, concern.reads)
                if _INTERFACES in variables and declared:
                    variables[_INTERFACES] = likely_names(variables[_INTERFACES], declared)
                found[name] = dict(concern.hints(Subject(host, variables, groups=task_vars.get("groups", {}))))
        return found

    def _variables(self, task_vars: t.Mapping[str, t.Any], names: t.Iterable[str]) -> dict[str, t.Any]:
        """The named variables that are set and can be evaluated. The validation reports the others."""
        variables = {}
        for name in names:
            if name in task_vars:
                try:
                    variables[name] = plain(self._templar.template(task_vars[name]))
                except AnsibleError:
                    continue
        return variables
