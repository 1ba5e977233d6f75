# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Configures the firmware of all chosen adapters of a node: look at all, check all, then set."""

from __future__ import annotations

import os
import time
import typing as t

from .._errors import CommandFailed, RdmaError, require_none
from .._host._lock import card_locks
from .._plan import Plan
from .._record import as_data
from .._tools._mlxconfig import TOOLS
from . import _config_plan as planning
from ._config_check import awaited, check, left_to_new_firmware
from ._config_plan import ConfigPlan, differences, plan
from ._devices import concluded, each, need_host, outcomes, read_devices, sort_out, title
from ._input import entry_problems, wanted_of
from ._link_type_look import look as look_at_network
from ._link_type_plan import changed_links, refuse_ports_in_use
from ._session import Missing, Session, find_tools
from ._values import base_name, bounds, number_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._errors import Problem
    from .._host._run import Runner
    from .._tools._mlxconfig import Row
    from ._input import Wanted


def _is_there(name: str, rows: t.Mapping[str, Row]) -> bool:
    limits = bounds(rows[base_name(name)].next) if base_name(name) in rows else None
    index = number_of(name.partition("[")[2].rstrip("]"))
    return limits is not None and index is not None and limits[0] <= index <= limits[1]


def _marked(rows: dict[str, Row], everything: t.Callable[[], t.Mapping[str, Row]]) -> dict[str, Row]:
    """Rows of a query by name, with the right ones marked read only.

    Where one of them is, mstconfig 4.31 marks all rows of the query. In a query for everything, it marks the right ones.
    """
    if len(rows) < 2 or not any(row.read_only for row in rows.values()):
        return rows
    whole = everything()
    return {name: row._replace(read_only=whole[base_name(name)].read_only) if base_name(name) in whole else row for name, row in rows.items()}


def look(session: Session, wanted: Wanted) -> dict[str, Row]:
    """The declared parameters; all of the adapter where all shall be reset, or where one of the declared is missing."""
    names = list(wanted.settings)
    if not wanted.reset_all:
        try:
            return _marked(session.query(names), session.query)
        except Missing:
            pass
    rows = session.query()
    elements = planning.whole_arrays(rows) if wanted.reset_all else [name for name in names if _is_there(name, rows)]
    if elements:
        rows.update(_marked(session.query(elements), lambda: rows))
    return rows


def examine(session: Session, wanted: Wanted, new_firmware: bool = False, *, rehearse: bool = True) -> ConfigPlan:
    """Compare, and with `rehearse` let the tool itself try what is to be set, in a dry run. With `new_firmware`, what is not there waits for that to run."""
    rows = look(session, wanted)
    missing = new_firmware and any(name not in rows for name in wanted.settings)
    waiting = left_to_new_firmware(wanted, rows, session.confs()) if missing else {}
    now = wanted._replace(settings={name: setting for name, setting in wanted.settings.items() if name not in waiting})
    found = _compared(session, now, rows)
    return (_rehearsed(session, found) if rehearse else found)._replace(waiting=waiting)


def _compared(session: Session, wanted: Wanted, rows: dict[str, Row]) -> ConfigPlan:
    problems = check(wanted, rows)
    if problems or awaited(wanted, rows):
        problems = check(wanted, rows, session.confs())
    return plan(wanted, rows)._replace(problems=tuple(problems))


def _rehearsed(session: Session, found: ConfigPlan) -> ConfigPlan:
    assignments = planning.sound_assignments(found)
    if not assignments:
        return found
    new, refusal = session.rehearse(assignments)
    if refusal:
        return found._replace(problems=(*found.problems, *_blame(session, found, assignments, refusal=refusal)))
    return found if found.problems else plan(found.wanted, found.rows, new)


def _blame(session: Session, found: ConfigPlan, assignments: t.Mapping[str, str], *, refusal: str) -> list[Problem]:
    """The assignments that the tool does not take. It reports the first one only, and seldom its name, so it has to try each alone."""
    refusals = dict.fromkeys(assignments, refusal)
    if len(assignments) > 1:
        refusals = {name: session.rehearse({name: spelt})[1] for name, spelt in assignments.items()}
    culprits = {name: said for name, said in refusals.items() if said}
    if not culprits:
        return [planning.refused_together(found.wanted, assignments, said=refusal, tool=session.tool)]
    return planning.refused(found, culprits, confs=session.confs(), tool=session.tool)


def _waves(plans: t.Sequence[ConfigPlan]) -> tuple[list[ConfigPlan], list[ConfigPlan]]:
    """One adapter of each kind first: limits that only the firmware knows show there, before the others are touched."""
    first: dict[tuple[str, ...], ConfigPlan] = {}
    for one in plans:
        first.setdefault((one.wanted.device.type, *sorted("%s=%s" % item for item in one.assignments.items())), one)
    leaders = list(first.values())
    return leaders, [one for one in plans if one not in leaders]


def apply(session: Session, todo: ConfigPlan) -> dict[str, Row]:
    """Set, and look whether it is there; parameters that exist only then follow. Returns the rows after that."""
    try:
        session.set(todo.assignments)
        rows = look(session, todo.wanted)
        if todo.later:
            again = plan(todo.wanted, rows)
            if again.assignments:
                session.set(again.assignments)
                rows = look(session, todo.wanted)
    except RdmaError as exc:
        raise _halfway(session, todo, exc) from exc
    left = differences(todo.wanted, rows)
    absent = [name for name in todo.later if name not in rows]
    if left or absent:
        text = "%s: the tool reported success, but the next start will not bring %s" % (session.title, ", ".join([*sorted(left), *absent]))
        raise _halfway(session, todo, CommandFailed(text))
    return rows


def _halfway(session: Session, todo: ConfigPlan, error: RdmaError) -> CommandFailed:
    """A failed set says nothing about what was set: look again, and report it."""
    try:
        rows = look(session, todo.wanted)
    except RdmaError as exc:
        return CommandFailed("%s. What was set before is not known: %s" % (error.msg, exc.msg), **{**error.details, "changed": True})
    left = plan(todo.wanted, rows)
    open_names = {*left.assignments, *left.later}
    done = [change.words() for change in todo.changes() if change.aspect not in open_names and change.aspect in rows]
    text = "%s. Set for the next start: %s. Not set: %s" % (error.msg, ", ".join(done) or "nothing", ", ".join(sorted(open_names)) or "nothing")
    return CommandFailed(text, **{**error.details, "changed": bool(done), "changes": done})


def apply_all(sessions: t.Mapping[str, Session], todo: t.Sequence[ConfigPlan], backups: list[str]) -> dict[str, t.Mapping[str, Row]]:
    """Set all adapters; the rows of each after that. Raises CommandFailed with the outcome of all adapters where some fail."""
    found: dict[str, t.Mapping[str, Row]] = {}
    for wave in _waves(todo):
        answers = outcomes(lambda one: apply(sessions[one.pci], one), wave)
        found.update({one.pci: rows for one, rows in zip(wave, answers) if not isinstance(rows, RdmaError)})
        failures = [answer for answer in answers if isinstance(answer, RdmaError)]
        if failures:
            finished = [one for one in todo if one.pci in found]
            untouched = [one for one in todo if one not in finished and one not in wave]
            raise _failure(failures, finished, untouched=untouched, backups=backups)
    return found


def save(sessions: t.Mapping[str, Session], todo: t.Sequence[ConfigPlan], folder: str) -> list[str]:
    """Backups of the adapters that will change, all before the first change; returns the files."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as exc:
        raise CommandFailed("the folder for backups, %s, can't be made: %s; nothing was set" % (folder, exc.strerror)) from exc
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())

    def one(pci: str) -> str:
        path = os.path.join(folder, "%s-%s.raw" % (pci.replace(":", "-"), stamp))
        return path if sessions[pci].backup(path) else ""

    return [path for path in each(one, [plan.pci for plan in todo]) if path]


def describe(todo: ConfigPlan, rows: t.Mapping[str, Row], tool: str) -> dict[str, t.Any]:
    """One adapter in the result. `rows` are those after the run; in check mode those before, with what would be set."""
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
        reason = "nothing can be predicted: the tools are not installed on this node; a real run would stop here, or install them before"
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


def _failure(failures: t.Sequence[RdmaError], finished: t.Sequence[ConfigPlan], *, untouched: t.Sequence[ConfigPlan], backups: list[str]) -> CommandFailed:
    """Some adapters failed: the outcome of all of them."""
    done = [change.words() for one in finished for change in one.changes()]
    texts = [failure.msg for failure in failures]
    if finished:
        texts.append("Set on other adapters: %s" % ", ".join(done))
    if untouched:
        texts.append("Not touched: %s" % ", ".join(title(one.wanted.device) for one in untouched))
    changes = [*done, *(words for failure in failures for words in failure.details.get("changes", []))]
    changed = bool(changes) or any(failure.details.get("changed") for failure in failures)
    details = {**failures[0].details, "changed": changed, "changes": changes, "backup_files": backups}
    return CommandFailed(". ".join(texts), **details)
