# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fabrics that a host is on, the ports that connect it to them, and the settings declared for each fabric. Pure.

`fabric: storage` is the simple case: one fabric. `rdma_fabrics: {ib: ["0000:03:00.0/1"], storage: ["0000:04:00.0/1"]}` is a host with
ports on several fabrics. `opensm_fabrics: {storage: {subnet_prefix: ...}}` holds the settings that differ for one fabric's subnet manager.
"""

from __future__ import annotations

import re
import typing as t

from .._codes import read_int
from .._errors import Problem
from .._facts import _rails as rails
from .._facts._portname import PortName, parse

DEFAULT_FABRIC = "ib"
# Lower than the 14 of a vendor's opensm that is master and has no other value configured.
DEFAULT_PRIORITY = 13
DEFAULT_PREFIX = "0xfe80000000000000"
MAX_PRIORITY = 15

NAME = "a name of up to 31 letters, digits, dots, dashes and underscores"
OWN_PORT = "a port that is on no other fabric"
PATH = "an absolute path without blanks"
PRIORITY = "a whole number from 0 to %d" % MAX_PRIORITY
_FORM = 'a mapping of fabrics to lists of ports, such as {ib: ["0000:03:00.0/1"], storage: ["0000:04:00.0/1"]}'


class Settings(t.NamedTuple):
    """What the subnet managers of one fabric have in common."""

    priority: int = DEFAULT_PRIORITY
    """The priority of the designated host; each standby has one less than the standby before it."""
    subnet_prefix: str = DEFAULT_PREFIX
    log_file: str = ""
    """Path of the log; "" for the default."""


def _text(form: str) -> t.Callable[[t.Any], bool]:
    """A check that a value is a string of this form."""
    return lambda value: isinstance(value, str) and re.fullmatch(form, value) is not None


# Becomes part of a unit name and of file names; systemd does not escape these characters.
is_name = _text("[A-Za-z0-9][A-Za-z0-9_.-]{0,30}")
is_path = _text("/[A-Za-z0-9_./:@-]+")
is_prefix = _text("0x(?!0{16})[0-9a-fA-F]{16}")


def is_priority(value: t.Any) -> bool:
    return read_int(value, MAX_PRIORITY) is not None


_SETTINGS: t.Mapping[str, tuple[t.Callable[[t.Any], bool], str]] = {
    "log_file": (is_path, PATH),
    # Checked together with the partitions of the other fabrics.
    "partitions": (lambda value: True, ""),
    "priority": (is_priority, PRIORITY),
    "subnet_prefix": (is_prefix, 'the upper half of a GID in the form "0xfe80000000000001", in quotes'),
}


def fabrics_of(variables: t.Mapping[str, t.Any]) -> dict[str, tuple[str, ...]]:
    """The fabrics of a host with its ports on each, in declared order; no ports where only `fabric` names the fabric.

    Expects validated variables; invalid entries are left out.
    """
    declared = variables.get("rdma_fabrics")
    if declared:
        if not isinstance(declared, t.Mapping):
            return {}
        # Plain strings: tagged strings of ansible-core must not leak into a result that is compared and printed.
        return {str(name): tuple(str(port) for port in ports) for name, ports in declared.items() if is_name(name) and isinstance(ports, (list, tuple))}
    name = variables.get("fabric", DEFAULT_FABRIC)
    return {str(name): ()} if isinstance(name, str) and name else {}


def declared_of(variables: t.Mapping[str, t.Any], fabric: str) -> t.Mapping[str, t.Any]:
    """The entry of `opensm_fabrics` for one fabric. It may be invalid: a play can run without the validation of the site."""
    declared = variables.get("opensm_fabrics")
    settings = declared.get(fabric) if isinstance(declared, t.Mapping) else None
    return settings if isinstance(settings, t.Mapping) else {}


def settings_of(variables: t.Mapping[str, t.Any], fabric: str) -> Settings:
    """The settings declared for the subnet manager of `fabric`, from validated variables."""
    own = declared_of(variables, fabric)
    priority = read_int(own.get("priority", variables.get("opensm_priority")), MAX_PRIORITY)
    prefix = own.get("subnet_prefix") or DEFAULT_PREFIX
    log_file = str(own.get("log_file") or variables.get("opensm_log_file") or "")
    return Settings(DEFAULT_PRIORITY if priority is None else priority, str(prefix).lower(), log_file)


def fabric_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the fabric names and their ports."""
    name = variables.get("fabric", DEFAULT_FABRIC)
    found = [] if is_name(name) else [Problem("fabric", name, NAME)]
    declared = variables.get("rdma_fabrics")
    if declared in (None, {}):
        return found
    if not isinstance(declared, t.Mapping):
        return [*found, Problem("rdma_fabrics", declared, _FORM)]
    seen: dict[PortName, str] = {}
    for fabric, ports in declared.items():
        where = "rdma_fabrics.%s" % (fabric,)
        if not is_name(fabric):
            found.append(Problem("rdma_fabrics", fabric, NAME))
        if not isinstance(ports, (list, tuple)) or not ports:
            found.append(Problem(where, ports, 'a list of at least one port, such as ["0000:03:00.0/1"]'))
            continue
        for index, port in enumerate(ports):
            place = parse(port)
            wrong = rails.port_problems("%s[%d]" % (where, index), port, variables.get(rails.VARIABLE))
            if place is None or wrong:
                found += wrong
            elif place in seen:
                found.append(Problem("%s[%d]" % (where, index), port, OWN_PORT, "rdma_fabrics.%s has it, too" % seen[place]))
            else:
                seen[place] = str(fabric)
    if "fabric" in variables and not found and name not in declared:
        found.append(Problem("fabric", name, ", ".join(map(str, declared)), "rdma_fabrics names the fabrics of this host"))
    for other in ("opensm_port", "opensm_port_guid"):
        if variables.get(other):
            found.append(Problem(other, variables[other], "not set", "the subnet manager of a fabric takes the first of its ports in rdma_fabrics"))
    return found


def settings_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of `opensm_fabrics`, and of two fabrics that can't be told apart."""
    declared = variables.get("opensm_fabrics")
    if declared is not None and not isinstance(declared, t.Mapping):
        return [Problem("opensm_fabrics", declared, 'a mapping, such as {storage: {subnet_prefix: "0xfe80000000000001"}}')]
    found = []
    for fabric, settings in (declared or {}).items():
        where = "opensm_fabrics.%s" % (fabric,)
        if not is_name(fabric):
            found.append(Problem("opensm_fabrics", fabric, NAME))
        if not isinstance(settings, t.Mapping):
            found.append(Problem(where, settings, "a mapping with any of %s" % ", ".join(_SETTINGS)))
            continue
        for key, value in settings.items():
            good, allowed = _SETTINGS.get(key, (lambda _value: False, "one of %s" % ", ".join(_SETTINGS)))
            if not good(value):
                found.append(Problem("%s.%s" % (where, key), value, allowed))
    return found or _prefix_problems(variables)


def _prefix_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of a host on two fabrics with the same subnet prefix, which tells its GIDs on the two apart."""
    found = []
    seen: dict[str, str] = {}
    for fabric in fabrics_of(variables):
        prefix = settings_of(variables, fabric).subnet_prefix
        if prefix in seen:
            example = 'such as "0xfe80000000000001", with the same one on all hosts of the fabric'
            hint = "fabric %s has it, too, and this host is on both" % seen[prefix]
            found.append(Problem("opensm_fabrics.%s.subnet_prefix" % fabric, prefix, "one that no other fabric has, %s" % example, hint))
        seen.setdefault(prefix, fabric)
    return found
