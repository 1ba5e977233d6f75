# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the module opensm where something is to be done, or where the live fabric has to be queried.

The documentation is in the module of the same name.
"""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.module_utils.parsing.convert_bool import boolean

from ..module_utils._errors import RdmaError
from ..module_utils._foreign import shown_lines
from ..module_utils._opensm._concern import CONCERN
from ..module_utils._plain import plain
from ..module_utils._schema._defaults import DEFAULTS
from ..module_utils._site._ends import FAILED
from ..plugin_utils import _managers
from ..plugin_utils._actions import PlannedAction, host_of, value_of


class ActionModule(PlannedAction):
    """Executes no module on a host where no subnet manager runs, and none is to run."""

    concern = CONCERN

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        arguments = dict(self._task.args)
        if boolean(plain(arguments.pop("by_inventory", False)), strict=False):
            # Errors found here are no refusals of the module, which some tasks merely report.
            try:
                with _managers.reading():
                    found = self._by_inventory(task_vars, rests=arguments.get("instances") == [])
            except RdmaError as exc:
                raise self._failure(shown_lines(exc.msg), task_vars) from None
            # The module reports a malformed value.
            if "node_names" in found and isinstance(arguments.get("node_names"), dict):
                found["node_names"].update(arguments.pop("node_names"))
            self._task.args = {**found, **arguments}
        return super().work(task_vars)

    def _failure(self, said: str, task_vars: t.Mapping[str, t.Any]) -> AnsibleActionFail:
        """Record the reason for the summary, and return the error."""
        self._record(FAILED, said, task_vars)
        return AnsibleActionFail(said)

    def _by_inventory(self, task_vars: t.Mapping[str, t.Any], *, rests: bool) -> dict[str, t.Any]:
        groups, hostvars, host = task_vars["groups"], task_vars["hostvars"], host_of(task_vars)
        # Use the result of the site validation: reading it again on every host would take all hosts of group opensm.
        designated = value_of("rdma_site", task_vars, self._templar, default={}).get("designated_hosts")
        if rests:
            of_others = _managers.declared(groups, hostvars, host=host, designated=designated)
            return {"declared_settings": of_others["keys"], "partitions": of_others["partitions"]}
        own = self._by_port({name: value_of(name, task_vars, self._templar) for name in _managers.VARIABLES if name in task_vars}, task_vars)
        named = value_of("rdma_hosts", task_vars, self._templar) or DEFAULTS["rdma_hosts"]
        hosts = [host for name in (named if isinstance(named, list) else [named]) for host in groups.get(name, ())]
        return _managers.options_of(host, groups=groups, hostvars=hostvars, hosts=hosts, own=own, designated=designated)
