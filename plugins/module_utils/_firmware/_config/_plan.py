# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan which parameters of an adapter must be set, from found and wanted values. Pure.

A parameter has three values: default, current (used by the running firmware) and next (used after its next
start). A change is a change of next; a pending value is a difference between next and current.
"""

from __future__ import annotations

import typing as t

from ..._errors import Problem
from ..._plan import Change, Kind, Pending
from ..._tools._mlxconfig import allowed_by
from ._check import allowed_value, awaited, once, value_wanted
from ._values import argument, bounds, readable, same

if t.TYPE_CHECKING:
    from ..._tools._mlxconfig import Conf, Row
    from ._wanted import Wanted

ABSENT = "not available"
UNKNOWN = "unknown"
_WAITS = "the running firmware does not have it; it will be set once the firmware in flash runs"


def _place(name: str, wanted: Wanted) -> str:
    """The place of a value in the input. A parameter that is reset with all others has no place of its own."""
    setting = wanted.settings.get(name)
    return "%s (%s)" % (setting.where if setting else name, wanted.device.pci)


def sound_assignments(found: ConfigPlan) -> dict[str, str]:
    """The assignments without a problem."""
    told = {problem.variable for problem in found.problems}
    return {name: spelt for name, spelt in found.assignments.items() if _place(name, found.wanted) not in told}


def refused(found: ConfigPlan, refusals: t.Mapping[str, str], *, confs: t.Mapping[str, Conf], tool: str) -> list[Problem]:
    """The problems of the assignments that the tool refuses, by name. The tool's words, which are quoted, often name neither parameter nor limit."""
    problems = []
    for name, said in refusals.items():
        setting = found.wanted.settings.get(name)
        value = setting.value if setting and setting.value is not None else found.assignments[name]
        allowed = allowed_by(said) or allowed_value(name, found.rows[name], confs)
        problems.append(Problem(_place(name, found.wanted), value, allowed, "%s says: %s" % (tool, said)))
    return once(problems)


def refused_together(wanted: Wanted, assignments: t.Mapping[str, str], *, said: str, tool: str) -> Problem:
    """The problem of assignments that the tool accepts one by one, but not together."""
    settings = [wanted.settings[name] for name in assignments if name in wanted.settings]
    where = "%s (%s)" % (settings[0].within or settings[0].where, wanted.device.pci) if settings else wanted.device.pci
    return Problem(where, " ".join("%s=%s" % item for item in assignments.items()), "values that are compatible", "%s says: %s" % (tool, said))


def _names(wanted: Wanted, rows: t.Mapping[str, Row]) -> list[str]:
    """The relevant parameters: the declared ones, or all parameters where all are to be reset."""
    return [*wanted.settings, *(sorted(set(rows) - set(wanted.settings)) if wanted.reset_all else [])]


def differences(wanted: Wanted, rows: t.Mapping[str, Row]) -> dict[str, str]:
    """The values to set, as the tool reads them; empty where everything is as declared after the next start."""
    found = {}
    for name in _names(wanted, rows):
        row = rows.get(name)
        if row is None or bounds(row.next):
            continue
        setting = wanted.settings.get(name)
        text = value_wanted(setting, row)
        if setting is None and (row.read_only or not readable(row.next) or text is None or not readable(text)):
            continue
        if text is not None and not same(text, row.next):
            found[name] = argument(text, row.next)
    return found


class ConfigPlan(t.NamedTuple):
    """The changes of one adapter."""

    wanted: Wanted
    rows: t.Mapping[str, Row]
    assignments: t.Mapping[str, str]
    """The assignments of the first set."""
    later: tuple[str, ...] = ()
    """The parameters that can be set only after the first set."""
    new: t.Mapping[str, str] = {}
    """The values after the first set, as the tool itself shows them."""
    problems: tuple[Problem, ...] = ()
    """What this adapter can't have."""
    waiting: t.Mapping[str, str] = {}
    """Parameters that only the pending firmware may have. They are not among the wanted settings."""

    @property
    def pci(self) -> str:
        return self.wanted.device.pci

    def after(self) -> dict[str, str]:
        """The next value of each parameter that changes."""
        found = {name: self.new.get(name, spelt) for name, spelt in self.assignments.items()}
        found.update((name, self.wanted.settings[name].value or "") for name in self.later)
        return found

    def changes(self) -> tuple[Change, ...]:
        return tuple(self._change(name, self.rows[name].next if name in self.rows else ABSENT, value) for name, value in self.after().items())

    def _change(self, name: str, before: str, after: str) -> Change:
        return Change(Kind.FIRMWARE_PARAMETER, self.pci, name, before, after, "reboot")

    def for_new_firmware(self) -> tuple[Pending, ...]:
        """The values that wait until the pending firmware runs."""
        return tuple(Pending(self._change(name, ABSENT, value), (_WAITS,)) for name, value in self.waiting.items())

    def pending(self) -> tuple[Pending, ...]:
        """The values that the card uses only after its next start."""
        after = self.after()
        found = []
        for name in _names(self.wanted, self.rows):
            row = self.rows.get(name)
            if row is None and name not in after:
                continue
            value = after.get(name) or (row.next if row else "")
            current = row.current if row else ABSENT
            if current is None:
                # This firmware doesn't report the current value: only the values set now are known to be pending.
                waits, current = name in after, UNKNOWN
            else:
                waits = not bounds(value) and not same(value, current)
            if waits:
                found.append(Pending(self._change(name, current, value)))
        return (*found, *self.for_new_firmware())


def plan(wanted: Wanted, rows: t.Mapping[str, Row], new: t.Mapping[str, str] | None = None) -> ConfigPlan:
    """The plan. `new`: the values that the tool showed in a dry run; assignments that would change nothing are left out."""
    shown = new or {}
    assignments = {name: spelt for name, spelt in differences(wanted, rows).items() if name not in shown or not same(shown[name], rows[name].next)}
    return ConfigPlan(wanted, rows, assignments, tuple(awaited(wanted, rows)), shown)
