# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Is what the inventory says about subnet managers meant well? Pure: the module asks, and the controller before a run."""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import ALLOWED, is_boolean
from ansible_collections.rdma.ofed.plugins.module_utils._errors import InvalidInput, Problem
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import DEFAULT_FABRIC, read_int

# It becomes part of a unit's name and of file names; systemd leaves these characters as they are.
_FABRIC = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,30}\Z")
_PORT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.-]*/[1-9][0-9]*\Z")
_GUID = re.compile(r"^(0x)?[0-9a-fA-F]{1,16}\Z")
_PATH = re.compile(r"^/[A-Za-z0-9_./:@-]+\Z")

MAX_PRIORITY = 15


def normal_guid(text: str) -> str:
    """C(7cfe90030016aef1) or C(0x7CFE90030016AEF1) -> C(0x7cfe90030016aef1)."""
    return "0x%016x" % int(text, 16)


def _check(variables: t.Mapping[str, t.Any], name: str, good: t.Callable[[t.Any], bool], allowed: str, hint: str = "") -> list[Problem]:
    """A variable that is left out has its default. One that is there and empty has none: the role would pass it on."""
    if name not in variables or good(variables[name]):
        return []
    return [Problem(name, variables[name], allowed, hint)]


def _or_empty(good: t.Callable[[t.Any], bool], *empty: t.Any) -> t.Callable[[t.Any], bool]:
    """For variables to which one of C(empty) means the same as leaving them out."""
    return lambda value: value in empty or good(value)


def _matches(pattern: re.Pattern[str]) -> t.Callable[[t.Any], bool]:
    return lambda value: isinstance(value, str) and pattern.match(value) is not None


def _is_priority(value: t.Any) -> bool:
    number = read_int(value)
    return number is not None and number <= MAX_PRIORITY


def _is_seconds(value: t.Any) -> bool:
    number = read_int(value)
    return number is not None and number > 0


def _is_guid(value: t.Any) -> bool:
    return isinstance(value, str) and _GUID.match(value) is not None and int(value, 16) != 0


def _value_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    quoted = "quote it: without quotes YAML reads a number" if isinstance(variables.get("opensm_port_guid"), int) else ""
    return [
        *_check(variables, "fabric", _matches(_FABRIC), "a name of up to 31 letters, digits, dots, dashes and underscores"),
        *_check(variables, "opensm_state", lambda value: value in ("present", "absent"), "present, absent"),
        *_check(variables, "opensm_rank", _or_empty(lambda value: read_int(value) is not None, None), "a whole number of 0 or more"),
        *_check(variables, "opensm_port", _or_empty(_matches(_PORT), None, ""), "a port in the form mlx5_0/1"),
        *_check(variables, "opensm_port_guid", _or_empty(_is_guid, None, ""), 'a port GUID in the form "0x7cfe90030016aef1"', quoted),
        *_check(variables, "opensm_priority", _is_priority, "a whole number from 0 to %d" % MAX_PRIORITY),
        *_check(variables, "opensm_wait_timeout", _is_seconds, "a whole number of seconds, more than 0"),
        *_check(variables, "opensm_allow_foreign_master", is_boolean, ALLOWED),
        *_check(variables, "opensm_log_file", _or_empty(_matches(_PATH), None, ""), "an absolute path without blanks"),
    ]


def _named(ports: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    if not ports:
        return "none: this host has no InfiniBand port (no HCA, or no driver for it)"
    return ", ".join("%s (port GUID %s)" % (port["name"], port["port_guid"]) for port in ports)


def _port_problems(variables: t.Mapping[str, t.Any], ports: t.Sequence[t.Mapping[str, t.Any]]) -> list[Problem]:
    infiniband = [port for port in ports if port["link_layer"] == "InfiniBand"]
    name, guid = variables.get("opensm_port"), variables.get("opensm_port_guid")
    problems = []
    if guid and normal_guid(guid) not in {port["port_guid"] for port in infiniband}:
        hint = "opensm binds to the port GUID, which is not the node GUID"
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), hint))
    if name and name not in {port["name"] for port in infiniband}:
        ethernet = any(port["name"] == name for port in ports)
        problems.append(Problem("opensm_port", name, _named(infiniband), "its link layer is Ethernet" if ethernet else ""))
    if not name and not guid and not infiniband:
        problems.append(Problem("opensm_port", None, _named(infiniband), "a subnet manager needs an InfiniBand port"))
    if name and guid and not problems and not any(port["name"] == name and port["port_guid"] == normal_guid(guid) for port in infiniband):
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), "opensm_port names another port: give one of the two"))
    return problems


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None, designated: bool = False) -> list[Problem]:
    """What is wrong with the variables of one host, by their role names.

    C(facts) is the C(rdma) fact. Ports are looked up only for a designated host: a resting one needs none.
    """
    found = _value_problems(variables)
    if found or not designated or facts is None:
        return found
    return _port_problems(variables, facts.get("ports", ()))


def choose_port(variables: t.Mapping[str, t.Any], ports: t.Sequence[t.Mapping[str, t.Any]]) -> int:
    """The index in C(ports) of the declared port, or of the first InfiniBand port; raises InvalidInput."""
    wrong = _port_problems(variables, ports)
    if wrong:
        raise InvalidInput(wrong, "fabric %s" % (variables.get("fabric") or DEFAULT_FABRIC))
    name, guid = variables.get("opensm_port"), variables.get("opensm_port_guid")
    for index, port in enumerate(ports):
        if port["link_layer"] == "InfiniBand" and (not name or port["name"] == name) and (not guid or port["port_guid"] == normal_guid(guid)):
            return index
    raise AssertionError("a port without problems was not found")


__all__ = ("choose_port", "normal_guid", "problems")
