# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may be declared about firmware, its images and its configuration, and the wanted configuration of each adapter. Pure."""

from __future__ import annotations

import re
import typing as t

from .._errors import Problem, label
from .._schema._hca_firmware import VARIABLES
from .._schema._values import value_problems
from ._devices import SELECTORS, describe_device, select, selection_problems
from ._values import RESERVED, agree, base_name, elements_of, number_of, text_of

if t.TYPE_CHECKING:
    from ._devices import Device

_VERSION = re.compile(r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}\Z")
_PSID = re.compile(r"^[A-Za-z0-9_.-]{1,16}\Z")
_LOCATION = ("path", "url", "checksum")
_URL = re.compile(r"^https?://[!-.0-~]+/[!-~]+\Z")
# No file has a NUL in its name, nor half of a character.
_PATH = re.compile(r"^/[^\0\ud800-\udfff]*\Z")
_CHECKSUM = re.compile(r"^(sha256:[0-9a-fA-F]{64}|sha512:[0-9a-fA-F]{128})\Z")
_CHECKSUMS = "sha256: or sha512: and hexadecimal digits"

_OPTIONS = ("state", "parameters", "names")
_KEY = "the name of a parameter, an element NAME[2] or a range NAME[0..3]"
# One word of a command line, and one side of an assignment.
_WORD = re.compile(r"^[!-<>-~]+\Z")


class Setting(t.NamedTuple):
    """One declared value."""

    value: str | None
    """As text; None for the default."""
    where: str
    """The place in the input."""
    boolean: bool = False
    """Whether it was a YAML boolean."""
    key: str = ""
    """The parameter as it was written, which may stand for several: `NAME[0..3]`."""
    within: str = ""
    """The place that the key itself is the value of."""


class Wanted(t.NamedTuple):
    """The wanted configuration of one adapter."""

    device: Device
    settings: t.Mapping[str, Setting] = {}
    """By parameter; ranges are spelt out."""
    reset_all: bool = False
    """Whether all other parameters go to their defaults."""


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
        found.append(Problem(variable, sorted(map(label, given)), "names, or parameters that keep a value while all others go to their default"))
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
    """Everything that is wrong with a list of adapters and their parameters, without looking at a node."""
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


def _is(form: re.Pattern[str], value: t.Any) -> bool:
    return isinstance(value, str) and form.match(value) is not None


def _location_problems(name: str, value: t.Any) -> list[Problem]:
    """A path, or a mapping of path or url, and checksum."""
    if not isinstance(value, t.Mapping):
        return [] if _is(_PATH, value) else [Problem(name, value, "the absolute path of an image on the node, or a mapping of path or url, and checksum")]
    path, url, checksum = (value.get(key) for key in _LOCATION)
    problems = [Problem("%s.%s" % (name, label(key)), value[key], ", ".join(_LOCATION), "no such option") for key in value if key not in _LOCATION]
    if (path is None) == (url is None):
        problems.append(Problem(name, dict(value), "either path or url"))
    if path is not None and not _is(_PATH, path):
        problems.append(Problem(name + ".path", path, "an absolute path on the node"))
    if url is not None and not _is(_URL, url):
        problems.append(Problem(name + ".url", url, "an address that begins with https:// or http://"))
    if checksum is None and url is not None:
        problems.append(Problem(name + ".checksum", None, _CHECKSUMS, "images from a network are burned only if their checksum is right"))
    if checksum is not None and not _is(_CHECKSUM, checksum):
        problems.append(Problem(name + ".checksum", checksum, _CHECKSUMS))
    return problems


def _version_problems(name: str, value: t.Any) -> list[Problem]:
    hint = "" if isinstance(value, str) else "put it in quotes"
    return [] if _is(_VERSION, value) else [Problem(name, value, "a version such as '16.35.3006'", hint)]


def _by_psid(name: str, value: t.Mapping[t.Any, t.Any], judge: t.Callable[[str, t.Any], list[Problem]]) -> list[Problem]:
    """What is wrong with a mapping of PSIDs to what `judge` knows."""
    problems = [Problem(name, psid, "a PSID such as MT_0000000008") for psid in value if not _is(_PSID, psid)]
    return problems + [problem for psid, item in value.items() for problem in judge("%s[%s]" % (name, label(psid)), item)]


def _device_problems(name: str, entries: t.Any) -> list[Problem]:
    if not isinstance(entries, (list, tuple)):
        return [Problem(name, entries, "a list of mappings, each with a selector: all, %s" % ", ".join(SELECTORS))]
    problems: list[Problem] = []
    for index, entry in enumerate(entries):
        where = "%s[%d]" % (name, index)
        if isinstance(entry, t.Mapping):
            problems += selection_problems(where, {key: value for key, value in entry.items() if value is not None})
        else:
            problems.append(Problem(where, entry, "a mapping with a selector: all, %s" % ", ".join(SELECTORS)))
    return problems


def image_problems(variables: t.Mapping[str, t.Any], prefix: str = "") -> list[Problem]:
    """`variables` holds the options of the module mstflint, their names behind a prefix where a role passes its own."""
    images, versions, devices = (variables.get(prefix + name) for name in ("images", "versions", "devices"))
    problems: list[Problem] = []
    if isinstance(images, t.Mapping):
        problems += _by_psid(prefix + "images", images, _location_problems)
    elif images is not None and not _is(_PATH, images):
        problems.append(Problem(prefix + "images", images, "the absolute path of an image or of a directory, or a mapping of PSIDs to images"))
    if isinstance(versions, t.Mapping):
        problems += _by_psid(prefix + "versions", versions, _version_problems)
    elif versions is not None:
        problems.append(Problem(prefix + "versions", versions, "a mapping of PSIDs to versions"))
    if devices is not None:
        problems += _device_problems(prefix + "devices", devices)
    if variables.get(prefix + "state") == "present" and not images and not versions:
        problems.append(Problem(prefix + "images", images, "where the images are, at least for one PSID, or versions, for state=present"))
    return problems


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Everything that is wrong with the variables of the role hca_firmware."""
    found = value_problems(VARIABLES, variables)
    if "hca_firmware_config" in variables:
        found += entry_problems("hca_firmware_config", variables["hca_firmware_config"])
    return found + image_problems(variables, "hca_firmware_")


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
    """The wanted configuration of each selected adapter, and where selectors fit none or contradict each other.

    `missing` is `fail` or `ignore`, for an entry that no adapter of this node fits.
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
