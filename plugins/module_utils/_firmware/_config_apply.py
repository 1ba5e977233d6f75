# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Configures the firmware of all chosen adapters of a node: look at all, judge all, then set."""

from __future__ import annotations

import contextlib
import os
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, InvalidInput, RdmaError, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_check import awaited, check
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_input import entry_problems, targets_of
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_plan import (
    Step,
    differences,
    plan_of,
    refused,
    refused_together,
    step_of,
    unjudged,
    whole_arrays,
)
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._devices import read_devices, title
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._session import Missing, Session, find_tools
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._values import base_name, bounds, number_of
from ansible_collections.rdma.ofed.plugins.module_utils._host._lock import card_lock
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import TOOLS

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
    from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_input import Target
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row

_WORKERS = 16

Item = t.TypeVar("Item")
Result = t.TypeVar("Result")


def outcomes(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result | RdmaError]:
    """The results for all items, worked out side by side; an error where one failed."""

    def one(item: Item) -> Result | RdmaError:
        try:
            return function(item)
        except RdmaError as exc:
            return exc

    if not items:
        return []
    with ThreadPoolExecutor(max_workers=min(len(items), _WORKERS)) as pool:
        return list(pool.map(one, items))


def each(function: t.Callable[[Item], Result], items: t.Sequence[Item]) -> list[Result]:
    """The results for all items. All that fail are told at once."""
    results = outcomes(function, items)
    failures = [result for result in results if isinstance(result, RdmaError)]
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise CommandFailed("; ".join(failure.msg for failure in failures), **failures[0].details)
    return [result for result in results if not isinstance(result, RdmaError)]


@contextlib.contextmanager
def _locked(adapters: t.Iterable[str], patience: float, root: str) -> t.Iterator[None]:
    """Hold several adapters. They are always taken in one order, so that two runs can't wait for each other."""
    with contextlib.ExitStack() as stack:
        try:
            for pci in sorted(adapters):
                stack.enter_context(card_lock(pci, patience, root))
        except OSError as exc:
            raise Unsupported("the adapters can't be locked: %s. Run the task as root" % exc) from exc
        yield


def _is_there(name: str, rows: t.Mapping[str, Row]) -> bool:
    limits = bounds(rows[base_name(name)].next) if base_name(name) in rows else None
    index = number_of(name.partition("[")[2].rstrip("]"))
    return limits is not None and index is not None and limits[0] <= index <= limits[1]


def _marked(rows: dict[str, Row], everything: t.Callable[[], t.Mapping[str, Row]]) -> dict[str, Row]:
    """Rows asked for by name, with only those marked read only that are.

    Where one of them is, mstconfig 4.31 marks all that were asked for with it. Asked for everything, it marks the right ones.
    """
    if len(rows) < 2 or not any(row.read_only for row in rows.values()):
        return rows
    whole = everything()
    return {name: row._replace(read_only=whole[base_name(name)].read_only) if base_name(name) in whole else row for name, row in rows.items()}


def look(session: Session, target: Target) -> dict[str, Row]:
    """The declared parameters; all of the adapter where all shall be reset, or where one of the declared is missing."""
    names = list(target.wishes)
    if not target.reset_all:
        try:
            return _marked(session.query(names), session.query)
        except Missing:
            pass
    rows = session.query()
    elements = whole_arrays(rows) if target.reset_all else [name for name in names if _is_there(name, rows)]
    if elements:
        rows.update(_marked(session.query(elements), lambda: rows))
    return rows


class Judged(t.NamedTuple):
    """One adapter before the first change."""

    step: Step
    problems: list[Problem]


def judge(session: Session, target: Target) -> Judged:
    """Compare, and let the tool itself say whether it would take what is to be set."""
    rows = look(session, target)
    wrong = check(target, rows)
    if wrong or awaited(target, rows):
        wrong = check(target, rows, session.confs())
    step = step_of(target, rows)
    assignments = unjudged(step, wrong)
    if not assignments:
        return Judged(step, wrong)
    new, refusal = session.rehearse(assignments)
    if refusal:
        wrong.extend(_blame(session, step, assignments, refusal))
    return Judged(step if wrong else step_of(target, rows, new), wrong)


def _blame(session: Session, step: Step, assignments: t.Mapping[str, str], refusal: str) -> list[Problem]:
    """Which of the assignments the tool does not take: it tells the first one only, and seldom its name. So it is asked for each alone."""
    refusals = dict.fromkeys(assignments, refusal)
    if len(assignments) > 1:
        refusals = {name: session.rehearse({name: spelt})[1] for name, spelt in assignments.items()}
    culprits = {name: said for name, said in refusals.items() if said}
    if not culprits:
        return [refused_together(step, assignments, refusal, session.tool.name)]
    return refused(step, culprits, session.confs(), session.tool.name)


def _waves(steps: t.Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """One adapter of each kind first: limits that only the firmware knows show there, before the others are touched."""
    first: dict[tuple[str, ...], Step] = {}
    for step in steps:
        first.setdefault((step.target.device.type, *sorted("%s=%s" % item for item in step.assignments.items())), step)
    leaders = list(first.values())
    return leaders, [step for step in steps if step not in leaders]


def carry_out(session: Session, step: Step) -> dict[str, Row]:
    """Set, and look whether it is there; what appears only then comes second."""
    try:
        session.set(step.assignments)
        rows = look(session, step.target)
        if step.later:
            again = step_of(step.target, rows)
            if again.assignments:
                session.set(again.assignments)
                rows = look(session, step.target)
    except RdmaError as exc:
        raise _halfway(session, step, exc) from exc
    left = differences(step.target, rows)
    absent = [name for name in step.later if name not in rows]
    if left or absent:
        text = "%s: the tool reported success, but the next start will not bring %s" % (session.title, ", ".join([*sorted(left), *absent]))
        raise _halfway(session, step, CommandFailed(text))
    return rows


def _halfway(session: Session, step: Step, error: RdmaError) -> CommandFailed:
    """After a failed set nothing is known: look again, and say what was set."""
    try:
        rows = look(session, step.target)
    except RdmaError as exc:
        return CommandFailed("%s. What was set before is not known: %s" % (error.msg, exc.msg), **{**error.details, "changed": True})
    left = step_of(step.target, rows)
    open_names = {*left.assignments, *left.later}
    done = [change.words() for name, change in zip(step.after(), step.changes()) if name not in open_names and name in rows]
    text = "%s. Set for the next start: %s. Not set: %s" % (error.msg, ", ".join(done) or "nothing", ", ".join(sorted(open_names)) or "nothing")
    return CommandFailed(text, **{**error.details, "changed": bool(done), "changes": done})


def save(sessions: t.Mapping[str, Session], steps: t.Sequence[Step], folder: str) -> list[str]:
    """Backups of the adapters that will change, all before the first change; returns the files."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as exc:
        raise CommandFailed("the folder for backups, %s, can't be made: %s; nothing was set" % (folder, exc.strerror)) from exc
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())

    def one(step: Step) -> str:
        path = os.path.join(folder, "%s-%s.raw" % (step.target.device.pci.replace(":", "-"), stamp))
        return path if sessions[step.target.device.pci].backup(path) else ""

    return [path for path in each(one, steps) if path]


def describe(step: Step, rows: t.Mapping[str, Row], tool: str) -> dict[str, t.Any]:
    """One adapter in the result. C(rows) are those after the run; in check mode those before, with what would be set."""
    after = step.after()
    names = [*step.target.wishes, *(name for name in after if name not in step.target.wishes)]
    device = step.target.device
    return {
        "pci": device.pci,
        "functions": list(device.functions),
        "rdma": list(device.rdma),
        "type": device.model or device.type,
        "part_number": device.part_number,
        "psid": device.psid,
        "tool": tool,
        "parameters": {
            name: {
                "default": rows[name].default if name in rows else None,
                "current": rows[name].current if name in rows else None,
                "next": rows[name].next if name in rows and name not in after else after.get(name),
            }
            for name in names
        },
    }


def converge(module: AnsibleModule, run: Runner, root: str = "/") -> dict[str, t.Any]:
    """Look, judge, plan, set, look again; returns the result of the module."""
    parameters = module.params
    wrong = entry_problems("devices", parameters["devices"])
    if wrong:
        raise InvalidInput(wrong)
    targets, wrong = targets_of("devices", parameters["devices"], read_devices(root), parameters["missing"])
    if wrong:
        raise InvalidInput(wrong)
    if targets and module.check_mode and not any(run.has(name) for name in TOOLS):
        reason = "nothing can be foreseen: the tools are not installed on this node; a real run would stop here, or install them before"
        return {**Plan().result(), "reasons": [reason], "devices": [], "backup_files": []}
    tools = find_tools(run, parameters["tool"]) if targets else ()
    sessions = {target.device.pci: Session(run, tools, target.device.pci, module.tmpdir, title(target.device)) for target in targets}
    with _locked(sessions, parameters["lock_timeout"], root):
        judged = each(lambda target: judge(sessions[target.device.pci], target), targets)
        wrong = [problem for one in judged for problem in one.problems]
        if wrong:
            raise InvalidInput(wrong)
        steps = [one.step for one in judged]
        found = {step.target.device.pci: step.rows for step in steps}
        todo = [step for step in steps if step.changes()]
        backups: list[str] = []
        if todo and not module.check_mode:
            backups = save(sessions, todo, parameters["backup_dir"]) if parameters["backup"] else []
            finished: list[Step] = []
            for wave in _waves(todo):
                failures: list[RdmaError] = []
                for step, outcome in zip(wave, outcomes(lambda step: carry_out(sessions[step.target.device.pci], step), wave)):
                    if isinstance(outcome, RdmaError):
                        failures.append(outcome)
                    else:
                        found[step.target.device.pci] = outcome
                        finished.append(step)
                if failures:
                    raise _failure(failures, finished, [step for step in todo if step not in finished and step not in wave], backups)
    pending = [entry for step in steps for entry in step.pending()]
    result = plan_of(steps).result(pending, [entry.words() for entry in pending])
    result["devices"] = [describe(step, found[step.target.device.pci], sessions[step.target.device.pci].tool.name) for step in steps]
    result["backup_files"] = backups
    return result


def _failure(failures: t.Sequence[RdmaError], finished: t.Sequence[Step], untouched: t.Sequence[Step], backups: list[str]) -> CommandFailed:
    """Some adapters failed: what became of all of them."""
    done = [change.words() for step in finished for change in step.changes()]
    texts = [failure.msg for failure in failures]
    if finished:
        texts.append("Set on other adapters: %s" % ", ".join(done))
    if untouched:
        texts.append("Not touched: %s" % ", ".join(title(step.target.device) for step in untouched))
    changes = [*done, *(words for failure in failures for words in failure.details.get("changes", []))]
    changed = bool(changes) or any(failure.details.get("changed") for failure in failures)
    details = {**failures[0].details, "changed": changed, "changes": changes, "backup_files": backups}
    return CommandFailed(". ".join(texts), **details)
