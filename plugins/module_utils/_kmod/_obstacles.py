# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether what a daemon has started goes on when its unit is restarted. Pure.

systemd stops all processes of a unit, unless it has `KillMode=process` (systemd.kill(5)). Then the daemon decides. slurmd leaves its slurmstepd to
themselves, containerd its shims, also those of docker, and sshd its sessions. dockerd stops its containers, unless it has live restore. What pbs_mom does
depends on the options with which it is started.
"""

from __future__ import annotations

import typing as t

from .._foreign import decimal
from ._limits import USER_MANAGER

# What systemd restarts or stops together with a unit.
_TIES = ("RequiredBy", "BoundBy", "ConsistsOf", "PropagatesStopTo")
PROPERTIES = ("Id", "KillMode", "MainPID", *_TIES)
# The sockets of a service, which outlive it or return with it.
_HARMLESS = ".socket"

SLURM, PBS, CONTAINERD, DOCKER, SSH = "slurmd", "pbs_mom", "containerd", "dockerd", "sshd"
DOCKER_SOCKET = "unix:///var/run/docker.sock"
NAMES = frozenset((SLURM, PBS, CONTAINERD, DOCKER, SSH, USER_MANAGER))


class Around(t.NamedTuple):
    """What else decides on a restart."""

    live_restore: bool = False
    """Whether a running dockerd leaves its containers to themselves."""
    sshd_refuses: str = ""
    """What sshd finds wrong with its files; "" for nothing. It would not start."""


def main_pid(unit: t.Mapping[str, str]) -> str:
    """The process ID of the daemon itself; "" where systemd does not know it."""
    number = decimal(unit.get("MainPID", ""), 0)
    return str(number) if number else ""


def obstacle(name: str, unit: t.Mapping[str, str], around: Around, *, leader: str) -> str:
    """Why a restart of the unit may end what the daemon has started, in words; "" where that goes on. `unit`: PROPERTIES of the unit. `leader`: the name of its
    main process, or "".
    """
    if name == USER_MANAGER:
        return "that ends everything that runs in it"
    if name == PBS:
        return "whether its jobs go on depends on its options"
    if unit.get("KillMode") != "process":
        return "its unit has KillMode=%s, with which systemd stops what it has started, too" % unit.get("KillMode", "unknown")
    if leader != name:
        # dockerd and Kubernetes servers can start a containerd of their own. A user's unit can have the name of one of the system.
        return "the main process of its unit is %s" % (leader or "not known to systemd")
    tied = sorted({other for tie in _TIES for other in unit.get(tie, "").split() if not other.endswith(_HARMLESS)})
    if tied:
        return "systemd restarts or stops %s with it" % ", ".join(tied)
    if name == DOCKER and not around.live_restore:
        return "without live restore (live-restore in daemon.json), dockerd stops its containers"
    if name == SSH and around.sshd_refuses:
        return "sshd would not start again: %s" % around.sshd_refuses
    return ""
