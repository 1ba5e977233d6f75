# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Problems of the variables of role opensm that end up in opensm.conf and in the files that it names. Pure.

What needs no template is checked here, which the controller does before a run, too. `_options.problems` checks on the host what
the installed opensm takes.
"""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import ALLOWED, is_boolean, is_true
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem, label
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import guid_problems, number
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options import FIRST_CLASS, HIDDEN, is_secret, looks_secret, variable_of, words

# Keys that opensm_options must not have, and what to do instead.
RESERVED: t.Mapping[str, str] = {
    **{key: "set %s instead" % variable_of(key) for key in FIRST_CLASS},
    "daemon": "leave it out: the unit keeps opensm in the foreground, where systemd sees it end",
    "dump_files_dir": "leave it out: each instance has a directory of its own",
    "guid": "set opensm_port or opensm_port_guid instead",
    "ignore_other_sm": "leave it out: with it, a fabric gets two masters",
    "log_file": "set opensm_log_file instead",
    "master_sm_priority": "set opensm_priority instead: a master keeps it",
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
# Log flags are a byte of bits. The log size is in MB. A key has 64 bits: without quotes YAML makes a number of it, and an option of type
# str a decimal text of that.
_MAX_FLAGS = 0xFF
_MAX_LOG = 0xFFF
_MAX_KEY = (1 << 64) - 1


def is_set(value: t.Any) -> bool:
    """Whether a variable has a value. The role hands empty defaults on; False and 0 are values."""
    return not (value is None or (isinstance(value, (str, list, tuple, dict)) and not value))


def declared_keys(variables: t.Mapping[str, t.Any]) -> list[str]:
    """The keys of opensm.conf that are declared, by the names of the module's options. The defaults of the role declare nothing."""
    own = [key for key in FIRST_CLASS if key != "log_max_size" and variables.get(key) not in (None, False, "", [], ())]
    for name in ("options", "secret_options"):
        own += [str(key) for key in variables.get(name) or {}]
    return own + [key for key, name in (("root_guid_file", "root_guids"), ("qos_policy_file", "qos_policy")) if is_set(variables.get(name))]


Checks = t.Mapping[str, t.Tuple[t.Callable[[t.Any], bool], str]]
"""By variable: whether a value is good, and what is allowed."""


def or_empty(good: t.Callable[[t.Any], bool], *empty: t.Any) -> t.Callable[[t.Any], bool]:
    """A check that also accepts null and the `empty` values, which mean the same as a missing variable."""
    return lambda value: value is None or value in empty or good(value)


def check(checks: Checks, variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the variables that are set, each by itself."""
    return [Problem(name, variables[name], allowed) for name, (good, allowed) in checks.items() if name in variables and not good(variables[name])]


def _whole(value: t.Any, highest: int) -> bool:
    found = number(value)
    return found is not None and 0 <= found <= highest


def _guid_problems(guids: t.Any, engines: t.Any) -> list[Problem]:
    name = "opensm_root_guids"
    if not isinstance(guids, (list, tuple)):
        return [Problem(name, guids, "a list of node GUIDs of switches")]
    found = [problem for index, guid in enumerate(guids) for problem in guid_problems("%s[%d]" % (name, index), guid, "a node GUID")]
    if not is_set(engines) or all(engine in _ROOTLESS for engine in words(engines)):
        found.append(Problem("opensm_routing_engine", engines or None, "one with %s" % ", ".join(_ROOTED), "the others ignore opensm_root_guids"))
    return found


def _option_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    found = []
    for name, secret in (("opensm_options", False), ("opensm_secret_options", True)):
        declared = variables.get(name)
        if declared is None:
            continue
        if not isinstance(declared, dict):
            found.append(Problem(name, HIDDEN if secret else declared, "a mapping of keys of opensm.conf to values"))
            continue
        for key, value in declared.items():
            named = "%s.%s" % (name, label(key))
            shown = HIDDEN if secret or looks_secret(key) else value
            if key in RESERVED:
                found.append(Problem(named, shown, RESERVED[key]))
            elif isinstance(key, str) and is_secret(key) != secret:
                other = "opensm_options" if secret else "opensm_secret_options"
                found.append(Problem(named, shown, "the same in %s" % other, "keys ending in _key or _seed are secret, and only they"))
    return found


# A variable that is not there has its default. Of the empty values, only null and those of the variable's own kind mean the same.
_CHECKS: Checks = {
    "opensm_qos": (or_empty(is_boolean), ALLOWED),
    "opensm_qos_policy": (or_empty(lambda value: isinstance(value, str)), "the text of a QoS policy"),
    "opensm_log_max_size": (or_empty(lambda value: _whole(value, _MAX_LOG)), "a size in MB, 0 (no limit) to %d" % _MAX_LOG),
    "opensm_log_flags": (or_empty(lambda value: _whole(value, _MAX_FLAGS), ""), "a byte of flags, 0x00 to 0xff"),
    "opensm_partitions": (lambda value: value != "", "a list of partitions"),
    "opensm_node_names": (lambda value: value != "", "a mapping of node GUIDs to names"),
    "opensm_routing_engine": (or_empty(lambda value: all(isinstance(word, str) for word in words(value))), "names of routing engines"),
}


def problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """What is wrong with the variables, by their role names, as far as that shows without a template."""
    found = check(_CHECKS, variables)
    if variables.get("opensm_sm_key") not in (None, "") and not _whole(variables["opensm_sm_key"], _MAX_KEY):
        found.append(Problem("opensm_sm_key", HIDDEN, 'a number of 64 bits in the form "0x0000000000000001"'))
    if variables.get("opensm_root_guids") not in (None, []):
        found += _guid_problems(variables["opensm_root_guids"], variables.get("opensm_routing_engine"))
    if is_set(variables.get("opensm_qos_policy")) and not is_true(variables.get("opensm_qos")):
        found.append(Problem("opensm_qos", variables.get("opensm_qos"), "true", "opensm reads opensm_qos_policy with QoS only"))
    return found + _option_problems(variables)
