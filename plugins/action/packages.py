# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Installs and removes packages with the package manager of the host. The documentation is in the module of the same name."""

from __future__ import annotations

import shlex
import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.rdma.ofed.plugins.module_utils._distro._packages import due, names_of
from ansible_collections.rdma.ofed.plugins.module_utils._distro._registry import NAMES, by_name
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput
from ansible_collections.rdma.ofed.plugins.module_utils._schema._packages import OPTIONS
from ansible_collections.rdma.ofed.plugins.module_utils._site._plain import plain
from ansible_collections.rdma.ofed.plugins.plugin_utils import _looks
from ansible_collections.rdma.ofed.plugins.plugin_utils._facts_of_run import facts_of

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._manager import Manager


class ActionModule(ActionBase):
    """No module execution on a host where the look of this run found all packages."""

    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        task_vars = task_vars or {}
        _validation, arguments = self.validate_argument_spec(OPTIONS)
        arguments = plain(arguments)
        system = (facts_of(task_vars) or {}).get("os") or {}
        family = by_name(system.get("family"))
        if family is None:
            words = "%s runs %s (family %s); allowed: the families %s. %s" if system else "%s: the facts are not there; run rdma.ofed.rdma_facts first"
            rest = (system.get("name"), system.get("family"), NAMES, arguments["unsupported"]) if system else ()
            result.update(failed=True, msg=(words % (task_vars.get("inventory_hostname"), *rest)).strip())
            return result
        host = str(task_vars.get("inventory_hostname", ""))
        pairs = _looks.recall(host, "packages") if arguments["trust_look"] and not self._task.delegate_to else None
        installed = None if pairs is None else dict(pairs)
        try:
            names = due(names_of(family, arguments["purposes"], arguments["names"]), arguments["state"], installed)
        except InvalidInput as exc:
            result.update(failed=True, msg=exc.msg)
            return result
        if names and arguments["state"] == "absent" and arguments["needed"] == "keep":
            answer = self._low_level_execute_command(family.manager.removal_script(names))
            if answer["rc"] not in (0, 1):
                result.update(failed=True, msg="what needs the packages %s can't be found out: %s" % (", ".join(names), answer["stderr"].strip()))
                return result
            names = family.manager.removable(names, answer["stdout"], answer["stderr"])
        result["changed"] = False
        if names and arguments["state"] == "present":
            result["missing_purposes"] = (
                [] if installed is None else [each for each in arguments["purposes"] if due(names_of(family, [each]), "present", installed)]
            )
        if names:
            answer = {"failed": True}
            try:
                answer = self._manage(family.manager, names, arguments, task_vars=task_vars)
            finally:
                if not self._task.check_mode and (answer.get("changed") or answer.get("failed")):
                    _looks.forget(host, self._task.delegate_to)
            result.update(answer)
        return result

    def _manage(self, manager: Manager, names: list[str], arguments: dict[str, t.Any], *, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Run Ansible's own action for the package manager, or its module where there is none, with the defaults that the play sets for it."""
        options: dict[str, t.Any] = {}
        for defaults in self._task.module_defaults or []:
            options.update(self._templar.template(defaults.get(manager.action, {})))
        options.update(manager.options.get(arguments["state"], {}), name=names, state=arguments["state"])
        if arguments["state"] == "present" and not arguments["start_services"]:
            options.update(manager.quiet_options)
        task = self._task.copy()
        task.args = options
        action = self._shared_loader_obj.action_loader.get(
            manager.action,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        answer: dict[str, t.Any] = (
            action.run(task_vars=task_vars) if action else self._execute_module(module_name=manager.action, module_args=options, task_vars=task_vars)
        )
        if answer.get("failed") and self._task.check_mode and arguments["state"] == "present":
            return self._tried(manager, names) or answer
        return answer

    def _tried(self, manager: Manager, names: list[str]) -> dict[str, t.Any]:
        """What the package manager itself foretells; empty where it can't.

        The module for apt needs python3-apt. It installs that where it is missing, which it may not do in check mode.
        """
        if not manager.simulates:
            return {}
        line = " ".join(["LC_ALL=C", *map(shlex.quote, (*manager.add, manager.trial, *names))])
        said = self._low_level_execute_command(line)
        return {} if said["rc"] else {"changed": manager.would_install(said["stdout"])}
