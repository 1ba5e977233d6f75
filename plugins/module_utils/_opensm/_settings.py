# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Describe the settings of a subnet manager by declarations, for a discovery. Pure."""

from __future__ import annotations

import typing as t

from .._codes import is_guid, is_secret, normal_guid
from .._discovered import Left, Reading, Reference, Value
from .._foreign import decimal, is_boolean, is_true
from ._fabrics import is_path
from ._input import RESERVED, problems
from ._options import FIRST_CLASS, HIDDEN, UNSET, looks_secret, parse_template, variable_of, words
from ._options import problems as template_problems
from ._predecessor import NEVER, OWN
from ._running import Manager

_FILES = ("root_guid_file", "qos_policy_file")
_STAYS = "opensm_adopt: true keeps it as it is"
_NO_VALUES = ("", UNSET)


class _Read:
    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.values: list[Value] = []
        self.left: list[Left] = []
        self.dangers: list[str] = []
        self.options: dict[str, t.Any] = {}
        self.secrets: dict[str, t.Any] = {}
        self._known = parse_template(manager.template)

    def obstacle(self, key: str, value: t.Any) -> str:
        """Why the installed opensm does not take a value, in words; "" where it does, or where that is not known."""
        wrong = template_problems({key: value}, self._known) if self._known else []
        return "the installed opensm does not take it (allowed: %s)" % wrong[0].allowed if wrong else ""

    def declare(self, variable: str, value: t.Any) -> None:
        wrong = problems({variable: value})
        if wrong:
            self.leave(variable, "not what the variable allows (%s)" % wrong[0].allowed)
        else:
            self.values.append(Value(variable, value, self.manager.source))

    def leave(self, key: str, why: str) -> None:
        self.left.append(Left("%s of %s" % (key, self.manager.source), why))


def _typed(text: str) -> t.Any:
    number = decimal(text)
    if number is not None and str(number) == text:
        return number
    return is_true(text) if text.lower() in ("true", "false") else text


def _secret(read: _Read, key: str) -> None:
    name = "vault_opensm_" + key
    why = "its value is secret and was not read: add %s to a file that ansible-vault encrypts, such as group_vars/opensm.yml next to your own inventory"
    if key == "sm_key":
        read.values.append(Value("opensm_sm_key", Reference(name), read.manager.source))
        read.leave(key, why % name)
    elif is_secret(key) and not problems({"opensm_secret_options": {key: HIDDEN.strip("()")}}):
        read.secrets[key] = Reference(name)
        read.leave(key, why % name)
    else:
        read.leave(key, "its value may be secret and was not read; %s" % _STAYS)


def _first_class(read: _Read, key: str, text: str) -> bool:
    """Declare a key that has a variable of its own. Returns whether it has one."""
    why = read.obstacle(key, text) if key in FIRST_CLASS else ""
    if why:
        read.leave(key, "%s; discard it with opensm_give_up: [%s]" % (why, key))
    elif key == "routing_engine":
        read.declare(variable_of(key), words(text))
    elif key == "qos" and is_boolean(text):
        read.declare(variable_of(key), is_true(text))
    elif key == "log_max_size":
        read.declare(variable_of(key), decimal(text))
    elif key == "log_flags":
        number = decimal(text)
        read.declare(variable_of(key), text if number is None else "0x%02x" % number)
    elif key == "log_file" and is_path(text):
        read.declare("opensm_log_file", text)
    else:
        return False
    return True


def _key(read: _Read, key: str, own: t.Sequence[str]) -> None:
    """Declare one key of opensm.conf."""
    if looks_secret(key):
        _secret(read, key)
    elif key in NEVER:
        if key == "ignore_other_sm":
            read.dangers.append("%s sets ignore_other_sm: with it, a fabric gets two masters" % read.manager.source)
        read.leave("%s %s" % (key, " ".join(own)), "no subnet manager of the collection may have it; discard it with opensm_give_up: [%s]" % key)
    elif own[-1] in _NO_VALUES or _first_class(read, key, own[-1]) or key in (*OWN, *_FILES, *RESERVED):
        return
    else:
        value = _typed(own[0]) if len(own) == 1 else [_typed(text) for text in own]
        wrong = problems({"opensm_options": {key: value}})
        why = "not what opensm_options allows (%s)" % wrong[0].allowed if wrong else read.obstacle(key, value)
        if why:
            read.leave(key, "%s; %s" % (why, _STAYS if wrong else "opensm ignores it, and so does the collection with opensm_give_up: [%s]" % key))
        else:
            read.options[key] = value


def _files(read: _Read) -> None:
    """Declare the files that keys name."""
    manager = read.manager
    engines = next((value.value for value in read.values if value.variable == "opensm_routing_engine"), None)
    guids = [line.split()[0] for line in manager.root_guids.splitlines() if line.split() and is_guid(line.split()[0])]
    if guids and not problems({"opensm_root_guids": guids, "opensm_routing_engine": engines}):
        read.values.append(Value("opensm_root_guids", sorted({normal_guid(guid) for guid in guids}), "the root_guid_file of %s" % manager.source))
    elif guids or manager.keys.get("root_guid_file"):
        read.leave("root_guid_file", "it has no node GUIDs that opensm_root_guids takes with this routing engine; %s" % _STAYS)
    if manager.qos_policy:
        policy = "\n".join(line for line in manager.qos_policy.splitlines() if not line.startswith("# ")).strip("\n") + "\n"
        if any(value.variable == "opensm_qos" and value.value for value in read.values):
            read.values.append(Value("opensm_qos_policy", policy, "the qos_policy_file of %s" % manager.source))
        else:
            read.leave("qos_policy_file", "opensm reads it only with qos TRUE")


def settings_of(manager: Manager) -> Reading:
    """The declarations of the keys and files of a subnet manager, without its port, its priority and its partitions."""
    read = _Read(manager)
    for key, own in sorted(manager.keys.items()):
        _key(read, key, own)
    _files(read)
    if read.options:
        read.values.append(Value("opensm_options", read.options, manager.source))
    if read.secrets:
        read.values.append(Value("opensm_secret_options", read.secrets, manager.source))
    return Reading(read.values, read.left, read.dangers)
