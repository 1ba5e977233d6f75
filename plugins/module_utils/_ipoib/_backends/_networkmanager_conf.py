# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""NetworkManager's own configuration: the interfaces that it is told to leave alone. Pure.

In order of precedence: `unmanaged-devices` of `[keyfile]`, `managed` of a `[device-*]` section, udev's NM_UNMANAGED. A profile has no effect on
such an interface: NetworkManager reads it and does nothing.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
import typing as t

from .._found import Place
from .._identity import Identity
from ._assignments import Assignment, assigned, effective

MAIN = "/etc/NetworkManager/NetworkManager.conf"
FOLDER = "/etc/NetworkManager/conf.d"
RUN = "/run/NetworkManager/conf.d"
SYSTEM = "/usr/lib/NetworkManager/conf.d"
# Settings made over D-Bus; read last.
INTERN = "/var/lib/NetworkManager/NetworkManager-intern.conf"
PATTERNS = (MAIN, *("%s/*.conf" % folder for folder in (SYSTEM, RUN, FOLDER)), INTERN)
RULES = ("/etc/udev/rules.d", "/run/udev/rules.d", "/usr/lib/udev/rules.d")

_FALSE = ("0", "no", "false", "off")
_TRUE = ("1", "yes", "true", "on")
_SEPARATOR = re.compile(r"[,;\s]+")
_UDEV = re.compile(r'ENV\{NM_UNMANAGED\}\s*=\s*"(1|true|yes)"', re.IGNORECASE)


class _Line(t.NamedTuple):
    path: str
    assignment: Assignment

    @property
    def place(self) -> Place:
        return Place(self.path, self.assignment.line, self.assignment.words)


def _ordered(files: t.Mapping[str, str]) -> list[str]:
    """The effective files in reading order. A file, even an empty one, hides files of the same name in folders of lower precedence."""
    read = effective(files, (FOLDER, RUN, SYSTEM), ".conf")
    grouped = [path for folder in (SYSTEM, RUN) for path in read if posixpath.dirname(path) == folder]
    return [*grouped, *(path for path in (MAIN,) if path in files), *(path for path in read if posixpath.dirname(path) == FOLDER), INTERN]


def _lines(files: t.Mapping[str, str]) -> list[_Line]:
    return [_Line(path, each) for path in _ordered(files) for each in assigned(files.get(path, ""))]


def unmanaged(interface: Identity, files: t.Mapping[str, str], told: t.Sequence[Place] = ()) -> tuple[Place, ...]:
    """What tells NetworkManager to leave the interface alone. `told`: the places where udev does."""
    lines = _lines(files)
    specs: list[tuple[str, _Line]] = []
    for line in lines:
        key, value = line.assignment.key, _SEPARATOR.split(line.assignment.value.strip())
        if line.assignment.section != "keyfile" or key.rstrip("+-") != "unmanaged-devices":
            continue
        if key.endswith("-"):
            specs = [(spec, origin) for spec, origin in specs if spec not in value]
        else:
            specs = [*(specs if key.endswith("+") else []), *((spec, line) for spec in value if spec)]
    deciding = _deciding(interface, specs)
    if deciding is not None:
        return (deciding.place,)
    managed = _managed(interface, lines)
    if managed is not None:
        return () if managed.assignment.value.lower() in _TRUE else (managed.place,)
    return tuple(told)


def _deciding(interface: Identity, specs: t.Sequence[tuple[str, _Line]]) -> _Line | None:
    """The line of the first specification that covers the interface; None where none does, or where an exception excludes it."""
    positive = [(spec, line) for spec, line in specs if not spec.startswith("except:")]
    negative = [spec[len("except:") :] for spec, _line in specs if spec.startswith("except:")]
    if any(_covers(interface, spec, unknown=True) for spec in negative):
        return None
    if not positive:
        # A list of exceptions alone matches everything else.
        return specs[0][1] if specs else None
    return next((line for spec, line in positive if _covers(interface, spec, unknown=False)), None)


def _covers(interface: Identity, spec: str, *, unknown: bool) -> bool:
    """Whether one specification matches the interface. `unknown`: the answer for a type that is not known yet."""
    kind, sign, value = spec.partition(":")
    if spec == "*":
        return True
    if sign and kind == "interface-name":
        if value.startswith("="):
            return value[1:] == interface.name
        # Brackets have no special meaning in its patterns.
        return fnmatch.fnmatchcase(interface.name, value.lstrip("~").replace("[", "[[]"))
    if sign and kind == "type":
        return value == interface.kind if interface.kind else unknown
    if sign and kind == "driver":
        return value.partition("/")[0] in interface.drivers
    if sign and kind == "mac":
        return not interface.pkey and interface.is_at(value)
    return spec == interface.name or (not interface.pkey and interface.is_at(spec))


def _managed(interface: Identity, lines: t.Sequence[_Line]) -> _Line | None:
    """The deciding `managed=` line for the interface: sections `[device-*]` from the last file to the first, plain `[device]` at the end."""
    sections: dict[tuple[str, str], list[_Line]] = {}
    for line in lines:
        if line.assignment.section.startswith("device"):
            sections.setdefault((line.path, line.assignment.section), []).append(line)
    order = list(dict.fromkeys(line.path for line in lines))
    ranked = sorted(sections, key=lambda each: (each[1] == "device", -order.index(each[0])))
    for section in ranked:
        values = {line.assignment.key: line for line in sections[section]}
        match = values.get("match-device")
        if match is not None and _deciding(interface, [(spec, match) for spec in _SEPARATOR.split(match.assignment.value) if spec]) is None:
            continue
        managed = values.get("managed")
        if managed is not None and managed.assignment.value.lower() in (*_TRUE, *_FALSE):
            return managed
        stop = values.get("stop-match")
        if stop is not None and stop.assignment.value.lower() in _TRUE:
            return None
    return None


def rules(files: t.Mapping[str, str]) -> tuple[Place, ...]:
    """The lines of udev rules that tell NetworkManager to leave any interfaces alone."""
    read = effective(files, RULES, ".rules")
    found = [(path, number, line.strip()) for path in read for number, line in enumerate(files[path].splitlines(), 1)]
    return tuple(Place(*each) for each in found if not each[2].startswith("#") and _UDEV.search(each[2]))
