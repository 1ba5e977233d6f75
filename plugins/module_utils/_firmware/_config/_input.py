# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the declared configuration of adapters, and derive the wanted configuration of each adapter. Pure."""

from __future__ import annotations

import re
import typing as t

from ..._errors import Problem, label
from .._devices import SELECTORS, describe_device, select, selection_problems
from ._values import RESERVED, agree, base_name, elements_of, number_of, text_of
from ._wanted import Setting, Wanted

if t.TYPE_CHECKING:
    from .._devices import Device

_OPTIONS = ("state", "parameters", "names")
_KEY = "the name of a parameter, an element NAME[2] or a range NAME[0..3]"
# One word on a command line, and one side of an assignment.
_WORD = re.compile(r"^[!-<>-~]+\Z")


def _entry_problems(variable: str, entry: t.Any) -> list[Problem]:
    if not isinstance(entry, dict):
        return [Problem(variable, entry, "a mapping with a selector (%s or all) and parameters" % ", ".join(SELECTORS))]
    given = {key: value for key, value in entry.items() if value is not None}
    found = selection_problems(variable, given, _OPTIONS)
    state = given.get("state", "present")
    parameters = given.get("parameters") or {}
    names = given.get("names") or []
    if state not in ("present", "default"):
        found.append(Problem(variable + ".state", state, "present, default"))
    if not isinstance(parameters, dict):
        return [*found, Problem(variable + ".parameters", parameters, "a mapping of parameters to values")]
    if not isinstance(names, list):
        return [*found, Problem(variable + ".names", names, "a list of parameters")]
    if state == "present" and (names or not parameters):
        found.append(Problem(variable, sorted(map(label, given)), "parameters (with state: present), names (with state: default)"))
    if state == "default" and parameters and names:
        found.append(Problem(variable, sorted(map(label, given)), "names, or parameters that keep a value while all others are reset to their defaults"))
    for name, value in parameters.items():
        found.extend(_value_problems(variable + ".parameters", name, value))
    found.extend(Problem("%s.names[%d]" % (variable, at), name, _KEY) for at, name in enumerate(names) if not isinstance(name, str) or not elements_of(name))
    return found


def _value_problems(within: str, name: t.Any, value: t.Any) -> list[Problem]:
    variable = "%s.%s" % (within, label(name))
    elements = elements_of(name) if isinstance(name, str) else []
    if not elements:
        return [Problem(within, name, _KEY)]
    if isinstance(value, list):
        if base_name(name) == name:
            return [Problem(variable, value, "one value", "a list needs the indices: %s[0..%d]" % (name, len(value) - 1))]
        if len(value) != len(elements):
            return [Problem(variable, value, "%d values, one for each element, or one value for all" % len(elements))]
        return [problem for index, item in enumerate(value) for problem in _scalar_problems("%s[%d]" % (variable, index), item)]
    return _scalar_problems(variable, value)


def _scalar_problems(variable: str, value: t.Any) -> list[Problem]:
    if not isinstance(value, (bool, int, str)):
        return [Problem(variable, value, "a name, a number or a boolean")]
    if isinstance(value, int) and not 0 <= value < 2**64:
        return [Problem(variable, value, "a number from 0 to 0xffffffffffffffff")]
    text = text_of(value)
    if not _WORD.match(text):
        return [Problem(variable, value, "a name, a number (from 0) or a boolean")]
    if number_of(text) == RESERVED:
        return [Problem(variable, value, "any other number", "the tools keep 0xffffffff for values that are not set")]
    return []


def entry_problems(variable: str, entries: t.Any) -> list[Problem]:
    """All problems of a list of adapters and their parameters, without a look at a node."""
    if not isinstance(entries, list):
        return [Problem(variable, entries, "a list of mappings, each with a selector and parameters")]
    found = [problem for index, entry in enumerate(entries) for problem in _entry_problems("%s[%d]" % (variable, index), entry)]
    if found:
        return found
    for index, entry in enumerate(entries):
        seen: set[str] = set()
        for element, setting in _settings("%s[%d]" % (variable, index), entry):
            if element in seen:
                found.append(Problem(setting.where, setting.value, "one value for %s" % element, "it is in this entry twice"))
            seen.add(element)
    return found


def _settings(variable: str, entry: t.Mapping[str, t.Any]) -> t.Iterator[tuple[str, Setting]]:
    for name, value in (entry.get("parameters") or {}).items():
        elements = elements_of(name)
        values = value if isinstance(value, list) else [value] * len(elements)
        for element, item in zip(elements, values):
            yield element, Setting(text_of(item), "%s.parameters.%s" % (variable, name), isinstance(item, bool), name, variable + ".parameters")
    for index, name in enumerate(entry.get("names") or []):
        for element in elements_of(name):
            where = "%s.names[%d]" % (variable, index)
            yield element, Setting(None, where, False, name, where)


def wanted_of(variable: str, entries: t.Sequence[t.Mapping[str, t.Any]], devices: t.Sequence[Device], *, missing: str) -> tuple[list[Wanted], list[Problem]]:
    """The wanted configuration of each selected adapter, and the problems of selectors that match nothing or contradict each other.

    `missing`: `fail` or `ignore`, for an entry that matches no adapter of this node.
    """
    found: list[Problem] = []
    chosen: dict[str, tuple[dict[str, Setting], list[bool]]] = {device.pci: ({}, []) for device in devices}
    for index, entry in enumerate(entries):
        where = "%s[%d]" % (variable, index)
        selected, wrong = select(where, entry, devices, required=missing == "fail", must_agree=True)
        found += wrong
        for device in selected:
            settings, resets = chosen[device.pci]
            resets.append(entry.get("state") == "default" and not entry.get("names"))
            for element, setting in _settings(where, entry):
                first = settings.setdefault(element, setting)
                if not agree(first.value, setting.value):
                    hint = "%s sets it to %s, and both select %s" % (first.where, first.value or "its default", describe_device(device))
                    found.append(Problem(setting.where, setting.value or "the default", "one value for %s" % element, hint))
    by_pci = {device.pci: device for device in devices}
    return [Wanted(by_pci[pci], settings, any(resets)) for pci, (settings, resets) in sorted(chosen.items()) if resets], found
