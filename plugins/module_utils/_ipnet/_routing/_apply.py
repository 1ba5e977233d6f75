# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the unit and the script of policy routing, and switch the unit on or off."""

from __future__ import annotations

import typing as t

from ..._host._files import apply_file
from ..._host._units import ENABLED, Systemd
from ._found import SCRIPT_PATH, SERVICE, UNIT_PATH
from ._plan import RUNNING

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from ..._host._run import Runner
    from ..._plan import Change
    from ._found import Routing

PATHS = (SCRIPT_PATH, UNIT_PATH)


def write(module: AnsibleModule, run: Runner, change: Change, *, found: Routing, root: str) -> None:
    """Write or remove one of the files."""
    systemd = Systemd(run)
    if change.subject == UNIT_PATH and change.before and change.after and found.systemd:
        # The rules and routes of the former text are taken back while systemd knows it.
        systemd.stop(SERVICE)
    apply_file(module, change, mode=0o755 if change.subject == SCRIPT_PATH else 0o644, exact=True, root=root)
    if change.subject == UNIT_PATH and found.systemd:
        systemd.daemon_reload()


def switch_unit(run: Runner, change: Change) -> None:
    """Enable, disable, start, restart or stop the unit."""
    systemd = Systemd(run)
    if change.aspect == ENABLED:
        systemd.set_enabled(change)
    elif change.after == RUNNING:
        systemd.allow_start(SERVICE)
        systemd.restart(SERVICE)
    else:
        systemd.stop(SERVICE)
