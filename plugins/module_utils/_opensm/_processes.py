# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The opensm processes of a node: their owners and their ports. Read-only."""

from __future__ import annotations

import re
import typing as t

from .._codes import is_guid, normal_guid
from .._facts._processes import path_of
from .._facts._sysfs import attribute, entries, link_name, link_target, process_ids
from .._foreign import decimal, shown
from .._host._files import under
from ._cmdline import keys_of

# Scopes and slices of container engines, and of virtual machines.
_CONTAINER = re.compile(r"(?:docker|libpod|crio|cri-containerd|lxc|nspawn|machine)\b|kubepods")
# Services from which administrators start processes by hand.
_BY_HAND = re.compile(r"(?:sshd?(?:@.*)?|crond?|atd|rc-local|rc\.local|user@\d+|getty@.*|serial-getty@.*|ansible-.*|awx-.*)\.service\Z")
# A vendor's appliance that is installed on a host.
_APPLIANCE = "/opt/ufm/"
_DEVICES = "/dev/infiniband/"
_DEVICE = re.compile(r"(?:umad|issm)\d{1,4}\Z")


class Process(t.NamedTuple):
    """One opensm in this PID namespace. Processes of other namespaces, as in most containers, are not visible."""

    pid: int
    units: frozenset[str]
    """The components of its cgroup paths. Its unit is one of them."""
    owner: str
    """The foreign unit, container or program that it belongs to; "" for a packaged unit and for a process started by hand."""
    guids: tuple[str, ...]
    """The GUIDs of the ports that it has opened, else of the port on its command line; empty where neither tells."""


def owner_of(path: t.Sequence[str], program: str) -> str:
    """The owner of a process that belongs to no unit of ours or of a package; "" for a process started by hand."""
    containers = [part for part in path if _CONTAINER.search(part)]
    if containers:
        return "container %s" % shown(containers[-1][:80])
    services = [part for part in path if part.endswith(".service") and not _BY_HAND.match(part)]
    if services:
        return "unit %s" % shown(services[-1][:80])
    return "program %s" % shown(program) if program.startswith(_APPLIANCE) else ""


def _opened(root: str, pid: str) -> tuple[str, ...]:
    """The port GUIDs of the devices that a process has open."""
    proc, found = under(root, "/proc/%s/fd" % pid), []
    for name in entries(proc):
        target = link_target(proc, name)
        match = _DEVICE.match(target[len(_DEVICES) :]) if target.startswith(_DEVICES) else None
        if match is None:
            continue
        place = under(root, "/sys/class/infiniband_mad/%s" % match[0])
        gid = attribute(under(root, "/sys/class/infiniband"), attribute(place, "ibdev"), "ports", attribute(place, "port"), "gids/0")
        digits = gid.replace(":", "")[16:]
        found += [normal_guid(digits)] if is_guid(digits) else []
    return tuple(dict.fromkeys(found))


def _named(root: str, pid: str) -> tuple[str, ...]:
    """The port GUID on its command line."""
    guid = keys_of(attribute(under(root, "/proc"), pid, "cmdline").rstrip("\0").split("\0")[1:]).get("guid", "")
    number = decimal(guid)
    guid = guid if number is None else hex(number)
    return (normal_guid(guid),) if is_guid(guid) else ()


def read_processes(root: str) -> list[Process]:
    """All opensm processes of the node."""
    proc = under(root, "/proc")
    own = link_name(proc, "self/ns/pid")
    top = attribute(proc, "1", "cgroup")
    found = []
    for pid in process_ids(root):
        if attribute(proc, pid, "comm") != "opensm" or link_name(proc, pid, "ns/pid") != own:
            continue
        cgroup = attribute(proc, pid, "cgroup")
        owner = owner_of(path_of(cgroup, top), link_target(proc, pid, "exe"))
        found.append(Process(decimal(pid, 0), frozenset(re.split(r"[/\n]", cgroup)), owner, _opened(root, pid) or _named(root, pid)))
    return found
