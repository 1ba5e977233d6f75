# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a subnet manager needs from the inventory: partition members by port GUID, and node names. Pure.

This reads the variables and facts of all hosts, so only hosts that run a subnet manager call it.
"""

from __future__ import annotations

import typing as t

from .._codes import is_guid, normal_guid
from .._facts._apart import is_in_fabric
from .._facts._portname import is_persistent
from .._foreign import is_true, rows_of
from .._tools._node_names import Hcas
from ._fabrics import declared_of, fabrics_of
from ._input import both_allowed, declared_keys
from ._options import FIRST_CLASS
from ._partitions._file import Absentee
from ._partitions._input import Inventory, absentees, outline, port_guids, render
from ._placement import Groups, Hostvars

# The variables with which a host declares the behaviour of its subnet manager.
_DECLARING = tuple("opensm_%s" % name for name in (*FIRST_CLASS, "options", "secret_options", "root_guids", "qos_policy", "partitions", "fabrics"))

Facts = t.Callable[[str], t.Optional[t.Mapping[str, t.Any]]]
"""Returns the `rdma` facts of a host; None where this run has gathered none."""


def guids_of(fabric: str, host: str, hostvars: Hostvars, *, facts: Facts) -> list[str]:
    """The port GUIDs of a host on a fabric, from its facts: all of its GUIDs where it does not declare which of its ports are on the fabric."""
    return [str(guid) for guid in port_guids({}, facts(host), fabrics_of(hostvars[host]).get(fabric, ()))]


def partitions_of(fabric: str, *, groups: Groups, hostvars: Hostvars, facts: Facts, variables: t.Mapping[str, t.Any]) -> tuple[str, list[Absentee]]:
    """partitions.conf of one fabric ("" where no partitions are declared) and the members missing from it. Raises InvalidInput."""
    settings = declared_of(variables, fabric)
    own = "partitions" in settings
    declared = settings["partitions"] if own else variables.get("opensm_partitions")
    if not declared:
        return "", []
    fabrics = {str(host): fabrics_of(hostvars[host]) for host in groups.get("all", ())}
    guids = {host: port_guids(hostvars[host], facts(host), own_fabrics[fabric]) for host, own_fabrics in fabrics.items() if fabric in own_fabrics}
    named = {str(group): [str(host) for host in hosts] for group, hosts in groups.items()}
    where = "opensm_fabrics.%s.partitions" % fabric if own else "opensm_partitions"
    inventory = Inventory(named, guids, frozenset(fabrics) - frozenset(guids))
    text = render(declared, inventory, allow_both=both_allowed(variables), qos=is_true(variables.get("opensm_qos")), variable=where)
    return text, absentees(declared, inventory)


def port_guids_of(hosts: t.Iterable[str], facts: Facts) -> dict[str, list[str]]:
    """The port GUIDs of each host whose facts have any."""
    found = {str(host): [str(guid) for guid in port_guids({}, facts(host))] for host in hosts}
    return {host: guids for host, guids in found.items() if guids}


def declared_for(host: str, hostvars: Hostvars, designated: t.Mapping[str, str]) -> dict[str, t.Any]:
    """What the `designated` hosts of a host's fabrics declare for their subnet managers: keys, and an outline of the partitions."""
    fabrics = fabrics_of(hostvars[host])
    keys: dict[str, None] = {}
    texts: dict[str, str] = {}
    for fabric in fabrics:
        if fabric in designated:
            own = hostvars[designated[fabric]]
            variables = {name: own[name] for name in _DECLARING if name in own}
            settings = declared_of(variables, fabric)
            keys.update(dict.fromkeys(declared_keys({name[len("opensm_") :]: value for name, value in variables.items()})))
            keys.update({"subnet_prefix": None} if settings.get("subnet_prefix") else {})
            texts[fabric] = outline(settings.get("partitions", variables.get("opensm_partitions")))
    return {"keys": list(keys), "partitions": texts}


def names_of(hosts: t.Iterable[str], hostvars: Hostvars, facts: Facts) -> dict[str, Hcas | None]:
    """The HCAs of each host with their node GUIDs; None for a host without facts in this run."""
    # The facts of a node whose driver was not loaded yet have no HCA. Its names stay.
    return {str(host): node_guids(hostvars[host], facts(host)) or None for host in hosts}


def node_guids(variables: t.Mapping[str, t.Any], facts: t.Mapping[str, t.Any] | None = None) -> Hcas | None:
    """The HCAs of a host: the declared `opensm_node_guids` (names to GUIDs), else those of its `rdma` fact on InfiniBand; None without a fact."""
    declared = variables.get("opensm_node_guids")
    if isinstance(declared, dict) and declared:
        return {str(name): normal_guid(guid) for name, guid in declared.items() if is_guid(guid)}
    if facts is None:
        return None
    infiniband = {str(port.get("device")) for port in rows_of(facts, "ports") if is_in_fabric(port)}
    # A virtual function is not a node of the fabric.
    hcas = [hca for hca in rows_of(facts, "hcas") if not hca.get("virtual")]
    return {_first_name(hca, hcas): normal_guid(hca["node_guid"]) for hca in hcas if str(hca.get("name")) in infiniband and is_guid(hca.get("node_guid"))}


def _first_name(hca: t.Mapping[str, t.Any], hcas: t.Sequence[t.Mapping[str, t.Any]]) -> str:
    """The name of an HCA before udev renamed it, so that the file stays the same when device names change."""
    name, driver = str(hca.get("name")), str(hca.get("driver") or "")
    if not is_persistent(name) or not driver:
        return name
    places = sorted(str(other.get("pci")) for other in hcas if other.get("driver") == driver)
    return "%s_%d" % (driver.partition("_")[0], places.index(str(hca.get("pci"))))
