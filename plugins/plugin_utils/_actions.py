# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base classes of action plugins: for those that validate their arguments, run only on the controller, or plan there.

ansible-core imports an action plugin before it forks a worker for each host. Modules loaded by that import are not loaded again in workers.
"""

from __future__ import annotations

import contextlib
import copy
import typing as t

from ansible import context
from ansible.errors import AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import filter_loader
from ansible.utils.display import Display

from ..module_utils._errors import RdmaError
from ..module_utils._facts import _rails as rails
from ..module_utils._facts._railplaces import resolved
from ..module_utils._foreign import rows_of, shown_lines
from ..module_utils._plain import plain
from ..module_utils._record import decode
from ..module_utils._site._ends import FAILED, UNREACHABLE, generic
from . import _looks
from ._facts_of_run import as_set, facts_of
from ._untrusted import untrusted

if t.TYPE_CHECKING:
    from ..module_utils._concern import Concern

# Load the filters of the collection here: to look up one of them, ansible-core loads all, which takes half of the time of a skipped task.
# Errors are ignored: a worker that does not find them reports the problem.
with contextlib.suppress(Exception):
    filter_loader.get("rdma.ofed.merge_pending")


class CollectionAction(ActionBase):
    """Runs modules that may change the node."""

    _supports_check_mode = True
    asynchronous = False
    """Whether the task may have `async`."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        # ansible-core 2.14 sets it for each object, so an attribute of the class would have no effect.
        self._supports_async = self.asynchronous
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        known = task_vars or {}
        self._task.args = self._by_port(self._task.args, known)
        try:
            result.update(self.work(known))
        except AnsibleConnectionFailure as exc:
            self._record(UNREACHABLE, str(exc), known)
            raise
        # A prediction runs in check mode within a normal run, so its change does not count.
        changed = bool(result.get("changed")) and bool(self._task.check_mode) == bool(context.CLIARGS.get("check"))
        changes = (result.get("changes") or ()) if changed else ()
        if result.get("unreachable") or result.get("failed"):
            self._record(UNREACHABLE if result.get("unreachable") else FAILED, str(result.get("msg") or ""), known, changed=changed, changes=changes)
        elif changed:
            _looks.keep_record(host_of(known), changed=True, changes=changes)
        # Results that do not come from a module are not marked by ansible-core.
        marked: dict[str, t.Any] = untrusted(result)
        return marked

    def _by_port(self, arguments: t.Mapping[str, t.Any], task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """The arguments, or variables, with ports in place of the names of rails, which the node may not know yet."""
        if rails.VARIABLE not in task_vars:
            return dict(arguments)
        try:
            declared = value_of(rails.VARIABLE, task_vars, self._templar)
        except AnsibleError:
            # The validation reports it.
            return dict(arguments)
        facts = facts_of(task_vars)
        known = rails.explicit(declared, facts)
        return resolved(arguments, known, rows_of(facts, "ports")) if known is not None else dict(arguments)

    def _record(self, kind: str, said: str, task_vars: t.Mapping[str, t.Any], *, changed: bool = False, changes: t.Iterable[t.Any] = ()) -> None:
        """Record why a host drops out of the run, for the summary at its end. `changed`, `changes`: what the task has changed nevertheless."""
        names = [str(task_vars.get(name) or "") for name in ("inventory_hostname", "ansible_host")]
        task, said = str(self._task.get_name()), generic(said, names)
        _looks.keep_record(host_of(task_vars), changed=changed, kind=kind, task=task, said=said, changes=changes)

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of the task."""
        raise NotImplementedError

    def _execute(self, module: str, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run a module of the collection on the node."""
        answer: dict[str, t.Any] = self._execute_module(
            module_name="rdma.ofed." + module, module_args=arguments, task_vars=task_vars, wrap_async=self._task.async_val
        )
        return answer

    def _change(self, module: str, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the module on the node. If it changes something, the look of this run becomes invalid."""
        # If the connection broke, the progress of the module is unknown.
        answer: dict[str, t.Any] = {"failed": True}
        try:
            answer = self._execute(module, arguments, task_vars)
        finally:
            if not self._task.check_mode and (answer.get("changed") or answer.get("failed") or self._task.async_val):
                _looks.forget(host_of(task_vars), self._task.delegate_to)
        return answer


class ValidatedAction(CollectionAction):
    """Validates the arguments, and answers in place of its module."""

    options: t.Mapping[str, t.Any]
    """The argument specification."""

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _validation, arguments = self.validate_argument_spec(self.options)
        try:
            answer = self.answer(plain(arguments), task_vars)
        except RdmaError as exc:
            answer = {"failed": True, "msg": shown_lines(exc.msg)}
        return {"changed": False, **answer}

    def answer(self, arguments: t.Mapping[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of the task. The arguments are plain values. An RdmaError fails the task."""
        raise NotImplementedError


class ControllerAction(ValidatedAction):
    """Answers in place of a module: nothing is sent to a node, and nothing is changed."""

    _requires_connection = False


class PortAction(CollectionAction):
    """Runs its module on the node, with ports in place of the names of rails."""

    asynchronous = True

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        return self._change(str(self._task.action).rpartition(".")[2], self._task.args, task_vars)


class PlannedAction(CollectionAction):
    """Answers in place of its module where the look of this run shows that nothing is to be done; otherwise the module runs on the node.

    The module looks and plans again, so its result is right whatever happened since the look, and also without a look.
    """

    asynchronous = True
    concern: Concern
    """Its name is that of the module."""

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        answer = self._planned(task_vars)
        return self._visit(task_vars) if answer is None else answer

    def _planned(self, task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
        # A delegated task is for another node than the host whose variables it has.
        if self._task.async_val or self._task.delegate_to:
            return None
        data = _looks.recall(host_of(task_vars), self.concern.name)
        if data is None or self.concern.seen is None or self.concern.unchanged is None:
            return None
        options = completed(self.concern.options, self._task.args)
        # The module reports wrong arguments, as it does without a look.
        result = None if options is None else self.concern.unchanged(options, decode(self.concern.seen, data))
        return None if result is None else dict(result)

    def _visit(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run the module on the node."""
        return self._change(self.concern.name, self._task.args, task_vars)


class FactsAction(PlannedAction):
    """Answers in place of its module where the facts of this run show that nothing is to be done. Facts contain less than a look, and need none."""

    options: t.Mapping[str, t.Any]
    """The argument specification."""

    def _planned(self, task_vars: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
        facts = None if self._task.async_val or self._task.delegate_to else facts_of(task_vars)
        if facts is None or self.concern.idle is None or _looks.recall(self._visited(task_vars), self.concern.name, ages=False):
            return None
        options = completed(self.options, self._task.args)
        result = None if options is None else self.concern.idle(options, facts)
        return None if result is None else dict(result)

    def _visit(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        # The facts are not updated when the module changes the node.
        if not self._task.check_mode:
            _looks.keep(self._visited(task_vars), {self.concern.name: True})
        return super()._visit(task_vars)

    def _visited(self, task_vars: t.Mapping[str, t.Any]) -> str:
        return "%s\n%s" % (self._task.delegate_to or host_of(task_vars), self.concern.name)


def host_of(task_vars: t.Mapping[str, t.Any]) -> str:
    return str(task_vars.get("inventory_hostname", ""))


def value_of(name: str, task_vars: t.Mapping[str, t.Any], templar: t.Any, *, default: t.Any = None) -> t.Any:
    """A variable of the task's host, evaluated."""
    return plain(templar.template(task_vars[name])) if name in task_vars else default


def completed(options: t.Mapping[str, t.Any], arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """The arguments with the defaults of their specification; None where they do not satisfy it."""
    # ansible-core fills in defaults in place, and the options are shared.
    checked = ArgumentSpecValidator(copy.deepcopy(dict(options))).validate(plain(dict(arguments)))
    return None if checked.errors.errors else checked.validated_parameters


def registered(task_vars: t.Mapping[str, t.Any], hosts: t.Iterable[t.Any], variable: str) -> dict[str, t.Any]:
    """The result of a task in a variable of each host; empty where it is not set."""
    return {str(host): plain(dict(as_set(task_vars["hostvars"], host).get(variable) or {})) for host in hosts}


def show(text: str) -> None:
    """Print text. Callbacks would print a result as JSON, on one line."""
    Display().display("\n%s\n" % shown_lines(text))
