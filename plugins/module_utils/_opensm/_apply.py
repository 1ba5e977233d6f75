# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan for subnet managers."""

from __future__ import annotations

import contextlib
import os
import signal
import typing as t

from .._foreign import decimal
from .._host._files import apply_file
from .._host._turn import look_until
from .._host._units import ENABLED, MASKED, YES, Systemd, systemd_runs
from .._plan import Change, Kind, Plan
from ._conf import ADOPTED, CONF, RELOAD
from ._places import SETTINGS, SYSTEMD
from ._plan import STOPPED

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

    BeforeEnd = t.Callable[[str], None]
    """Takes the name of a unit, or a process ID, that is about to end, and lets another manager take over first."""
    AroundStart = t.Callable[[str], t.ContextManager[None]]
    """Takes the name of a unit that starts in the context, and lets it take over from another manager."""

# The folder of a unit's drop-ins is this prefix, the name of the fabric, and ".service.d".
UNITS = SYSTEMD + "/rdma-opensm@"
# opensm handles SIGTERM only between two steps of a sweep.
GRACE_SECONDS = 15


def _kill(pid: int) -> None:
    """Send SIGTERM, then SIGKILL if the process is still alive after GRACE_SECONDS. A process that has already exited is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        look_until(lambda: os.kill(pid, 0), lambda _there: False, patience=GRACE_SECONDS, pause=0.1)
        os.kill(pid, signal.SIGKILL)


def _mask(run: Runner, unit: str, *, wanted: bool, systemd: bool) -> None:
    """Mask a unit with a symlink to /dev/null, created directly: this must work before the package is installed and without a running systemd."""
    path = "%s/%s" % (SYSTEMD, unit)
    if os.path.islink(path):
        os.unlink(path)
    if not wanted:
        return
    if systemd:
        # Removes the boot links. A unit that does not exist has no boot links.
        Systemd(run).remove_boot_links(unit)
    os.makedirs(SYSTEMD, exist_ok=True)
    os.symlink("/dev/null", path)


def _remove_empty(path: str) -> None:
    """Remove a directory of the role and its parents, as long as they are empty. Other concerns keep files there, too."""
    with contextlib.suppress(OSError):
        while path.startswith((os.path.dirname(SETTINGS), UNITS)):
            os.rmdir(path)
            path = os.path.dirname(path)


def _service(run: Runner, change: Change, *, before_end: BeforeEnd, around_start: AroundStart) -> None:
    unit, systemd = change.subject, Systemd(run)
    if change.aspect == ENABLED:
        systemd.set_enabled(change)
        return
    if change.before == RELOAD:
        systemd.reload(unit)
        return
    if change.before != STOPPED:
        before_end(unit)
    if change.after == STOPPED:
        systemd.stop(unit)
        return
    with around_start(unit):
        systemd.allow_start(unit)
        if change.before == STOPPED:
            systemd.start(unit)
        else:
            systemd.restart(unit)


def apply(
    module: AnsibleModule,
    run: Runner,
    plan: Plan,
    *,
    before_end: BeforeEnd = lambda unit: None,
    around_start: AroundStart = lambda unit: contextlib.nullcontext(),
) -> None:
    """Apply the changes in the order of the plan; systemd reloads its unit files before it enables or starts a unit."""
    systemd = systemd_runs()
    stale = False
    for change in plan.changes:
        if change.kind == Kind.FILE:
            # opensm.conf may contain the keys of the subnet.
            apply_file(module, change, mode=0o600 if os.path.basename(change.subject) in (CONF, ADOPTED) else 0o644)
            _remove_empty(os.path.dirname(change.subject))
            stale = stale or change.subject.startswith(SYSTEMD)
        elif change.kind in (Kind.PARTITION, Kind.BROADCAST_GROUP):
            # The change of its file and the resulting restart carry it out.
            continue
        elif change.kind == Kind.PROCESS:
            before_end(change.subject)
            _kill(decimal(change.subject, 0))
        elif change.aspect == MASKED:
            _mask(run, change.subject, wanted=change.after == YES, systemd=systemd)
            stale = True
        else:
            if stale:
                Systemd(run).daemon_reload()
                stale = False
            _service(run, change, before_end=before_end, around_start=around_start)
    if stale and systemd:
        Systemd(run).daemon_reload()
