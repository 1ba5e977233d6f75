# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan: write the file and the values of the kernel."""

from __future__ import annotations

import os
import typing as t

from .._errors import CommandFailed
from .._host._files import apply_file, under
from .._plan import Kind, Plan
from ._firewall._apply import carry_out
from ._routing._apply import PATHS, switch_unit, write
from ._sysctl import key_of

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner
    from .._plan import Change
    from ._found import Found
    from ._wanted import Wanted


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, wanted: Wanted, found: Found, root: str) -> None:
    """Make the changes in their order. Raises CommandFailed where the kernel refuses a value, or a firewall refuses an interface."""
    for change in todo.changes:
        if change.kind == Kind.FILE:
            os.makedirs(os.path.dirname(under(root, change.subject)), exist_ok=True)
            if change.subject in PATHS:
                write(module, run, change, found=found.routing, root=root)
            else:
                apply_file(module, change, root=root)
        elif change.kind == Kind.UNIT:
            switch_unit(run, change)
        elif change.kind == Kind.FIREWALL:
            carry_out(module, run, change, found=found.firewall, declared=wanted.trusted.names, root=root)
        else:
            _set(change, root)


def _set(change: Change, root: str) -> None:
    path = os.path.join(under(root, "/proc/sys"), key_of(change.subject))
    try:
        with open(path, "w", encoding="ascii") as stream:
            stream.write(change.after + "\n")
    except OSError as exc:
        form = "the kernel refused %s = %s (%s: %s): in a container, the host's kernel may own the setting; otherwise, see whether the interface still exists"
        raise CommandFailed(form % (change.subject, change.after, path, exc.strerror)) from exc
