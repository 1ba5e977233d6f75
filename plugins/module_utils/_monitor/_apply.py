# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan for the monitor."""

from __future__ import annotations

import contextlib
import os
import typing as t

from .._host._files import apply_file, under
from .._host._units import ENABLED, Systemd
from .._plan import Change, Kind, Plan
from . import _plan as planner
from . import _settings as places
from ._files import EXECUTABLE

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


_FOLDERS = (places.PROGRAMS, places.SETTINGS, places.KEPT)


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, root: str = "/") -> None:
    """Apply the changes in the order of the plan; systemd rereads its files before it starts anything."""
    stale = False
    for change in todo.changes:
        if change.kind == Kind.FILE:
            apply_file(module, change, mode=0o755 if change.subject in EXECUTABLE else 0o644, root=root)
            stale = stale or change.subject.startswith("/etc/systemd/")
            continue
        if stale:
            Systemd(run).daemon_reload()
            stale = False
        _unit(run, change)
    if stale and run.has("systemctl"):
        Systemd(run).daemon_reload()
    for folder in _FOLDERS:
        # Remove the directory only if it is empty.
        with contextlib.suppress(OSError):
            os.rmdir(under(root, folder))


def _unit(run: Runner, change: Change) -> None:
    if change.aspect == ENABLED:
        Systemd(run).set_enabled(change)
    elif change.after == planner.STOPPED:
        Systemd(run).stop(change.subject, places.SERVICE)
    elif change.before == planner.STOPPED and change.after == planner.RUNNING:
        Systemd(run).start(change.subject)
    else:
        Systemd(run).restart(change.subject)
