# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Look at the node and check it on the controller; run the module only on a node that deviates. The documentation is in the module of the same name."""

from __future__ import annotations

import typing as t

from ..module_utils._check import _concern
from ..module_utils._ipnet._wanted import AUTO, counted
from ..module_utils._opensm._fabrics import declared_of
from ..module_utils._opensm._partitions._input import members_of, memberships
from ..module_utils._plain import plain
from ..module_utils._schema._node_check import OPTIONS
from ..plugin_utils import _looks
from ..plugin_utils._actions import CollectionAction, completed, host_of, value_of

_NEIGHBOURS = "ipoib_network_neighbours"


class ActionModule(CollectionAction):
    """Executes one module where the node is as declared: rdma_facts, which an earlier task of the run has already sent to all nodes.

    The module node_check waits for pending changes of state, and reads cables and firmware.
    """

    asynchronous = True

    def work(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        self._task.args = self._filled(task_vars)
        answer = None if self._task.async_val else self._looked(task_vars)
        return self._execute("node_check", self._task.args, task_vars) if answer is None else answer

    def _filled(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The arguments with those from variables."""
        arguments = dict(self._task.args)
        names = plain(arguments.get("from_variables"))
        # The module reports a malformed value.
        if not isinstance(names, dict):
            return arguments
        del arguments["from_variables"]
        known = {option: name for option, name in names.items() if name in task_vars and option not in arguments}
        found = {option: value_of(name, task_vars, self._templar) for option, name in known.items()}
        if isinstance(found.get("fabrics"), list):
            # As an argument of the filter that makes the list, all hosts of the play would be searched for templates, again for each host.
            found["fabrics"] = [self._completed(_marked(fabric, task_vars.get("ansible_play_hosts_all") or ()), task_vars) for fabric in found["fabrics"]]
        if _NEIGHBOURS in names:
            # Only the controller knows the size of the inventory.
            group = value_of("rdma_hosts", task_vars, self._templar)
            found[_NEIGHBOURS] = counted(found.get(_NEIGHBOURS, AUTO), task_vars.get("groups") or {}, group)
        return self._by_port({**found, **arguments}, task_vars)

    def _completed(self, fabric: t.Any, task_vars: t.Mapping[str, t.Any]) -> t.Any:
        """A fabric with the partitions of the host, which the designated host declares. The filter would have to search the groups of all hosts."""
        designated = fabric.get("designated_host") if isinstance(fabric, dict) else None
        if not designated or designated not in task_vars.get("hostvars", ()):
            return fabric
        # The variables of another host take templates, and a partition may name all hosts: the first host reads them for the others.
        key = "%s %s %s" % (self._task._uuid, designated, fabric.get("fabric"))
        partitions = _looks.recall_survey(key, "partitions")
        if partitions is None:
            own = task_vars["hostvars"][designated]
            settings = declared_of(own, str(fabric.get("fabric")))
            partitions = members_of(plain(settings["partitions"] if "partitions" in settings else own.get("opensm_partitions")))
            _looks.keep_survey(key, "partitions", partitions)
        groups = {"all", *map(str, task_vars.get("group_names") or ())}
        known = memberships(partitions, host_of(task_vars), groups, manages=bool(fabric.get("designated") or fabric.get("standby")))
        return {**fabric, "partitions": {"0x%04x" % pkey: membership for pkey, membership in known.items()}}

    def _looked(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any] | None:
        options = completed(OPTIONS, self._task.args)
        # The module reports wrong arguments.
        hints = {} if options is None else _concern.hints(options)
        if options is None or not hints:
            return None
        answer = self._execute("rdma_facts", {"gather": [], "look": hints}, task_vars)
        result = _concern.unchanged(options, answer.get("look") or {})
        return None if result is None else {"changed": False, **_beside(answer), **result}


def _marked(fabric: t.Any, run: t.Collection[str]) -> t.Any:
    """A fabric, with a mark where its designated host is not one of the run. The module reports a malformed one."""
    first = fabric.get("designated_host") if isinstance(fabric, dict) else None
    return {**fabric, "designated_absent": True} if first and run and first not in run else fabric


def _beside(answer: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The keys that ansible-core itself has added to the answer of a module, without the facts of the module."""
    found = {name: answer[name] for name in ("warnings", "deprecations") if name in answer}
    interpreters = {name: value for name, value in (answer.get("ansible_facts") or {}).items() if name.startswith("discovered_interpreter_")}
    return {**found, "ansible_facts": interpreters} if interpreters else found
