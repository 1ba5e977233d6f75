# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The timer of systemd that runs the script of a rollback.

The controller stops the timer over a connection that was opened after the change (see the action plugin `ipoib`).
"""

from __future__ import annotations

import os
import shutil
import typing as t

from ansible_collections.rdma.ofed.plugins.module_utils._errors import CommandFailed, Unsupported
from ansible_collections.rdma.ofed.plugins.module_utils._host._files import under
from ansible_collections.rdma.ofed.plugins.module_utils._host._units import Systemd

if t.TYPE_CHECKING:
    from ansible_collections.rdma.ofed.plugins.module_utils._host._run import Runner

UNIT = "rdma-ofed-ipoib-rollback"
PATIENCE = 600
"""Seconds for which the rollback waits for a run that is still at work; each of its commands has a limit of its own."""
DIRECTORY = "/run/rdma-ofed-ipoib-rollback"
SCRIPT = "undo"
# The two never work at the same time: the rollback waits for a run that takes longer than the timer.
_BEGIN = "#!/bin/sh\ntries=%d\nwhile [ $tries -gt 0 ] && kill -0 %d 2>/dev/null; do tries=$((tries - 1)); sleep 1; done\n"


def is_armed(run: Runner, root: str = "/") -> bool:
    """Whether an earlier run, which was cut off or killed, has left an armed rollback, or one at work."""
    return os.path.isdir(under(root, DIRECTORY)) and Systemd(run).is_active(UNIT + ".timer", UNIT + ".service")


def arm(run: Runner, undo: t.Mapping[str, str], *, seconds: int, pid: int, root: str = "/") -> None:
    """Before the first change of the process `pid`: write the script down and set the timer."""
    if not run.has("systemd-run"):
        raise Unsupported("ipoib_rollback_timeout needs systemd-run, which is not installed here; run over another path")
    directory = under(root, DIRECTORY)
    shutil.rmtree(directory, ignore_errors=True)
    # Keyfiles are for root only.
    os.makedirs(directory, mode=0o700)
    for name, text in {**undo, SCRIPT: _BEGIN % (PATIENCE, pid) + undo[SCRIPT]}.items():
        with open(os.path.join(directory, name), "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(text)
    options = ["--unit=" + UNIT, "--collect", "--on-active=%d" % seconds, "--timer-property=AccuracySec=1s"]
    run(["systemd-run", *options, "/bin/sh", "%s/%s" % (DIRECTORY, SCRIPT)])


def confirm(run: Runner, unit: str, root: str = "/") -> None:
    """The node can be reached: stop the timer. Raises CommandFailed where it has gone off."""
    if unit != UNIT + ".timer" or not Systemd(run).is_active(UNIT + ".timer"):
        raise CommandFailed("the timer %s has gone off: the node is back in its state of before the change" % unit)
    Systemd(run).stop(UNIT + ".timer")
    shutil.rmtree(under(root, DIRECTORY), ignore_errors=True)
