# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Validate and read what is declared to `node_check`. Pure."""

from __future__ import annotations

import re
import typing as t

from .. import _accepted
from .._codes import is_guid, normal_guid, read_int
from .._errors import Problem
from .._expectations import EXPECTATIONS
from .._facts import _rails as rails
from .._facts._portname import FORM, QUOTE, Port, find, no_such_port, parse_function
from .._foreign import integer, real
from .._schema._node_check import VARIABLES
from .._schema._values import value_problems
from .._tools._smpquery import SPEEDS
from .._tools._speeds import INFINIBAND, rank
from ._types import Fabric
from ._wanted import Wanted

if t.TYPE_CHECKING:
    from collections.abc import Mapping

OWN = "node_check_"
ROLE_TYPES: t.Mapping[str, tuple[type, str]] = {
    "node_check_ports": (list, "a list of ports"),
    "node_check_interfaces": (list, "a list of interfaces"),
    "node_check_modules": (list, "a list of module names"),
    "node_check_cable_part_numbers": (list, "a list of part numbers"),
    "node_check_pcie_accepted": (list, 'a list of PCI addresses, such as ["0000:03:00.0"]'),
    "node_check_fabrics": (list, "a list of fabrics, each as the filter rdma.ofed.fabric_managers returns it"),
    "node_check_designated_names": (list, "a list of host names"),
}


def port_problems(variable: str, ports: t.Any, facts: Mapping[str, t.Any] | None = None, *, declared: t.Any = None) -> list[Problem]:
    """Problems of a list of ports. Where the `rdma` facts are given, the ports are also looked up on the node. `declared`: the rails, as in `rdma_rails`."""
    if not isinstance(ports, (list, tuple)):
        return [Problem(variable, ports, "a list, each entry " + FORM)]
    found = []
    for index, name in enumerate(ports):
        where = "%s[%d]" % (variable, index)
        wrong = rails.port_problems(where, name, declared)
        found += wrong or ([] if facts is None else _on_node(where, name, facts.get("ports") or ()))
    return found


def _on_node(where: str, name: str, ports: t.Sequence[Port]) -> list[Problem]:
    infiniband = [port for port in ports if port.get("link_layer") == "InfiniBand"]
    if not ports:
        return [Problem(where, name, "no port on a node without HCA", "no RDMA device was found on this node; see 'rdma link' and 'lspci -d 15b3:'")]
    port = find(name, ports)
    if port is None:
        return [no_such_port(where, name, infiniband or ports)]
    if port not in infiniband:
        return [Problem(where, name, "an InfiniBand port", "its link layer is %s" % port.get("link_layer"))]
    return []


def variables_of(params: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The parameters of the module, plus the role variables that some of them stand for."""
    return {**params, **{variable: params[option] for each in EXPECTATIONS for option, variable in each.options.items()}}


def problems(params: Mapping[str, t.Any]) -> list[Problem]:
    """Problems of the module's parameters, beyond their types."""
    found = port_problems("ports", params["ports"])
    found += _fabric_problems("fabrics", params["fabrics"])
    found += _problems_of_concerns(variables_of(params), "")
    found += _rate_problems("max_effective_ber", params["max_effective_ber"])
    found += _address_problems("pcie_accepted", params["pcie_accepted"])
    found += _speed_problems("min_speed", params["min_speed"])
    if params["port_count"] < 0:
        found.append(Problem("port_count", params["port_count"], "a number of ports, 0 or more"))
    found += _accepted.problems("accepted", params["accepted"])
    if params["wait"] < 0:
        found.append(Problem("wait", params["wait"], "a number of seconds, 0 or more"))
    return found


def _problems_of_concerns(variables: Mapping[str, t.Any], prefix: str) -> list[Problem]:
    """Problems of role variables, under the names of the options that stand for them."""
    found = []
    for each in EXPECTATIONS:
        names = {variable: prefix + option for option, variable in each.options.items()}
        for problem in each.problems(variables):
            variable = re.split(r"[.[]", problem.variable, maxsplit=1)[0]
            found.append(problem._replace(variable=names.get(variable, variable) + problem.variable[len(variable) :]))
    return found


def _rate_problems(variable: str, value: t.Any) -> list[Problem]:
    """Problems of a rate. YAML reads 1e-12, without a dot, as a string."""
    rate = None if isinstance(value, bool) else real(str(value))
    return [] if rate is not None and 0 <= rate <= 1 else [Problem(variable, value, "a share of the bits from 0 to 1, such as 1e-12")]


def _speed_problems(variable: str, value: t.Any) -> list[Problem]:
    generation = rank(value) if isinstance(value, str) else None
    return [] if value == "" or (generation and generation[0] == INFINIBAND) else [Problem(variable, value, "one of %s" % ", ".join(SPEEDS))]


def _fabric_problems(name: str, fabrics: t.Sequence[t.Any], declared: t.Any = None) -> list[Problem]:
    found: list[Problem] = []
    seen: list[t.Any] = []
    for index, fabric in enumerate(fabrics):
        where = "%s[%d]" % (name, index)
        if not isinstance(fabric, t.Mapping):
            found.append(Problem(where, fabric, "a mapping, as the filter rdma.ofed.fabric_managers returns it"))
            continue
        found += port_problems(where + ".ports", fabric.get("ports") or [], declared=declared)
        if fabric.get("fabric") in seen:
            found.append(Problem(where + ".fabric", fabric.get("fabric"), "a fabric that no other entry has"))
        seen.append(fabric.get("fabric"))
        standbys = fabric.get("standbys") or {}
        if not isinstance(standbys, t.Mapping):
            found.append(Problem(where + ".standbys", standbys, "a mapping of hosts to lists of port GUIDs"))
            continue
        wrong = {host: guids for host, guids in standbys.items() if not isinstance(guids, (list, tuple))}
        found += [Problem("%s.standbys.%s" % (where, host), guids, "a list of port GUIDs") for host, guids in wrong.items()]
    return found


def _address_problems(variable: str, addresses: t.Sequence[t.Any]) -> list[Problem]:
    def hint(value: t.Any) -> str:
        # YAML 1.1 reads 0000:03:00.0 as a sexagesimal number.
        return QUOTE if isinstance(value, (int, float)) and not isinstance(value, bool) else ""

    found = [(index, value, parse_function(value)) for index, value in enumerate(addresses)]
    wrong = [(index, value) for index, value, name in found if name is None or name.number]
    return [Problem("%s[%d]" % (variable, index), value, 'a PCI address, such as "0000:03:00.0"', hint(value)) for index, value in wrong]


def role_problems(variables: Mapping[str, t.Any], facts: Mapping[str, t.Any] | None = None) -> list[Problem]:
    """Problems of the variables `node_check_*` that are set."""
    found: list[Problem] = []
    for name, (kind, allowed) in ROLE_TYPES.items():
        if name in variables and not isinstance(variables[name], kind):
            found.append(Problem(name, variables[name], allowed))
    lists: Mapping[str, list[t.Any]] = {name: value for name, value in variables.items() if isinstance(value, list)}
    if "node_check_wait" in variables and read_int(variables["node_check_wait"]) is None:
        found.append(Problem("node_check_wait", variables["node_check_wait"], "a number of seconds, 0 or more"))
    found += _rate_problems("node_check_max_effective_ber", variables.get("node_check_max_effective_ber", 0))
    found += _address_problems("node_check_pcie_accepted", lists.get("node_check_pcie_accepted", ()))
    found += _speed_problems("node_check_min_speed", variables.get("node_check_min_speed", ""))
    count = read_int(variables.get("node_check_port_count", 0))
    if count is None or count < 0:
        found.append(Problem("node_check_port_count", variables["node_check_port_count"], "a number of ports, 0 or more"))
    found += value_problems(VARIABLES, variables)
    found += port_problems("node_check_ports", lists.get("node_check_ports", ()), facts, declared=variables.get(rails.VARIABLE))
    found += _fabric_problems("node_check_fabrics", lists.get("node_check_fabrics", ()), variables.get(rails.VARIABLE))
    stood_for = {variable: OWN + option for each in EXPECTATIONS for option, variable in each.options.items()}
    own = {variable: lists[name] for variable, name in stood_for.items() if name in lists}
    return found + _problems_of_concerns({**own, rails.VARIABLE: variables.get(rails.VARIABLE)}, OWN)


def _guids(guids: t.Iterable[t.Any]) -> tuple[str, ...]:
    return tuple(normal_guid(guid) if is_guid(guid) else str(guid) for guid in guids)


def _fabric(entry: Mapping[str, t.Any]) -> Fabric:
    """Parse an entry of `fabrics`."""
    given = {name: value for name, value in entry.items() if value is not None}
    plain: dict[str, t.Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    plain["designated_guids"] = _guids(given.get("designated_guids", ()))
    plain["partitions"] = {integer(key) or 0: str(membership) for key, membership in given.get("partitions", {}).items()}
    plain["standbys"] = {str(host): _guids(guids) for host, guids in given.get("standbys", {}).items()}
    return Fabric(**plain)


def wanted_of(params: Mapping[str, t.Any]) -> Wanted:
    """The wanted state, from parameters that passed `problems`."""
    plain: dict[str, t.Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in params.items() if name in Wanted._fields}
    plain["pcie_accepted"] = tuple(name.pci for name in map(parse_function, params["pcie_accepted"]) if name)
    plain["accepted"] = _accepted.entries_of(params["accepted"])
    plain["fabrics"] = tuple(map(_fabric, params["fabrics"])) or (Fabric(),)
    variables = variables_of(params)
    wanted = {each.name: each.wanted(variables) for each in EXPECTATIONS}
    return Wanted(concerns={name: value for name, value in wanted.items() if value is not None}, **plain)
