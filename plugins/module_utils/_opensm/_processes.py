# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The processes named opensm of a node: whose they are, and which ports they have. Reads only."""

from __future__ import annotations

import re
import typing as t

from .._codes import is_guid, normal_guid
from .._facts._processes import path_of
from .._facts._sysfs import attribute, entries, link_name, link_target, process_ids
from .._foreign import decimal, shown
from .._host._files import under
from ._cmdline import keys_of

# Of each cgroup hierarchy, the one that systemd names units in.
# Scopes and slices of container engines, and of virtual machines.
_CONTAINER = re.compile(r"(?:docker|libpod|crio|cri-containerd|lxc|nspawn|machine)\b|kubepods")
# Services in which administrators start processes of their own.
_BY_HAND = re.compile(r"(?:sshd?(?:@.*)?|crond?|atd|rc-local|rc\.local|user@\d+|getty@.*|serial-getty@.*|ansible-.*|awx-.*)\.service\Z")
# A vendor's appliance, as it is installed on a host.
_APPLIANCE = "/opt/ufm/"
_DEVICES = "/dev/infiniband/"
_DEVICE = re.compile(r"(?:umad|issm)\d{1,4}\Z")


class Process(t.NamedTuple):
    """One opensm of this very PID namespace. Those of other namespaces, as of most containers, are not seen."""

    pid: int
    units: frozenset[str]
    """The words of its cgroups: its unit is one of them."""
    owner: str
    """The unit, container or program of others that it is a part of; "" for a packaged one and for one that was started by hand."""
    guids: tuple[str, ...]
    """The ports that it has opened, else the one that its command line names; none where neither tells."""


def owner_of(path: t.Sequence[str], program: str) -> str:
    """Whose a process is that belongs to no unit of ours or of a package; "" for one that was started by hand."""
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
    """The port GUID of its command line."""
    guid = keys_of(attribute(under(root, "/proc"), pid, "cmdline").rstrip("\0").split("\0")[1:]).get("guid", "")
    number = decimal(guid)
    guid = guid if number is None else hex(number)
    return (normal_guid(guid),) if is_guid(guid) else ()


def read_processes(root: str) -> list[Process]:
    """All of them."""
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
