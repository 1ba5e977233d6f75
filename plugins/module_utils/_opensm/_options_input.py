# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Problems of the variables of role opensm that end up in opensm.conf and in the files that it names. Pure.

What needs no template is checked here, which the controller does before a run, too. `_options.problems` checks on the host what
the installed opensm takes.
"""

from __future__ import annotations

import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import ALLOWED, is_boolean, is_true
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem, label
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import QUOTE, is_guid
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import FIRST_CLASS, HIDDEN, is_secret, variable_of, words

_KEY = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|0|[1-9][0-9]{0,19})\Z")

# Keys that opensm_options must not have, and what to do instead.
RESERVED: t.Mapping[str, str] = {
    **{key: "set %s instead" % variable_of(key) for key in FIRST_CLASS},
    "daemon": "leave it out: the unit keeps opensm in the foreground, where systemd sees it end",
    "dump_files_dir": "leave it out: each instance has a directory of its own",
    "guid": "set opensm_port or opensm_port_guid instead",
    "ignore_other_sm": "leave it out: with it, a fabric gets two masters",
    "log_file": "set opensm_log_file instead",
    "node_name_map_name": "set opensm_node_names instead",
    "partition_config_file": "set opensm_partitions instead",
    "qos_policy_file": "set opensm_qos_policy instead",
    "root_guid_file": "set opensm_root_guids instead",
    "sm_inactive": "leave it out: with it, a fabric has no master",
    "sm_priority": "set opensm_priority instead",
    "subnet_prefix": "set the subnet_prefix of its fabric in opensm_fabrics instead",
}

# The engines that start from roots, by the comment of the key root_guid_file in the template, and those that do not.
_ROOTED = ("updn", "dnup", "ftree")
_ROOTLESS = ("minhop", "file", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp", "no_fallback")
# Log flags are a byte of bits. The log size is in MB.
_MAX_FLAGS = 0xFF
_MAX_LOG = 0xFFF


def is_set(value: t.Any) -> bool:
    """Whether a variable has a value. The role hands empty defaults on; False and 0 are values."""
    return not (value is None or (isinstance(value, (str, list, tuple, dict)) and not value))


def _whole(value: t.Any, highest: int) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, str):
        return re.match(r"(0x[0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,9})\Z", value) is not None and int(value, 0) <= highest
    return isinstance(value, int) and 0 <= value <= highest


def _is_key(value: t.Any) -> bool:
    """64 bits. Without quotes YAML makes a number of it, and an option of type str a decimal text of that."""
    if isinstance(value, str) and _KEY.match(value):
        value = int(value, 0)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64


def _guid_problems(guids: t.Any, engines: t.Any) -> list[Problem]:
    name = "opensm_root_guids"
    if not isinstance(guids, (list, tuple)):
        return [Problem(name, guids, "a list of node GUIDs of switches")]
    found = [
        Problem("%s[%d]" % (name, index), guid, 'a node GUID in the form "0x0002c90300f00030"', QUOTE if isinstance(guid, int) else "")
        for index, guid in enumerate(guids)
        if not is_guid(guid)
    ]
    if not is_set(engines) or all(engine in _ROOTLESS for engine in words(engines)):
        found.append(Problem("opensm_routing_engine", engines or None, "one with %s" % ", ".join(_ROOTED), "the others ignore opensm_root_guids"))
    return found


def _option_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    found = []
    for name, secret in (("opensm_options", False), ("opensm_secret_options", True)):
        declared = variables.get(name)
        if not is_set(declared):
            continue
        if not isinstance(declared, dict):
            found.append(Problem(name, HIDDEN if secret else declared, "a mapping of keys of opensm.conf to values"))
            continue
        for key, value in declared.items():
            named = "%s.%s" % (name, label(key))
            shown = HIDDEN if secret or is_secret(key) else value
            if key in RESERVED:
                found.append(Problem(named, shown, RESERVED[key]))
            elif isinstance(key, str) and is_secret(key) != secret:
                other = "opensm_options" if secret else "opensm_secret_options"
                found.append(Problem(named, shown, "the same in %s" % other, "keys ending in _key or _seed are secret, and only they"))
    return found


def _empty_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """An empty value stands for "not set" only where it is of the variable's own kind."""
    a_list = ((list, tuple), "a list")
    a_mapping = ((dict,), "a mapping of keys of opensm.conf to values")
    kinds: t.Mapping[str, tuple[tuple[type, ...], str]] = {
        "opensm_qos": ((), ALLOWED),
        "opensm_log_max_size": ((), "a size in MB"),
        "opensm_routing_engine": ((list, tuple, str), "names of routing engines"),
        "opensm_root_guids": a_list,
        "opensm_partitions": a_list,
        "opensm_node_names": ((dict,), "a mapping of node GUIDs to names"),
        "opensm_options": a_mapping,
        "opensm_secret_options": a_mapping,
    }
    values = [(name, variables.get(name), *kind) for name, kind in kinds.items()]
    return [Problem(name, value, allowed) for name, value, types, allowed in values if value in ("", [], {}) and not isinstance(value, types)]


def problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the variables, by their role names, as far as that shows without a template."""
    checks: t.Sequence[tuple[str, t.Callable[[t.Any], bool], str]] = (
        ("opensm_qos", is_boolean, ALLOWED),
        ("opensm_qos_policy", lambda value: isinstance(value, str), "the text of a QoS policy"),
        ("opensm_log_max_size", lambda value: _whole(value, _MAX_LOG), "a size in MB, 0 (no limit) to %d" % _MAX_LOG),
        ("opensm_log_flags", lambda value: _whole(value, _MAX_FLAGS), "a byte of flags, 0x00 to 0xff"),
        ("opensm_routing_engine", lambda value: all(isinstance(word, str) for word in words(value)), "names of routing engines"),
    )
    found = _empty_problems(variables)
    found += [Problem(name, variables[name], allowed) for name, good, allowed in checks if is_set(variables.get(name)) and not good(variables[name])]
    if is_set(variables.get("opensm_sm_key")) and not _is_key(variables["opensm_sm_key"]):
        found.append(Problem("opensm_sm_key", HIDDEN, 'a number of 64 bits in the form "0x0000000000000001"'))
    if is_set(variables.get("opensm_root_guids")):
        found += _guid_problems(variables["opensm_root_guids"], variables.get("opensm_routing_engine"))
    if is_set(variables.get("opensm_qos_policy")) and not is_true(variables.get("opensm_qos")):
        found.append(Problem("opensm_qos", variables.get("opensm_qos"), "true", "opensm reads opensm_qos_policy with QoS only"))
    return found + _option_problems(variables)
