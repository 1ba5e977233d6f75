# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes from the found to the declared links. Pure."""

from __future__ import annotations

import re
import typing as t

from .._distro._family import EXTRA_MODULES
from .._distro._registry import packages_by_family
from .._errors import Problem
from .._facts._soft_links import MODULES, PROTOCOLS, Link, path_of, records, unit_of
from .._host._files import HEADER, file_change
from .._host._units import switch
from .._plan import Change, Kind, Plan, changes_of
from ._found import Found
from ._input import VARIABLE

# ARPHRD_ETHER and ARPHRD_LOOPBACK of if_arp.h.
_TYPES = ("1", "772")

# Bound to the interface: the unit starts when the interface appears, early or late, and stops when it disappears, which deletes the link.
# It ignores a link that already exists, created by a run or by hand.
_TEXT = (
    HEADER
    + """\
[Unit]
Description=Software RDMA link {name}, {protocol} on {netdev}
BindsTo={device}
After={device} systemd-modules-load.service
Before=remote-fs-pre.target
Wants=remote-fs-pre.target
ConditionPathExists=!/sys/class/infiniband/{name}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStartPre=/usr/bin/env modprobe {module}
ExecStart=/usr/bin/env rdma link add {name} type {type} netdev {netdev}
ExecStop=-/usr/bin/env rdma link delete {name}

[Install]
WantedBy={device}
"""
)


def check(links: t.Sequence[Link], found: Found) -> list[Problem]:
    """Everything declared that is not possible on this node."""
    ours = records(found.files)
    problems: list[Problem] = []
    for index, link in enumerate(links):
        where = "%s[%d]" % (VARIABLE, index)
        there = found.links.get(link.name)
        if link.name in found.hardware:
            problems.append(Problem(where + ".name", link.name, "a name that is free", "an RDMA adapter of this node has it"))
        elif there is not None and link.name not in ours and not same(there, link):
            hint = "%s exists on this node and does not belong to this collection: delete it with 'rdma link delete %s', or declare it as it is"
            problems.append(Problem(where + ".name", link.name, "a name that is free", hint % (there.words(), link.name)))
        problems += _netdev_problems(where + ".netdev", link, found)
        problems += _driver_problems(where + ".type", link, found)
        problems += [
            Problem(
                where + ".netdev",
                link.netdev,
                "an interface without another %s link" % link.type,
                "%s is one, and does not belong to this collection" % other.name,
            )
            for other in found.links.values()
            if other.name not in ours and other.name != link.name and same(other, link)
        ]
        if found.files.get(path_of(link.name)) and link.name not in ours:
            problems.append(
                Problem(where + ".name", link.name, "a name whose unit is free", "%s exists and does not belong to this collection" % path_of(link.name))
            )
    return problems


def _netdev_problems(where: str, link: Link, found: Found) -> list[Problem]:
    netdev = found.netdevs.get(link.netdev)
    if netdev is None and found.image:
        return []
    if netdev is None:
        return [Problem(where, link.netdev, ", ".join(sorted(found.netdevs)), "no such network interface on this node")]
    if netdev.type not in _TYPES:
        return [Problem(where, link.netdev, "an Ethernet interface", "its hardware type is %s" % netdev.type)]
    if netdev.vlan and link.type == "rxe":
        return [Problem(where, link.netdev, "the interface below the VLAN", "the kernel creates rxe only on real interfaces, and serves their VLANs with it")]
    return []


def _driver_problems(where: str, link: Link, found: Found) -> list[Problem]:
    module = MODULES[link.type]
    if module in found.loaded or found.catalogue.resolve(module) or any(there.type == link.type for there in found.links.values()):
        return []
    hint = "kernel %s has no module %s: install the package with it (%s; Debian builds no siw, its cloud kernels and RHEL from 10 on may have neither), "
    hint = hint % (found.release, module, packages_by_family(EXTRA_MODULES)) + "or declare no links of that type"
    if found.container:
        hint = "no module %s: this is a container, whose host's kernel owns the modules; run the role on the host" % module
    return [Problem(where, link.type, "a type whose driver the kernel has", hint)]


def same(one: Link, other: Link) -> bool:
    """Whether both are links of the same type on the same interface, whatever their names."""
    return (one.type, one.netdev) == (other.type, other.netdev)


def device_unit(netdev: str) -> str:
    """systemd's unit of a network interface, with the name escaped: `br-lan` is `br\\x2dlan`."""
    escaped = re.sub(r"[^A-Za-z0-9:_.]", lambda match: "\\x%02x" % ord(match.group(0)), netdev)
    return "sys-subsystem-net-devices-%s.device" % escaped


def render(links: t.Iterable[Link]) -> dict[str, str]:
    """The units, by path, that create the links at boot. They also serve as the record of what this collection created."""
    return {
        path_of(link.name): _TEXT.format(
            device=device_unit(link.netdev), module=MODULES[link.type], name=link.name, netdev=link.netdev, protocol=PROTOCOLS[link.type], type=link.type
        )
        for link in links
    }


def plan(links: t.Sequence[Link], found: Found) -> Plan:
    """The changes in order: links to delete, units, links to create. An interface is free before its next link is created."""
    ours = records(found.files)
    wanted = {link.name: link for link in links}
    units = render(links)
    stale = [path_of(name) for name in sorted(ours) if name not in wanted]
    there = {name: found.links[name] for name in sorted(ours) if name in found.links}
    gone = {name: link for name, link in there.items() if name not in wanted or not same(link, wanted[name])}
    return Plan(
        changes_of(
            *(Change(Kind.RDMA_LINK, name, "", link.words(), "") for name, link in gone.items()),
            *(_enabled(name, found, False) for name in sorted(ours) if name not in wanted),
            *(file_change(path, found.files[path], "") for path in stale),
            *(file_change(path, found.files.get(path, ""), text) for path, text in sorted(units.items())),
            *(_enabled(link.name, found, True) for link in links),
            *(
                Change(Kind.RDMA_LINK, link.name, "", "", link.words())
                for link in links
                if not found.image and (link.name not in found.links or link.name in gone)
            ),
        )
    )


def _enabled(name: str, found: Found, wanted: bool) -> Change:
    unit = found.units.get(unit_of(name))
    return switch(unit_of(name), unit is not None and unit.enabled == "enabled", wanted)
