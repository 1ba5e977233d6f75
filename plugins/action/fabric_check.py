# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Looks at the node and checks it on the controller; the module visits a node that deviates. The documentation is in the module of the same name."""

from __future__ import annotations

import copy
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible_collections.rdma.ofed.plugins.module_utils._check import _concern
from ansible_collections.rdma.ofed.plugins.module_utils._schema._fabric_check import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain


class ActionModule(ActionBase):
    """One module execution where the node is as declared: rdma_facts, which a run has brought to all nodes before, and no second program.

    The module fabric_check waits for what is still to come, and reads cables and firmware.
    """

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        # Not of the class: ansible-core 2.14 sets it for each object.
        self._supports_async = True
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        answer = None if self._task.async_val else self._looked(task_vars or {})
        if answer is None:
            answer = self._execute_module(module_name="rdma.ofed.fabric_check", task_vars=task_vars, wrap_async=self._task.async_val)
        return {**result, **answer}

    def _looked(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        # Ansible fills in defaults in place, and the options are shared.
        checked = ArgumentSpecValidator(copy.deepcopy(dict(OPTIONS))).validate(plain(dict(self._task.args)))
        # What is wrong with the arguments is for the module to report.
        hints = {} if checked.errors.errors else _concern.hints(checked.validated_parameters)
        if not hints:
            return None
        answer = self._execute_module(module_name="rdma.ofed.rdma_facts", module_args={"gather": [], "look": hints}, task_vars=task_vars)
        result = _concern.unchanged(checked.validated_parameters, answer.get("look") or {})
        return None if result is None else {"changed": False, **_beside(answer), **result}


def _beside(answer: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What ansible-core itself has put into the answer of a module, without the facts of the module."""
    found = {name: answer[name] for name in ("warnings", "deprecations") if name in answer}
    interpreters = {name: value for name, value in (answer.get("ansible_facts") or {}).items() if name.startswith("discovered_interpreter_")}
    return {**found, "ansible_facts": interpreters} if interpreters else found
