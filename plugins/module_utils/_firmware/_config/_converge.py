# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configure the firmware of all selected adapters of a node: look at all, check all, then set."""

from __future__ import annotations

import os
import typing as t

from ..._errors import require_none
from ..._host._lock import card_locks
from ..._plan import Plan
from ..._record import as_data
from ..._tools._mlxconfig import TOOLS
from .._devices import concluded, need_host, read_devices, sort_out, title
from .._link_type._look import look as look_at_network
from .._link_type._plan import changed_links, refuse_ports_in_use
from ._apply import apply_all, examine, save
from ._input import entry_problems, wanted_of
from ._plan import ConfigPlan
from ._session import Session, find_tools

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner
    from ..._tools._mlxconfig import Row


def describe(todo: ConfigPlan, rows: t.Mapping[str, Row], tool: str) -> dict[str, t.Any]:
    """One adapter of the result. `rows` are those after the run; in check mode, those before it, with the values that would be set."""
    after = todo.after()
    names = [*todo.wanted.settings, *(name for name in after if name not in todo.wanted.settings)]
    device = as_data(todo.wanted.device)
    parameters = {}
    for name in names:
        row = rows.get(name)
        default, current, later = (row.default, row.current, row.next) if row else (None, None, None)
        parameters[name] = {"default": default, "current": current, "next": after.get(name, later)}
    return {
        **{name: device[name] for name in ("pci", "functions", "rdma", "part_number", "psid")},
        "type": device["model"] or device["type"],
        "tool": tool,
        "parameters": parameters,
    }


def converge(module: AnsibleModule, run: Runner, root: str = "/", *, environ: t.Mapping[str, str] | None = None) -> dict[str, t.Any]:
    """Look, plan, set, look again; returns the result of the module."""
    options = module.params
    require_none(entry_problems("devices", options["devices"]))
    all_wanted, problems = wanted_of("devices", options["devices"], read_devices(root), missing=options["missing"])
    require_none(problems)
    if all_wanted and module.check_mode and not any(run.has(name) for name in TOOLS):
        reason = "nothing can be predicted: the tools are not installed on this node. A real run would install them first, or stop here"
        return {**Plan().result(reasons=[reason]), "waiting": [], "devices": [], "backup_files": []}
    tools = find_tools(run, options["tool"]) if all_wanted else ()
    sessions = {one.device.pci: Session(run, tools, one.device.pci, title=title(one.device)) for one in all_wanted}
    with card_locks(sessions, options["lock_timeout"], root):
        burned = frozenset(options["awaiting_firmware"])
        plans, unread = sort_out(
            [(one.device.pci, one) for one in all_wanted],
            lambda one: examine(sessions[one.device.pci], one, not burned.isdisjoint(one.device.functions)),
        )
        require_none([problem for one in plans for problem in one.problems])
        found = {one.pci: one.rows for one in plans}
        todo = [one for one in plans if one.changes()]
        backups: list[str] = []
        if todo:
            need_host(options, root)
        if changed_links(todo):
            refuse_ports_in_use(todo, look_at_network(run, os.environ if environ is None else environ, root=root), options["allow_link_type"])
        if todo and not module.check_mode:
            backups = save(sessions, todo, options["backup_dir"]) if options["backup"] else []
            found.update(apply_all(sessions, todo, backups))
    pending = [entry for one in plans for entry in one.pending()]
    answer = {
        **Plan(tuple(change for one in plans for change in one.changes())).result(pending, [entry.words() for entry in pending]),
        "waiting": [entry.result() for one in plans for entry in one.for_new_firmware()],
        "devices": [describe(one, found[one.pci], sessions[one.pci].tool) for one in plans],
        "backup_files": backups,
    }
    return concluded(answer, unread)
