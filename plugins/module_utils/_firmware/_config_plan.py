# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""From what an adapter has and shall have to what must be set. Pure.

Three states are kept apart: default, current (what the running firmware uses) and next (what it will use after its next
start). A change is a change of next; pending is what differs between next and current.
"""

from __future__ import annotations

import difflib
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._firmware._values import (
    argument,
    base_name,
    bounds,
    is_boolean,
    name_of,
    number_of,
    readable,
    same,
)
from ansible_collections.rdma.ofed.plugins.module_utils._plan import Change, Plan

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from ansible_collections.rdma.ofed.plugins.module_utils._firmware._config_input import Target, Wish
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig import Row
    from ansible_collections.rdma.ofed.plugins.module_utils._tools._mlxconfig_confs import Conf

ABSENT = "not available"
UNKNOWN = "unknown"

# Parameters that exist only while another one has a value (for the next start). From the dependencies in the database of
# mstflint 4.21 and 4.31.
PREREQUISITES: Mapping[str, tuple[str, int]] = {
    "MAX_ACC_OUT_READ": ("ADVANCED_PCI_SETTINGS", 1),
    "FORCE_ETH_PCI_SUBCLASS": ("ADVANCED_PCI_SETTINGS", 1),
    "IBM_CAPI_EN": ("ADVANCED_PCI_SETTINGS", 1),
    "DISABLE_SLOT_POWER_LIMITER": ("ADVANCED_POWER_SETTINGS", 1),
    "INTERNAL_CPU_OFFLOAD_ENGINE": ("INTERNAL_CPU_MODEL", 1),
    "INTERNAL_CPU_ESWITCH_MANAGER": ("INTERNAL_CPU_MODEL", 1),
    "INTERNAL_CPU_PAGE_SUPPLIER": ("INTERNAL_CPU_MODEL", 1),
    "INTERNAL_CPU_IB_VPORT0": ("INTERNAL_CPU_MODEL", 1),
    "PHY_RATE_MASK_P1": ("PHY_RATE_MASK_OVERRIDE_P1", 1),
    "PHY_RATE_MASK_P2": ("PHY_RATE_MASK_OVERRIDE_P2", 1),
    "SAFE_MODE_THRESHOLD": ("SAFE_MODE_ENABLE", 1),
    "IP_OVER_VXLAN_PORT": ("IP_OVER_VXLAN_EN", 1),
}


def wanted(wish: Wish | None, row: Row) -> str | None:
    """The value to have; None where the firmware doesn't tell its default."""
    return row.default if wish is None or wish.value is None else wish.value


def _meets(name: str, value: int, target: Target, rows: Mapping[str, Row]) -> bool:
    """Will a parameter have a value after the run?"""
    row, wish = rows.get(name), target.wishes.get(name)
    if row is None:
        return False
    text = wanted(wish, row) if wish or target.reset_all else row.next
    if text is None or same(text, row.next):
        return number_of(row.next) == value
    if is_boolean(row.next):
        return same(text, "True(1)") == bool(value)
    number = number_of(text)
    # Another name of an enumeration has a number that is not known here: it leaves the present value at least.
    return number == value if number is not None else number_of(row.next) != value


def awaited(target: Target, rows: Mapping[str, Row]) -> list[str]:
    """Parameters that are not there yet, and will be once another declared one is set."""
    return [
        name
        for name, wish in target.wishes.items()
        if name not in rows and wish.value is not None and name in PREREQUISITES and _meets(*PREREQUISITES[name], target=target, rows=rows)
    ]


def _gone(name: str, wish: Wish, target: Target, rows: Mapping[str, Row]) -> bool:
    """Has a parameter that shall have its default gone with the one that it depends on?"""
    return wish.value is None and name in PREREQUISITES and PREREQUISITES[name][0] in rows and not _meets(*PREREQUISITES[name], target=target, rows=rows)


def _missing(name: str, wish: Wish, target: Target, rows: Mapping[str, Row], confs: Mapping[str, Conf]) -> Problem:
    where = "%s (%s)" % (wish.where, target.device.pci)
    if name in PREREQUISITES:
        other, value = PREREQUISITES[name]
        if other in rows:
            return Problem(where, name, "a parameter that is there", "it exists only with %s=%d: declare that too" % (other, value))
    base = base_name(name)
    if base != name and base in rows:
        limits = bounds(rows[base].next)
        allowed = "%s[%d..%d]" % (base, limits[0], limits[1]) if limits else "%s, which is no array" % base
        return Problem(where, name, allowed)
    near = difflib.get_close_matches(base, sorted({base_name(row) for row in rows}), n=3, cutoff=0.6)
    ports = [row for row in sorted(rows) if row.rpartition("_P")[0] == base]
    hint = "did you mean %s?" % " or ".join(ports or near) if ports or near else "see: mstconfig -d %s query" % target.device.pci
    if base in confs:
        hint = "the tool knows it, but this card with its present firmware and settings has it not; %s" % hint
    return Problem(where, name, "a parameter of this adapter", hint)


def check(target: Target, rows: Mapping[str, Row], confs: Mapping[str, Conf] | None = None) -> list[Problem]:
    """Everything declared that this adapter can't have. C(rows) are all of the adapter where one of the declared ones is missing."""
    found: list[Problem] = []
    later = awaited(target, rows)
    for name, wish in target.wishes.items():
        where = "%s (%s)" % (wish.where, target.device.pci)
        row = rows.get(name)
        needs = PREREQUISITES.get(name)
        conf = (confs or {}).get(base_name(name))
        if row is None:
            if name in later and conf and _refuses(conf, wish.value or ""):
                found.append(Problem(where, wish.value, conf.allowed()))
            elif name not in later and not _gone(name, wish, target, rows):
                found.append(_missing(name, wish, target, rows, confs or {}))
            continue
        text = wanted(wish, row)
        limits = bounds(row.next)
        if limits:
            found.append(Problem(where, wish.value or name, "elements of the array: %s[%d..%d]" % (name, limits[0], limits[1])))
        elif text is None:
            found.append(Problem(where, name, "a value", "the firmware of this card does not tell its defaults"))
        elif not readable(row.next):
            found.append(Problem(where, text, "a parameter that can be read", "the card does not tell the value of %s" % name))
        elif row.read_only and not same(text, row.next):
            found.append(Problem(where, text, row.next, "%s is read only" % name))
        elif wish.boolean and not is_boolean(row.next):
            found.append(Problem(where, text, _allowed(name, row, confs or {}), "%s is no boolean: write a name in quotes or a number" % name))
        elif needs and needs[0] in target.wishes and wish.value is not None and not _meets(*needs, target=target, rows=rows):
            found.append(Problem(where, text, "%s=%d" % needs, "%s exists only then" % name))
    return found


def _allowed(name: str, row: Row, confs: Mapping[str, Conf]) -> str:
    conf = confs.get(base_name(name))
    return conf.allowed() if conf else "a value like %s" % row.next


def _refuses(conf: Conf, text: str) -> bool:
    """Does the tool's database forbid a value? What it does not tell is left to the tool."""
    number = number_of(text)
    if not conf.values:
        return conf.kind in ("NUM", "BINARY") and number is None
    if number is None:
        return name_of(text).lower() not in {name_of(value).lower() for value in conf.values}
    numbers = {number_of(value) for value in conf.values}
    return None not in numbers and number not in numbers


def explain(target: Target, rows: Mapping[str, Row], confs: Mapping[str, Conf], said: str = "") -> list[Problem]:
    """The declared values that the tool's database forbids. C(said) is the tool's own error, which often names none."""
    found = []
    for name, spelt in differences(target, rows).items():
        conf = confs.get(base_name(name))
        if conf and _refuses(conf, spelt):
            wish = target.wishes.get(name)
            where = "%s (%s)" % (wish.where if wish else name, target.device.pci)
            found.append(Problem(where, spelt, conf.allowed(), said))
    return found


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
        return tuple(Change("%s %s" % (self.target.device.pci, name), before[name], value, "reboot") for name, value in self.after().items())

    def pending(self) -> tuple[Change, ...]:
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
                found.append(Change("%s %s" % (self.target.device.pci, name), current, value, "reboot"))
        return tuple(found)


def step_of(target: Target, rows: Mapping[str, Row], new: Mapping[str, str] | None = None) -> Step:
    """C(new) are the values that the tool showed in a dry run: what it takes for no change is none."""
    shown = new or {}
    assignments = {name: spelt for name, spelt in differences(target, rows).items() if name not in shown or not same(shown[name], rows[name].next)}
    return Step(target, rows, assignments, tuple(awaited(target, rows)), shown)


def plan_of(steps: t.Iterable[Step]) -> Plan:
    """The changes of a node, by adapter."""
    return Plan(tuple(change for step in steps for change in step.changes()))


__all__ = (
    "ABSENT",
    "PREREQUISITES",
    "UNKNOWN",
    "Step",
    "awaited",
    "check",
    "differences",
    "explain",
    "plan_of",
    "step_of",
    "whole_arrays",
)
