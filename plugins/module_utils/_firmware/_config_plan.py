# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From what an adapter has and shall have to what must be set. Pure.

Three states are kept apart: default, current (what the running firmware uses) and next (what it will use after its next
start). A change is a change of next; pending is what differs between next and current.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_check import allowed_value, awaited, once, wanted
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._values import argument, bounds, readable, same
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Kind, Pending, Plan
from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import allowed_by

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_input import Target
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig_confs import Conf

ABSENT = "not available"
UNKNOWN = "unknown"


def _place(name: str, target: Target) -> str:
    """Where a value comes from; what only goes to its default with all others has no place of its own."""
    wish = target.wishes.get(name)
    return "%s (%s)" % (wish.where if wish else name, target.device.pci)


def unjudged(step: Step, problems: t.Iterable[Problem]) -> dict[str, str]:
    """The assignments that nothing is known against."""
    told = {problem.variable for problem in problems}
    return {name: spelt for name, spelt in step.assignments.items() if _place(name, step.target) not in told}


def refused(step: Step, refusals: Mapping[str, str], confs: Mapping[str, Conf], tool: str) -> list[Problem]:
    """The assignments that the tool does not take, by name with its words, of which many name neither parameter nor limit."""
    found = []
    for name, said in refusals.items():
        wish = step.target.wishes.get(name)
        value = wish.value if wish and wish.value is not None else step.assignments[name]
        allowed = allowed_by(said) or allowed_value(name, step.rows[name], confs)
        found.append(Problem(_place(name, step.target), value, allowed, "%s says: %s" % (tool, said)))
    return once(found)


def refused_together(step: Step, assignments: Mapping[str, str], said: str, tool: str) -> Problem:
    """The tool takes each of the assignments, but not all of them at once."""
    wishes = [step.target.wishes[name] for name in assignments if name in step.target.wishes]
    where = "%s (%s)" % (wishes[0].within or wishes[0].where, step.target.device.pci) if wishes else step.target.device.pci
    return Problem(where, " ".join("%s=%s" % item for item in assignments.items()), "values that go together", "%s says: %s" % (tool, said))


def differences(target: Target, rows: Mapping[str, Row]) -> dict[str, str]:
    """What must be set, as the tool reads it; empty where the next start brings all that is declared."""
    names = [*target.wishes, *(sorted(set(rows) - set(target.wishes)) if target.reset_all else [])]
    found = {}
    for name in names:
        row = rows.get(name)
        if row is None or bounds(row.next):
            continue
        wish = target.wishes.get(name)
        text = wanted(wish, row)
        if wish is None and (row.read_only or not readable(row.next) or text is None or not readable(text)):
            continue
        if text is not None and not same(text, row.next):
            found[name] = argument(text, row.next)
    return found


def whole_arrays(rows: Mapping[str, Row]) -> list[str]:
    """The arrays among all parameters, as a query for their elements names them."""
    limits = {name: bounds(row.next) for name, row in rows.items()}
    return ["%s[%d..%d]" % (name, limit[0], limit[1]) for name, limit in sorted(limits.items()) if limit]


class Step(t.NamedTuple):
    """What a run does to one adapter."""

    target: Target
    rows: Mapping[str, Row]
    assignments: Mapping[str, str]
    """For the first set."""
    later: tuple[str, ...] = ()
    """What can be set only after it."""
    new: Mapping[str, str] = {}
    """The values after it, as the tool itself shows them."""

    def after(self) -> dict[str, str]:
        """The next value of everything that changes."""
        found = {name: self.new.get(name, spelt) for name, spelt in self.assignments.items()}
        found.update((name, self.target.wishes[name].value or "") for name in self.later)
        return found

    def changes(self) -> tuple[Change, ...]:
        before = {name: self.rows[name].next if name in self.rows else ABSENT for name in self.after()}
        return tuple(self._change(name, before[name], value) for name, value in self.after().items())

    def _change(self, name: str, before: str, after: str) -> Change:
        return Change(Kind.FIRMWARE_PARAMETER, self.target.device.pci, name, before, after, "reboot")

    def pending(self) -> tuple[Pending, ...]:
        """What the card will use after its next start and does not use now."""
        after = self.after()
        names = [*self.target.wishes, *(sorted(set(self.rows) - set(self.target.wishes)) if self.target.reset_all else [])]
        found = []
        for name in names:
            row = self.rows.get(name)
            if row is None and name not in after:
                continue
            value = after.get(name) or (row.next if row else "")
            current = row.current if row else ABSENT
            if current is None:
                # Firmware without this knowledge: only what is set now is known to wait.
                waits, current = name in after, UNKNOWN
            else:
                waits = not bounds(value) and not same(value, current)
            if waits:
                found.append(Pending(self._change(name, current, value)))
        return tuple(found)


def step_of(target: Target, rows: Mapping[str, Row], new: Mapping[str, str] | None = None) -> Step:
    """C(new) are the values that the tool showed in a dry run: what it takes for no change is none."""
    shown = new or {}
    assignments = {name: spelt for name, spelt in differences(target, rows).items() if name not in shown or not same(shown[name], rows[name].next)}
    return Step(target, rows, assignments, tuple(awaited(target, rows)), shown)


def plan_of(steps: t.Iterable[Step]) -> Plan:
    """The changes of a node, by adapter."""
    return Plan(tuple(change for step in steps for change in step.changes()))
