# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The locked-memory limits of daemons that start jobs, sessions and containers. Read-only.

A raised limit applies to processes started later. A running daemon keeps its own limit and passes it on to the processes that it starts.
"""

from __future__ import annotations

import os
import re
import typing as t

from .._facts._processes import path_of
from .._facts._sysfs import attribute, entries, link_name, process_ids
from .._foreign import decimal
from .._host._files import under
from ._limits import UNLIMITED, Daemon

NAMES = frozenset(("slurmd", "pbs_mom", "containerd", "dockerd", "sshd"))
_SSHD = "sshd"
# The soft limit, which is the one that child processes inherit.
_MEMLOCK = re.compile(r"^Max locked memory +([0-9]{1,20}|unlimited)\b", re.MULTILINE)
# The main processes of a unit. Sessions and jobs are in scopes; a per-connection service ends with its connection.
_UNIT = re.compile(r"(?!sshd?@)[A-Za-z0-9:_.\\@-]{1,200}\.service\Z")
_PAM = re.compile(r"^[ \t]*UsePAM[ \t=]+\"?(yes|no)\b", re.MULTILINE | re.IGNORECASE)


def memlock_of(text: str) -> str:
    """The limit in /proc/PID/limits, in KiB or UNLIMITED; "" where it is missing."""
    match = _MEMLOCK.search(text)
    if match is None:
        return ""
    return UNLIMITED if match[1] == UNLIMITED else str(decimal(match[1], 0) // 1024)


def unit_of(path: t.Sequence[str]) -> str:
    """The service that a process with this cgroup path belongs to; "" for sessions, jobs and containers."""
    return path[-1] if path and _UNIT.match(path[-1]) else ""


def uses_pam(content: str) -> bool:
    """Whether sshd applies the limits of PAM to sessions. `content`: its files in order of precedence, of which the first value counts."""
    match = _PAM.search(content)
    return match is not None and match[1].lower() == "yes"


def _sshd_files(root: str) -> str:
    # The distribution's file counts unless one in /etc overrides it.
    found = []
    for base in ("/etc/ssh", "/usr/etc/ssh"):
        place = under(root, base)
        found += [attribute(place, "sshd_config.d", name) for name in sorted(entries(place, "sshd_config.d")) if name.endswith(".conf")]
        found.append(attribute(place, "sshd_config"))
    return "\n".join(found)


def read_daemons(root: str = "/") -> tuple[Daemon, ...]:
    """The daemons of this PID namespace, each once. Containers have limits of their own."""
    proc = under(root, "/proc")
    own, top = link_name(proc, "self/ns/pid"), attribute(proc, "1", "cgroup")
    pam = uses_pam(_sshd_files(root))
    found: dict[tuple[str, str], Daemon] = {}
    for pid in process_ids(root):
        name = attribute(proc, pid, "comm")
        if name not in NAMES or (name == _SSHD and pam) or link_name(proc, pid, "ns/pid") != own:
            continue
        unit, limit = unit_of(path_of(attribute(proc, pid, "cgroup"), top)), memlock_of(attribute(os.path.join(proc, pid), "limits"))
        if unit and limit:
            # The lowest PID is that of the daemon itself.
            found.setdefault((name, unit), Daemon(name, unit, limit))
    return tuple(found.values())
