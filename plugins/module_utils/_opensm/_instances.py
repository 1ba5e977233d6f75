# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""Which subnet managers a host runs: one for each fabric for which it is designated, or stands by. Pure, from inventory alone."""

from __future__ import annotations

import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._boolean import is_true
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._fabrics import fabrics_of, settings_of
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import line_of, priority_at

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._opensm._placement import Member

MASTER = "master"
STANDBY = "standby"
RESTING = "resting"
ROLES = (MASTER, STANDBY)


class Place(t.NamedTuple):
    """The part of a host in one of its fabrics."""

    fabric: str
    role: str
    """MASTER, STANDBY or RESTING."""
    designated: str
    """The designated host; "" where the fabric has none."""
    priority: int = 0
    ports: tuple[str, ...] = ()
    """Those of the host on the fabric; none where it has one fabric and does not declare its ports."""
    peers: tuple[str, ...] = ()
    """The other members of the fabric, by rank."""


def places_of(host: str, members: t.Sequence[Member], variables: t.Mapping[str, t.Any]) -> list[Place]:
    """The place of `host` in each of its fabrics, in the order in which it names them. `variables` are those of its own."""
    found = []
    standby = is_true(variables.get("opensm_standby", False))
    for fabric, ports in fabrics_of(variables).items():
        line = line_of(members, fabric)
        names = [member.host for member in line]
        role, priority = RESTING, 0
        if host in names:
            position = names.index(host)
            role = MASTER if position == 0 else (STANDBY if standby else RESTING)
            priority = priority_at(line[position]._replace(settings=settings_of(variables, fabric)), position)
        found.append(Place(fabric, role, names[0] if names else "", priority, ports, tuple(name for name in names if name != host)))
    return found


def part_of(places: t.Sequence[Place]) -> str:
    """The foremost of a host's parts: a host that is designated for one fabric and stands by for another is designated."""
    roles = {place.role for place in places}
    return next((role for role in ROLES if role in roles), RESTING)


def instances_of(places: t.Sequence[Place], variables: t.Mapping[str, t.Any], guids: t.Mapping[str, t.Mapping[str, t.Sequence[str]]]) -> list[dict[str, t.Any]]:
    """The option `instances` of the module. `guids`: port GUIDs by fabric and member, as far as facts are known."""
    found = []
    for place in places:
        if place.role == RESTING:
            continue
        settings = settings_of(variables, place.fabric)
        peers = {guid for own in guids.get(place.fabric, {}).values() for guid in own}
        others = {guid for fabric, members in guids.items() if fabric != place.fabric for own in members.values() for guid in own}
        found.append(
            {
                "fabric": place.fabric,
                "role": place.role,
                "designated_host": place.designated,
                "port": place.ports[0] if place.ports else str(variables.get("opensm_port") or ""),
                "port_guid": "" if place.ports else str(variables.get("opensm_port_guid") or ""),
                "priority": max(0, place.priority),
                "subnet_prefix": settings.subnet_prefix,
                "log_file": settings.log_file,
                "peer_guids": sorted(peers),
                "other_guids": sorted(others - peers),
            }
        )
    return found
