# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set the firmware parameters of all selected adapters of a node. All are checked before the first one is set."""

from __future__ import annotations

import os
import time
import typing as t

from ..._errors import CommandFailed, RdmaError
from .._devices import each, outcomes, title
from . import _plan as planning
from ._check import awaited, check, left_to_new_firmware
from ._look import look
from ._plan import ConfigPlan, differences, plan

if t.TYPE_CHECKING:
    from ..._errors import Problem
    from ..._tools._mlxconfig import Row
    from ._session import Session
    from ._wanted import Wanted


def examine(session: Session, wanted: Wanted, new_firmware: bool = False, *, rehearse: bool = True) -> ConfigPlan:
    """Plan the changes; with `rehearse`, the tool tries them in a dry run. With `new_firmware`, missing parameters wait for the new firmware."""
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
    """The assignments that the tool refuses. It reports only the first one, and rarely by name, so each assignment is tried alone."""
    refusals = dict.fromkeys(assignments, refusal)
    if len(assignments) > 1:
        refusals = {name: session.rehearse({name: spelt})[1] for name, spelt in assignments.items()}
    culprits = {name: said for name, said in refusals.items() if said}
    if not culprits:
        return [planning.refused_together(found.wanted, assignments, said=refusal, tool=session.tool)]
    return planning.refused(found, culprits, confs=session.confs(), tool=session.tool)


def _waves(plans: t.Sequence[ConfigPlan]) -> tuple[list[ConfigPlan], list[ConfigPlan]]:
    """Split the adapters: first one of each kind, which reveals limits that only the firmware knows, then all others."""
    first: dict[tuple[str, ...], ConfigPlan] = {}
    for one in plans:
        first.setdefault((one.wanted.device.type, *sorted("%s=%s" % item for item in one.assignments.items())), one)
    leaders = list(first.values())
    return leaders, [one for one in plans if one not in leaders]


def apply(session: Session, todo: ConfigPlan) -> dict[str, Row]:
    """Set the parameters, verify them, then set those that exist only afterwards. Returns the rows after that."""
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
        text = "%s: the tool reported success, but the next start will not apply %s" % (session.title, ", ".join([*sorted(left), *absent]))
        raise _halfway(session, todo, CommandFailed(text))
    return rows


def _halfway(session: Session, todo: ConfigPlan, error: RdmaError) -> CommandFailed:
    """The error of a failed set, with what was set nevertheless, as a new query shows it."""
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
    """Set all adapters and return the rows of each afterwards. If some fail, raise CommandFailed with the outcome of all adapters."""
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
    """Back up all adapters that will change, before the first change; returns the paths of the files."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as exc:
        raise CommandFailed("the folder for backups, %s, can't be made: %s; nothing was set" % (folder, exc.strerror)) from exc
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())

    def one(pci: str) -> str:
        path = os.path.join(folder, "%s-%s.raw" % (pci.replace(":", "-"), stamp))
        return path if sessions[pci].backup(path) else ""

    return [path for path in each(one, [plan.pci for plan in todo]) if path]


def _failure(failures: t.Sequence[RdmaError], finished: t.Sequence[ConfigPlan], *, untouched: t.Sequence[ConfigPlan], backups: list[str]) -> CommandFailed:
    """The error for a run in which some adapters failed, with the outcome of all of them."""
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
