# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a subnet manager needs from the inventory, and from the facts of this run, as options of the module opensm."""

from __future__ import annotations

import contextlib
import typing as t

from ..module_utils._errors import RdmaError
from ..module_utils._foreign import is_true, shown
from ..module_utils._opensm import _placement
from ..module_utils._opensm._data import declared_for, guids_of, names_of, partitions_of, port_guids_of
from ..module_utils._opensm._fabrics import fabrics_of
from ..module_utils._opensm._placement import Groups, Hostvars, elect, read_members
from ..module_utils._plain import plain
from ._facts_of_run import facts_by_host

# The fabric names belong to the host and are shared by several roles, so they have no role prefix.
PLACING = ("fabric", "rdma_fabrics", "opensm_fabrics", "opensm_standby", "opensm_port", "opensm_port_guid", "opensm_priority", "opensm_log_file")
"""The variables of a host that determine its subnet managers."""
VARIABLES = (*PLACING, "opensm_partitions", "opensm_qos", "opensm_options")
_ODD = "a variable of a host, or a fact, has an invalid form (%s: %s). Next: ansible-playbook rdma.ofed.site --check, which names what is wrong"


@contextlib.contextmanager
def reading() -> t.Iterator[None]:
    """Turn errors in variables or facts of unvalidated hosts into RdmaError."""
    try:
        yield
    except RdmaError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError) as exc:
        raise RdmaError(_ODD % (type(exc).__name__, shown(str(exc)))) from None


def options_of(host: str, *, groups: Groups, hostvars: Hostvars, hosts: t.Sequence[str], own: t.Mapping[str, t.Any], **known: t.Any) -> dict[str, t.Any]:
    """The options for a host that manages fabrics. `own`: its variables. `known`: see `declared`. Raises RdmaError."""
    instances = places(groups, hostvars, host=host, own=own)["instances"]
    of_others = declared(groups, hostvars, host=host, **known)
    found = data(groups, hostvars, [each["fabric"] for each in instances], hosts=hosts, variables=own)
    return {
        "instances": instances,
        "declared_settings": of_others["keys"],
        "partitions": {**of_others["partitions"], **found["partitions"]},
        "absent_members": found["absent_members"],
        "node_names": {"hosts": found["node_names"]},
        "known_guids": found["port_guids"],
        "known_hosts": list(dict.fromkeys([*map(str, hosts), *map(str, groups.get(_placement.GROUP, ()))])),
    }


def places(groups: Groups, hostvars: Hostvars, *, host: str, own: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The parts of `host` in its fabrics, and its instances. A fabric without a designated host, or with two, is an error."""
    members = _placement.members_for(fabrics_of(own), groups, hostvars, host=host)
    # A role may be called with values that differ from the variables of the host.
    standby = is_true(own.get("opensm_standby", False))
    found = _placement.places_of(host, elect(member._replace(standby=standby) if member.host == host else member for member in members), own)
    manages = _placement.part_of(found) != _placement.RESTING
    facts = facts_by_host(hostvars)
    peers = {place.fabric: [member.host for member in members if member.fabric == place.fabric and member.host != host] for place in found if manages}
    guids = {fabric: {peer: guids_of(fabric, peer, hostvars, facts=facts) for peer in names} for fabric, names in peers.items()}
    own_guids = {place.fabric: guids_of(place.fabric, host, hostvars, facts=facts) for place in found if manages and place.ports}
    return {
        "part": _placement.part_of(found),
        "designated": {place.fabric: place.designated for place in found},
        "instances": _placement.instances_of(found, own, guids, own_guids=own_guids),
    }


def line_of(groups: Groups, hostvars: Hostvars, fabric: str) -> list[str]:
    """The hosts that manage a fabric, the designated one first, for judging the fabric. Hosts with invalid variables are left out."""
    members, _wrong = read_members(groups, {host: _Own(hostvars[host]) for host in groups.get(_placement.GROUP, ())})
    return list(elect(members).positions.get(fabric, ()))


def declared(groups: Groups, hostvars: Hostvars, *, host: str, designated: t.Mapping[str, str] | None = None) -> dict[str, t.Any]:
    """The keys and partitions declared for the fabrics of `host`. Without `designated`, group opensm is read to find the designated hosts."""
    known = elect(read_members(groups, hostvars)[0]).designated if designated is None else designated
    found: dict[str, t.Any] = plain(declared_for(host, hostvars, known))
    return found


def data(groups: Groups, hostvars: Hostvars, fabrics: t.Sequence[str], *, hosts: t.Sequence[str], variables: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Partitions and names for the subnet managers of `fabrics`. Invalid partitions are an error. Reads variables and facts of all hosts."""
    facts = facts_by_host(hostvars)
    own = plain(dict(variables))
    found = {str(fabric): partitions_of(str(fabric), groups=groups, hostvars=hostvars, facts=facts, variables=own) for fabric in fabrics}
    return {
        "partitions": {fabric: text for fabric, (text, _absentees) in found.items()},
        "absent_members": [{"fabric": fabric, **absentee._asdict()} for fabric, (_text, absentees) in found.items() for absentee in absentees],
        "node_names": names_of(hosts, hostvars, facts),
        "port_guids": port_guids_of({*hosts, *groups.get(_placement.GROUP, ())}, facts),
    }


class _Own(t.Mapping[str, t.Any]):
    """Variables of a host, each evaluated when it is read, without the fabric given on the command line."""

    def __init__(self, variables: t.Mapping[str, t.Any]) -> None:
        self._variables = variables

    def __getitem__(self, name: str) -> t.Any:
        if name not in self._variables or (name == "fabric" and "rdma_fabrics" in self._variables):
            raise KeyError(name)
        return self._variables[name]

    def __iter__(self) -> t.Iterator[str]:
        return (name for name in self._variables if name != "fabric" or "rdma_fabrics" not in self._variables)

    def __len__(self) -> int:
        return sum(1 for _name in self)
