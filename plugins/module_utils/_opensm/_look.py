# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Private to this collection: it may change without notice.

"""What of subnet managers a node has: units, files, processes."""

from __future__ import annotations

import os
import re
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import Refused
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import read_text
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import PROPERTIES, parse_show
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._nodenames import DEFAULT_PATH
from ansible_collections.rdma.ofed.plugins.module_utils._opensm._unit import (
    FILES,
    PACKAGED,
    ROTATION,
    SETTINGS,
    SYSTEMD,
    TEMPLATE,
    silence_path,
)

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

WANTS = SYSTEMD + "/multi-user.target.wants"

_UNIT = re.compile(r"^(?:rdma-opensm@.+|opensmd?(?:@.+)?)\.service$")
_OWN = re.compile(r"^rdma-opensm@.+\.service$")
# A stack that was replaced takes program and libraries along; the process goes on with what it has in memory.
_LIBRARIES = re.compile(r"/lib(opensm|osm|ib)[^/\n]*\.so[^/\n]* \(deleted\)$", re.MULTILINE)
_DELETED = " (deleted)"


class Found(t.NamedTuple):
    """The subnet managers of a node."""

    masked: tuple[str, ...] = ()
    """Those of PACKAGED that can't be started."""
    running: tuple[str, ...] = ()
    """Units, ours and packaged ones, that are active or about to be."""
    replaced: tuple[str, ...] = ()
    """Those of our units that run a program, or libraries of it, that have been removed or replaced since they started."""
    enabled: tuple[str, ...] = ()
    """Our instances that start at boot."""
    strays: tuple[int, ...] = ()
    """Process ids of opensm outside of these units."""
    files: t.Mapping[str, str] = {}
    """Our files that exist, with their content."""
    node_names: str = ""
    """The file of the names of nodes, which is shared."""


def below(root: str, path: str) -> str:
    return os.path.join(root, path.lstrip("/"))


def _listdir(path: str) -> list[str]:
    try:
        return sorted(os.listdir(path))
    except (FileNotFoundError, NotADirectoryError):
        return []


def read_masked(root: str = "/") -> tuple[str, ...]:
    """The packaged units that are masked; raises Refused where an administrator's own unit is in the way."""
    masked = []
    for unit in PACKAGED:
        path = below(root, "%s/%s" % (SYSTEMD, unit))
        if not os.path.lexists(path):
            continue
        if os.path.islink(path) and os.readlink(path) == "/dev/null":
            masked.append(unit)
        elif os.path.islink(path):
            continue
        else:
            raise Refused("%s/%s is a unit of your own, which can't be masked: remove it (or rename it) and run again" % (SYSTEMD, unit))
    return tuple(masked)


def read_strays(root: str, units: t.Collection[str]) -> tuple[int, ...]:
    """Processes named opensm of this very PID namespace (not those of containers) that belong to none of C(units)."""
    proc = below(root, "/proc")
    found = []
    for pid in _listdir(proc):
        if not pid.isdigit() or read_text(os.path.join(proc, pid, "comm")).strip() != "opensm":
            continue
        try:
            foreign = os.readlink(os.path.join(proc, pid, "ns/pid")) != os.readlink(os.path.join(proc, "self/ns/pid"))
        except OSError:
            continue
        slices = re.split(r"[/\n]", read_text(os.path.join(proc, pid, "cgroup")))
        if not foreign and not any(unit in slices for unit in units):
            found.append(int(pid))
    return tuple(sorted(found))


def runs_replaced(pid: int, root: str = "/") -> bool:
    """Does a process run a program, or libraries of the RDMA stack, that are not on disk any more?"""
    place = below(root, "/proc/%d" % pid)
    try:
        program = os.readlink(os.path.join(place, "exe"))
    except OSError:
        return False
    return program.endswith(_DELETED) or _LIBRARIES.search(read_text(os.path.join(place, "maps"))) is not None


def look(run: Runner, root: str = "/", stack_replaced: bool = False) -> Found:
    """One systemctl, the rest is read from files. Without a running systemd there are no running units.

    C(stack_replaced): count all of our units as running what was replaced, as in check mode, where it still is on disk.
    """
    running: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    if os.path.isdir(below(root, "/run/systemd/system")):
        shown = parse_show(run(["systemctl", "show", "--no-pager", "-p", ",".join(PROPERTIES), "--", "opensm*", "rdma-opensm@*"]).stdout)
        running = tuple(sorted(name for name, unit in shown.items() if _UNIT.match(name) and unit.active in ("active", "activating", "reloading")))
        own = [name for name in running if _OWN.match(name) and shown[name].main_pid]
        replaced = tuple(name for name in own if stack_replaced or runs_replaced(shown[name].main_pid, root))
    fabrics = _listdir(below(root, SETTINGS))
    settings = ["%s/%s/%s" % (SETTINGS, fabric, name) for fabric in fabrics for name in FILES]
    paths = [TEMPLATE, ROTATION, *settings, *(silence_path(fabric) for fabric in fabrics)]
    contents = {path: read_text(below(root, path)) for path in paths}
    return Found(
        masked=read_masked(root),
        running=running,
        replaced=replaced,
        enabled=tuple(name for name in _listdir(below(root, WANTS)) if _OWN.match(name)),
        strays=read_strays(root, running),
        files={path: text for path, text in contents.items() if text},
        node_names=read_text(below(root, DEFAULT_PATH)),
    )
