# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find declared parameters that an adapter can't have, with the reason. Pure."""

from __future__ import annotations

import difflib
import typing as t

from ..._errors import Problem
from ._values import base_name, bounds, is_boolean, name_of, number_of, readable, same

if t.TYPE_CHECKING:
    from ..._tools._mlxconfig import Conf, Row
    from ._wanted import Setting, Wanted

# Parameters that exist only while another parameter is 1 (at the next start). From the dependencies in the database of mstflint 4.21 and 4.31.
PREREQUISITES: t.Mapping[str, str] = {
    "MAX_ACC_OUT_READ": "ADVANCED_PCI_SETTINGS",
    "FORCE_ETH_PCI_SUBCLASS": "ADVANCED_PCI_SETTINGS",
    "IBM_CAPI_EN": "ADVANCED_PCI_SETTINGS",
    "DISABLE_SLOT_POWER_LIMITER": "ADVANCED_POWER_SETTINGS",
    "INTERNAL_CPU_OFFLOAD_ENGINE": "INTERNAL_CPU_MODEL",
    "INTERNAL_CPU_ESWITCH_MANAGER": "INTERNAL_CPU_MODEL",
    "INTERNAL_CPU_PAGE_SUPPLIER": "INTERNAL_CPU_MODEL",
    "INTERNAL_CPU_IB_VPORT0": "INTERNAL_CPU_MODEL",
    "PHY_RATE_MASK_P1": "PHY_RATE_MASK_OVERRIDE_P1",
    "PHY_RATE_MASK_P2": "PHY_RATE_MASK_OVERRIDE_P2",
    "SAFE_MODE_THRESHOLD": "SAFE_MODE_ENABLE",
    "IP_OVER_VXLAN_PORT": "IP_OVER_VXLAN_EN",
}

# The minimum similarity, of 1, at which a name counts as a misspelling of another parameter.
_CLOSE = 0.8


def value_wanted(setting: Setting | None, row: Row) -> str | None:
    """The wanted value; None where the firmware doesn't report its default."""
    return row.default if setting is None or setting.value is None else setting.value


def _is_set(name: str, *, wanted: Wanted, rows: t.Mapping[str, Row]) -> bool:
    """Whether a parameter is 1 after the run."""
    row, setting = rows.get(name), wanted.settings.get(name)
    if row is None:
        return False
    text = value_wanted(setting, row) if setting or wanted.reset_all else row.next
    if text is None or same(text, row.next):
        return number_of(row.next) == 1
    if is_boolean(row.next):
        return same(text, "True(1)")
    number = number_of(text)
    # The number of any other enumeration name is unknown here. It differs at least from the present value.
    return number == 1 if number is not None else number_of(row.next) != 1


def awaited(wanted: Wanted, rows: t.Mapping[str, Row]) -> list[str]:
    """Parameters that do not exist yet, and will exist once another declared parameter is set."""
    absent = [name for name, setting in wanted.settings.items() if name not in rows and setting.value is not None and name in PREREQUISITES]
    return [name for name in absent if _is_set(PREREQUISITES[name], wanted=wanted, rows=rows)]


def _gone(name: str, setting: Setting, *, wanted: Wanted, rows: t.Mapping[str, Row]) -> bool:
    """Whether a parameter to be reset is unavailable because its prerequisite is off."""
    needs = PREREQUISITES.get(name, "")
    return setting.value is None and needs in rows and not _is_set(needs, wanted=wanted, rows=rows)


def _likeness(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()


def _near(base: str, rows: t.Mapping[str, Row], confs: t.Mapping[str, Conf]) -> tuple[list[str], str]:
    """The card's parameters most similar to an unknown name, and the more similar one that only the tool's database has, if any."""
    there = sorted({base_name(row) for row in rows})
    ports = [row for row in there if row.rpartition("_P")[0] == base]
    if ports:
        return ports, ""
    near = difflib.get_close_matches(base, there, n=3, cutoff=0.6)
    known = difflib.get_close_matches(base, sorted(set(confs) - set(there)), n=1, cutoff=_CLOSE)
    if not known or any(_likeness(name, base) >= _likeness(known[0], base) for name in near):
        return near, ""
    return [name for name in near if _likeness(name, base) >= _CLOSE], known[0]


def left_to_new_firmware(wanted: Wanted, rows: t.Mapping[str, Row], confs: t.Mapping[str, Conf]) -> dict[str, str]:
    """Parameters, with values, that the running firmware lacks and a newer one may have: their names are no misspellings of existing ones."""
    later = awaited(wanted, rows)
    found = {}
    for name, setting in wanted.settings.items():
        base = base_name(name)
        if setting.value is None or name in rows or base in rows or name in later or PREREQUISITES.get(name, "") in rows:
            continue
        near, known = ([], "") if base in confs else _near(base, rows, confs)
        if not known and not any(_likeness(one, base) >= _CLOSE or one.rpartition("_P")[0] == base for one in near):
            found[name] = setting.value
    return found


def _missing(name: str, setting: Setting, *, wanted: Wanted, rows: t.Mapping[str, Row], confs: t.Mapping[str, Conf]) -> Problem:
    """The problem of a missing parameter. `name` is an element; the problem names the key as the user wrote it."""
    where = "%s (%s)" % (setting.within or setting.where, wanted.device.pci)
    written = setting.key or name
    if PREREQUISITES.get(name, "") in rows:
        return Problem(where, written, "a parameter that exists", "it exists only with %s=1: declare that too" % PREREQUISITES[name])
    base = base_name(name)
    if base != name and base in rows:
        limits = bounds(rows[base].next)
        allowed = "%s[%d..%d]" % (base, limits[0], limits[1]) if limits else "%s, which is not an array" % base
        return Problem(where, written, allowed)
    near, known = _near(base, rows, confs)
    hints = ["did you mean %s?" % " or ".join(near) if near else "see: mstconfig -d %s query" % wanted.device.pci]
    if base in confs or known:
        known = "it" if base in confs else known
        hints.insert(0, "the tool knows %s, but not for this card with its current firmware and settings" % known)
    return Problem(where, written, "a parameter of this adapter", "; ".join(hints))


def once(problems: t.Iterable[Problem]) -> list[Problem]:
    """Keep one problem per key and value: a key may stand for a hundred elements."""
    found: dict[tuple[str, str, str], Problem] = {}
    for problem in problems:
        found.setdefault((problem.variable, str(problem.value), problem.allowed), problem)
    return list(found.values())


def check(wanted: Wanted, rows: t.Mapping[str, Row], confs: t.Mapping[str, Conf] | None = None) -> list[Problem]:
    """All declared parameters that this adapter can't have. `rows` has all of its parameters if one of the declared ones is missing."""
    found: list[Problem] = []
    later = awaited(wanted, rows)
    for name, setting in wanted.settings.items():
        where = "%s (%s)" % (setting.where, wanted.device.pci)
        row = rows.get(name)
        needs = PREREQUISITES.get(name, "")
        conf = (confs or {}).get(base_name(name))
        if row is None:
            if name in later and conf and _refuses(conf, setting.value or ""):
                found.append(Problem(where, setting.value, conf.allowed()))
            elif name not in later and not _gone(name, setting, wanted=wanted, rows=rows):
                found.append(_missing(name, setting, wanted=wanted, rows=rows, confs=confs or {}))
            continue
        text = value_wanted(setting, row)
        limits = bounds(row.next)
        if limits:
            within = "%s (%s)" % (setting.within or setting.where, wanted.device.pci)
            found.append(Problem(within, setting.key or name, "elements of the array: %s[%d..%d]" % (name, limits[0], limits[1])))
        elif text is None:
            found.append(Problem(where, setting.key or name, "a value", "the firmware of this card does not report its defaults"))
        elif not readable(row.next):
            found.append(Problem(where, text, "a parameter that can be read", "the card does not report the value of %s" % name))
        elif row.read_only and not same(text, row.next):
            found.append(Problem(where, text, row.next, "%s is read only" % name))
        elif setting.boolean and not is_boolean(row.next):
            found.append(Problem(where, text, allowed_value(name, row, confs or {}), "%s is not a boolean: write a name in quotes or a number" % name))
        elif needs in wanted.settings and setting.value is not None and not _is_set(needs, wanted=wanted, rows=rows):
            found.append(Problem(where, text, "%s=1" % needs, "%s exists only with that value" % name))
    return once(found)


def allowed_value(name: str, row: Row, confs: t.Mapping[str, Conf]) -> str:
    conf = confs.get(base_name(name))
    return conf.allowed() if conf else "a value like %s" % row.next


def _refuses(conf: Conf, text: str) -> bool:
    """Whether the tool's database forbids a value. Where the database has no information, the tool itself decides."""
    number = number_of(text)
    if not conf.values:
        return conf.kind in ("NUM", "BINARY") and number is None
    if number is None:
        return name_of(text).lower() not in {name_of(value).lower() for value in conf.values}
    numbers = {number_of(value) for value in conf.values}
    return None not in numbers and number not in numbers
