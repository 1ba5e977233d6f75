# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate the variables of subnet managers. The controller does so before a run, and the module again on the host. Pure.

Only what needs no template of opensm.conf is checked here. `_options.problems` checks on the host what the installed opensm accepts.
"""

from __future__ import annotations

import typing as t

from .._codes import guid_problems, is_guid, is_secret, normal_guid, number, read_int
from .._errors import Problem, label
from .._facts import _rails as rails
from .._facts._apart import in_words, of_fabric
from .._facts._portname import describe_all, find, no_such_port, renaming
from .._facts._virtual import TYPES
from .._foreign import BOOLEAN, is_boolean, is_true, rows_of
from .._schema._opensm import VARIABLES
from .._schema._values import value_problems
from .._tools._node_names import problems as name_problems
from . import _fabrics
from ._options import FIRST_CLASS, HIDDEN, is_plain, looks_secret, variable_of, words
from ._partitions._input import problems as partition_problems
from ._placement import rank_problems

# Keys that opensm_options must not contain, and what to use instead.
RESERVED: t.Mapping[str, str] = {
    **{key: "set %s instead" % variable_of(key) for key in FIRST_CLASS},
    "daemon": "leave it out: the unit keeps opensm in the foreground, so that systemd notices when it ends",
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

# The routing engines that start from root nodes, as in the comment of the key root_guid_file in the template, and the engines that do not.
_ROOTED = ("updn", "dnup", "ftree")
_ROOTLESS = ("minhop", "file", "lash", "dor", "torus-2QoS", "nue", "dfsssp", "sssp", "no_fallback")
# Log flags are a bit mask of one byte. The log size is in MB. A key has 64 bits: without quotes YAML reads it as a number, and an option of
# type str turns that into decimal text.
_MAX_FLAGS = 0xFF
_MAX_LOG = 0xFFF
_MAX_KEY = (1 << 64) - 1


def is_set(value: t.Any) -> bool:
    """Whether a variable has a value. The role passes empty defaults on, which count as unset; False and 0 are values."""
    return not (value is None or (isinstance(value, (str, list, tuple, dict)) and not value))


def declared_keys(variables: t.Mapping[str, t.Any]) -> list[str]:
    """The declared keys of opensm.conf, by the names of the module's options. The defaults of the role declare nothing."""
    own = [key for key in FIRST_CLASS if key != "log_max_size" and variables.get(key) not in (None, False, "", [], ())]
    for name in ("options", "secret_options"):
        own += [str(key) for key in variables.get(name) or {}]
    return own + [key for key, name in (("root_guid_file", "root_guids"), ("qos_policy_file", "qos_policy")) if is_set(variables.get(name))]


def _or_empty(good: t.Callable[[t.Any], bool], *empty: t.Any) -> t.Callable[[t.Any], bool]:
    """A check that also accepts null and the `empty` values. They mean the same as an unset variable."""
    return lambda value: value is None or value in empty or good(value)


def _whole(value: t.Any, highest: int) -> bool:
    found = number(value)
    return found is not None and 0 <= found <= highest


def _list_of(good: t.Callable[[t.Any], bool]) -> t.Callable[[t.Any], bool]:
    return lambda value: isinstance(value, (list, tuple)) and all(map(good, value))


def _is_guid_mapping(value: t.Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) and is_guid(guid) for name, guid in value.items())


def both_allowed(variables: t.Mapping[str, t.Any]) -> bool:
    """Whether opensm.conf allows a port to be a full and a limited member at once."""
    options = variables.get("opensm_options")
    return isinstance(options, dict) and is_true(options.get("allow_both_pkeys"))


def _partition_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    both, qos = both_allowed(variables), is_true(variables.get("opensm_qos"))
    found = partition_problems(variables.get("opensm_partitions"), allow_both=both, qos=qos)
    for fabric, settings in (variables.get("opensm_fabrics") or {}).items() if isinstance(variables.get("opensm_fabrics"), dict) else ():
        if isinstance(settings, dict):
            found += partition_problems(settings.get("partitions"), allow_both=both, qos=qos, variable="opensm_fabrics.%s.partitions" % (fabric,))
    return found


# An unset variable has its default. An empty one has no default and would reach the module, so it is checked. Of the empty values, only
# null and those of the variable's own type count as unset.
_CHECKS: t.Mapping[str, tuple[t.Callable[[t.Any], bool], str]] = {
    "opensm_priority": (_fabrics.is_priority, _fabrics.PRIORITY),
    "opensm_wait_timeout": (lambda value: bool(read_int(value)), "a whole number of seconds, more than 0"),
    "opensm_log_file": (_or_empty(_fabrics.is_path, ""), _fabrics.PATH),
    "opensm_give_up": (
        _or_empty(_list_of(lambda name: isinstance(name, str) and name != "")),
        "a list of keys of opensm.conf, and of partitions in the form: partition NAME",
    ),
    "opensm_port_guids": (_or_empty(_list_of(is_guid)), 'a list of port GUIDs in the form "0x7cfe90030016aef1"'),
    "opensm_node_guids": (_or_empty(_is_guid_mapping), 'node GUIDs by HCA, {"mlx5_0": "0x7cfe90030016aef0"}'),
    "opensm_qos": (_or_empty(is_boolean), BOOLEAN),
    "opensm_qos_policy": (_or_empty(lambda value: isinstance(value, str)), "the text of a QoS policy"),
    "opensm_log_max_size": (_or_empty(lambda value: _whole(value, _MAX_LOG)), "a size in MB, 0 (no limit) to %d" % _MAX_LOG),
    "opensm_log_flags": (_or_empty(lambda value: _whole(value, _MAX_FLAGS), ""), "a byte of flags, 0x00 to 0xff"),
    "opensm_partitions": (lambda value: value != "", "a list of partitions"),
    "opensm_node_names": (lambda value: value != "", "a mapping of node GUIDs to names"),
    "opensm_routing_engine": (_or_empty(lambda value: all(isinstance(word, str) for word in words(value))), "names of routing engines"),
}


def _need_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    """Problems of variables that require another variable."""
    outranks, has_policy = is_true(variables.get("opensm_outrank_foreign_master")), is_set(variables.get("opensm_qos_policy"))
    needs = (
        ("opensm_allow_foreign_master", outranks, "opensm_outrank_foreign_master takes over from a foreign master"),
        ("opensm_qos", has_policy, "opensm reads opensm_qos_policy only with QoS enabled"),
    )
    return [Problem(name, variables.get(name), "true", why) for name, needed, why in needs if needed and not is_true(variables.get(name))]


def _root_problems(guids: t.Any, engines: t.Any) -> list[Problem]:
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
            if not isinstance(key, str) or not is_plain(key) or " " in key:
                found.append(Problem(name, key, "keys of opensm.conf, each one word"))
            texts = [str(each) for each in (value if isinstance(value, (list, tuple)) else [value])]
            if not all(is_plain(text) for text in texts if text):
                found.append(Problem(named, shown, "a text of one line without #", "opensm would read the rest as a comment or as other keys"))
            if key in RESERVED:
                found.append(Problem(named, shown, RESERVED[key]))
            elif isinstance(key, str) and is_secret(key) != secret:
                other = "opensm_options" if secret else "opensm_secret_options"
                found.append(Problem(named, shown, "the same in %s" % other, "only keys that end in _key or _seed are secret"))
    return found


def _value_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    guid, key, roots, port = (variables.get("opensm_%s" % name) for name in ("port_guid", "sm_key", "root_guids", "port"))
    return [
        *([] if port in (None, "") else rails.port_problems("opensm_port", port, variables.get(rails.VARIABLE))),
        *_fabrics.fabric_problems(variables),
        *value_problems(VARIABLES, variables, apart=("opensm_qos",)),
        *(Problem(name, variables[name], allowed) for name, (good, allowed) in _CHECKS.items() if name in variables and not good(variables[name])),
        *([] if guid in (None, "") else guid_problems("opensm_port_guid", guid, "a port GUID")),
        *_need_problems(variables),
        *rank_problems(variables),
        *_fabrics.settings_problems(variables),
        *([] if key in (None, "") or _whole(key, _MAX_KEY) else [Problem("opensm_sm_key", HIDDEN, 'a number of 64 bits in the form "0x0000000000000001"')]),
        *([] if roots in (None, []) else _root_problems(roots, variables.get("opensm_routing_engine"))),
        *_option_problems(variables),
        *name_problems(variables.get("opensm_node_names")),
        *_partition_problems(variables),
    ]


def _named(ports: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    return describe_all(ports) if ports else "none: this host has no InfiniBand port (no HCA, or no driver for it)"


def port_problems(name: str, guid: str, ports: t.Sequence[t.Mapping[str, t.Any]]) -> list[Problem]:
    """Why a subnet manager can't be bound to the declared port. `name` or `guid` is "" where it is not declared."""
    infiniband = [port for port in ports if port["link_layer"] == "InfiniBand"]
    problems = []
    if guid and normal_guid(guid) not in {port["port_guid"] for port in infiniband}:
        hint = "opensm binds to the port GUID, which is not the node GUID"
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), hint))
    if name and find(name, infiniband) is None:
        hint = "its link layer is Ethernet" if find(name, ports) is not None else renaming(name, infiniband)
        problems.append(Problem("opensm_port", name, _named(infiniband), hint))
    if not name and not guid and not of_fabric(ports):
        hint = "; ".join("%s is %s" % (port["name"], in_words(str(port["apart"]))) for port in infiniband)
        problems.append(Problem("opensm_port", None, _named(infiniband), hint or "a subnet manager needs an InfiniBand port"))
    if name and guid and not problems and find(name, infiniband) != find(guid, infiniband):
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), "opensm_port names another port: give one of the two"))
    return problems


def _virtual_problems(declared: str, ports: t.Sequence[t.Mapping[str, t.Any]], hcas: t.Iterable[t.Mapping[str, t.Any]]) -> list[Problem]:
    """The problem of a host whose only candidates are ports of virtual functions. The driver mlx4_core can give them the right to manage a fabric."""
    virtual = {hca.get("name") for hca in hcas if hca.get("driver") == "mlx5_core" and (hca.get("virtual") or hca.get("type") in TYPES)}
    candidates = [find(declared, ports)] if declared else of_fabric(ports)
    if not all(port is not None and port.get("device") in virtual for port in candidates):
        return []
    hint = "a virtual function may send no management datagrams: take the host out of the group opensm"
    return [Problem("opensm_port", declared or None, "a port of a physical function", "%s; %s" % (_named([port for port in candidates if port]), hint))]


def _declared_port_problems(variables: t.Mapping[str, t.Any], ports: t.Sequence[t.Mapping[str, t.Any]]) -> list[Problem]:
    """Problems of ports in `rdma_fabrics` that do not exist: each one is a cable in that fabric, whether or not this host manages it."""
    infiniband = [port for port in ports if port["link_layer"] == "InfiniBand"]
    found = []
    owners: dict[str, str] = {}
    for fabric, own in _fabrics.fabrics_of(variables).items():
        for index, name in enumerate(own):
            where = "rdma_fabrics.%s[%d]" % (fabric, index)
            port = find(name, infiniband)
            if port is None:
                found.append(no_such_port(where, name, infiniband, none=_named(infiniband)))
            elif owners.setdefault(port["name"], fabric) != fabric:
                found.append(Problem(where, name, _fabrics.OWN_PORT, "rdma_fabrics.%s has it, too, by another name" % owners[port["name"]]))
    return found


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None, manages: bool = False) -> list[Problem]:
    """Problems of the variables of one host, by their role names.

    `facts` is the `rdma` fact. The port of a subnet manager is looked up only if the host `manages` a fabric.
    """
    found = _value_problems(variables)
    if found or facts is None:
        return found
    ports = facts.get("ports", ())
    found = _declared_port_problems(variables, ports)
    if found or not manages or variables.get("rdma_fabrics"):
        return found
    name, guid = variables.get("opensm_port") or "", variables.get("opensm_port_guid") or ""
    return port_problems(name, guid, ports) or _virtual_problems(name or guid, ports, rows_of(facts, "hcas"))
