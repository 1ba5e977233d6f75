# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plan the changes from the found to the declared monitor. Pure."""

from __future__ import annotations

import typing as t

from .._host._files import HEADER, file_change
from .._host._units import STATE, switch
from .._plan import Change, Kind, Plan, changes_of
from . import _settings as places
from ._files import FILES, SERVICE_PATH, TIMER_PATH, is_ours
from ._found import Found
from ._input import NHC_CHECK, SLURM_CHECK
from ._wanted import Wanted

RUNNING, STOPPED, RESTART = "running", "stopped", "restart"

# The service is one-shot, so systemd never runs two at once. A killed program can't report its failure itself.
_SERVICE = (
    HEADER
    + """\
[Unit]
Description=Sample of the InfiniBand fabric for node_exporter
After=network.target

[Service]
Type=oneshot
ExecStart={program}
ExecStopPost={program} --stopped
TimeoutStartSec=600
Nice=19
IOSchedulingClass=idle
NoNewPrivileges=yes
ProtectHome=yes
PrivateTmp=yes
"""
)
_TIMER = (
    HEADER
    + """\
[Unit]
Description=Sample of the InfiniBand fabric every {interval} s

[Timer]
OnActiveSec=10
OnUnitActiveSec={interval}
RandomizedDelaySec={delay}
AccuracySec=1

[Install]
WantedBy=timers.target
"""
)
# Slurm passes no arguments.
_SLURM = "#!/bin/sh\n" + HEADER + "exec {program} --slurm\n"
_NHC = (
    HEADER
    + """\
# For nhc.conf: * || check_rdma_ofed
function check_rdma_ofed() {{
    local said
    if ! said="$({program} 2>&1)"; then
        die 1 "$FUNCNAME:  $said"
        return 1
    fi
    return 0
}}
"""
)


def files_of(wanted: Wanted, programs: t.Mapping[str, str]) -> dict[str, str]:
    """The files by path. `programs`: the texts of both programs, for the Python of the node."""
    found = {}
    if wanted.sample:
        found[places.SAMPLER] = programs[places.SAMPLER]
        found[places.SAMPLE_CONF] = places.text_of(wanted.sample)
        found[SERVICE_PATH] = _SERVICE.format(program=places.SAMPLER)
        found[TIMER_PATH] = _TIMER.format(interval=wanted.interval, delay=wanted.interval // 10)
    if wanted.health:
        found[places.HEALTH] = programs[places.HEALTH]
        found[places.HEALTH_CONF] = places.text_of(wanted.health)
    if SLURM_CHECK in wanted.checks:
        found[places.SLURM] = _SLURM.format(program=places.HEALTH)
    if NHC_CHECK in wanted.checks:
        found[places.NHC] = _NHC.format(program=places.HEALTH)
    return found


def plan(wanted: Wanted, found: Found, wanted_files: t.Mapping[str, str]) -> Plan:
    """The timer stops before its program is removed, and starts after all files are written. Foreign files among `wanted_files` stay."""
    ours = [path for path in FILES if path in found.files and is_ours(found.files[path])]
    timer = bool(wanted.sample)
    was = found.files.get(TIMER_PATH, "")
    state = STOPPED if found.timer.active != "active" else RUNNING if was == wanted_files.get(TIMER_PATH, was) else RESTART
    units = (
        switch(places.TIMER, found.timer.enabled == "enabled", timer),
        Change(Kind.UNIT, places.TIMER, STATE, state, RUNNING if timer else STOPPED),
    )
    # Files that the programs write while they are wanted.
    kept = {wanted.sample.textfile, places.STATES} if wanted.sample else set()
    kept |= {places.DRAINED} if SLURM_CHECK in wanted.checks else set()
    written = [file_change(path, found.files.get(path, ""), wanted_files[path]) for path in FILES if path in wanted_files]
    gone = [file_change(path, found.files[path], "") for path in ours if path not in wanted_files]
    gone += [file_change(path, text, "") for path, text in sorted(found.left.items()) if path not in kept]
    # Foreign units of the same name are left alone.
    mine = TIMER_PATH in ours or timer
    return Plan(changes_of(*(() if timer or not mine else units), *gone, *written, *(units if timer else ())))
