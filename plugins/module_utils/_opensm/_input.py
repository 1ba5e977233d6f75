# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Problems of the variables of subnet managers. The controller looks for them before a run, and the module again. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import is_true
from ansible_collections.rdma.ofed.plugins.module_utils._errors import Problem
from ansible_collections.rdma.ofed.plugins.module_utils._facts._portname import FORM, describe_all, find, no_such_port, parse, renaming
from ansible_collections.rdma.ofed.plugins.module_utils._opensm import _fabrics
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._codes import guid_problems, is_guid, normal_guid
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import problems as name_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_input import Checks, check, or_empty
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._options_input import problems as option_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._partitions import problems as partition_problems
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import rank_problems
from ansible_collections.rdma.ofed.plugins.module_utils._schema._opensm import VARIABLES
from ansible_collections.rdma.ofed.plugins.module_utils._schema._values import value_problems


def _is_seconds(value: t.Any) -> bool:
    number = _fabrics.read_int(value)
    return number is not None and number > 0


def _is_name_list(value: t.Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) and name for name in value)


def _is_guid_list(value: t.Any) -> bool:
    return isinstance(value, (list, tuple)) and all(is_guid(guid) for guid in value)


def _is_guid_mapping(value: t.Any) -> bool:
    return isinstance(value, dict) and all(isinstance(name, str) and is_guid(guid) for name, guid in value.items())


def both_allowed(variables: t.Mapping[str, t.Any]) -> bool:
    """Whether opensm.conf lets a port be a full and a limited member at once."""
    options = variables.get("opensm_options")
    return isinstance(options, dict) and is_true(options.get("allow_both_pkeys"))


def _partition_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    both, qos = both_allowed(variables), is_true(variables.get("opensm_qos"))
    found = partition_problems(variables.get("opensm_partitions"), allow_both=both, qos=qos)
    for fabric, settings in (variables.get("opensm_fabrics") or {}).items() if isinstance(variables.get("opensm_fabrics"), dict) else ():
        if isinstance(settings, dict):
            found += partition_problems(settings.get("partitions"), allow_both=both, qos=qos, variable="opensm_fabrics.%s.partitions" % (fabric,))
    return found


# A variable that is not there has its default. An empty one has none, and would reach the module, so it is checked.
_CHECKS: Checks = {
    "opensm_port": (or_empty(lambda value: parse(value) is not None, ""), FORM),
    "opensm_priority": (_fabrics.is_priority, _fabrics.PRIORITY),
    "opensm_wait_timeout": (_is_seconds, "a whole number of seconds, more than 0"),
    "opensm_log_file": (or_empty(_fabrics.is_path, ""), _fabrics.PATH),
    "opensm_give_up": (or_empty(_is_name_list), "a list of keys of opensm.conf, and of partitions in the form: partition NAME"),
    "opensm_port_guids": (or_empty(_is_guid_list), 'a list of port GUIDs in the form "0x7cfe90030016aef1"'),
    "opensm_node_guids": (or_empty(_is_guid_mapping), 'node GUIDs by HCA, {"mlx5_0": "0x7cfe90030016aef0"}'),
}


def _outranking_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    if not is_true(variables.get("opensm_outrank_foreign_master")) or is_true(variables.get("opensm_allow_foreign_master")):
        return []
    allowed = variables.get("opensm_allow_foreign_master")
    return [Problem("opensm_allow_foreign_master", allowed, "true", "opensm_outrank_foreign_master takes over from a foreign master")]


def _value_problems(variables: t.Mapping[str, t.Any]) -> list[Problem]:
    guid = variables.get("opensm_port_guid")
    return [
        *_fabrics.fabric_problems(variables),
        *value_problems(VARIABLES, variables, apart=("opensm_qos",)),
        *check(_CHECKS, variables),
        *([] if guid in (None, "") else guid_problems("opensm_port_guid", guid, "a port GUID")),
        *_outranking_problems(variables),
        *rank_problems(variables),
        *_fabrics.settings_problems(variables),
        *option_problems(variables),
        *name_problems(variables.get("opensm_node_names")),
        *_partition_problems(variables),
    ]


def _named(ports: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    if not ports:
        return "none: this host has no InfiniBand port (no HCA, or no driver for it)"
    return describe_all(ports)


def port_problems(name: str, guid: str, ports: t.Sequence[t.Mapping[str, t.Any]]) -> list[Problem]:
    """What keeps a subnet manager from being bound to the declared port; "" for a name or a GUID that is not declared."""
    infiniband = [port for port in ports if port["link_layer"] == "InfiniBand"]
    problems = []
    if guid and normal_guid(guid) not in {port["port_guid"] for port in infiniband}:
        hint = "opensm binds to the port GUID, which is not the node GUID"
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), hint))
    if name and find(name, infiniband) is None:
        hint = "its link layer is Ethernet" if find(name, ports) is not None else renaming(name, infiniband)
        problems.append(Problem("opensm_port", name, _named(infiniband), hint))
    if not name and not guid and not infiniband:
        problems.append(Problem("opensm_port", None, _named(infiniband), "a subnet manager needs an InfiniBand port"))
    if name and guid and not problems and find(name, infiniband) != find(guid, infiniband):
        problems.append(Problem("opensm_port_guid", guid, _named(infiniband), "opensm_port names another port: give one of the two"))
    return problems


def _declared_port_problems(variables: t.Mapping[str, t.Any], ports: t.Sequence[t.Mapping[str, t.Any]]) -> list[Problem]:
    """Every port in `rdma_fabrics` has to be there: it is a cable in that fabric, whether this host manages it or not."""
    infiniband = [port for port in ports if port["link_layer"] == "InfiniBand"]
    found = []
    owners: dict[str, str] = {}
    for fabric, own in _fabrics.fabrics_of(variables).items():
        for index, name in enumerate(own):
            where = "rdma_fabrics.%s[%d]" % (fabric, index)
            port = find(name, infiniband)
            if port is None:
                found.append(no_such_port(where, name, infiniband) if infiniband else Problem(where, name, _named(infiniband)))
            elif owners.setdefault(port["name"], fabric) != fabric:
                found.append(Problem(where, name, _fabrics.OWN_PORT, "rdma_fabrics.%s has it, too, by another name" % owners[port["name"]]))
    return found


def problems(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None, manages: bool = False) -> list[Problem]:
    """What is wrong with the variables of one host, by their role names.

    `facts` is the `rdma` fact. The port of a subnet manager is looked up only for a host that runs one, `manages`.
    """
    found = _value_problems(variables)
    if found or facts is None:
        return found
    ports = facts.get("ports", ())
    found = _declared_port_problems(variables, ports)
    if found or not manages or variables.get("rdma_fabrics"):
        return found
    return port_problems(variables.get("opensm_port") or "", variables.get("opensm_port_guid") or "", ports)


def choose_port(name: str, guid: str, ports: t.Sequence[t.Mapping[str, t.Any]]) -> int:
    """The index of the declared port, or of the first InfiniBand port. For a declaration without `port_problems`."""
    return next(
        index
        for index, port in enumerate(ports)
        if port["link_layer"] == "InfiniBand" and all(find(declared, (port,)) is not None for declared in (name, guid) if declared)
    )
