# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Apply a plan."""

from __future__ import annotations

import posixpath
import typing as t

from .._facts._soft_links import MODULES, Link, unit_of
from .._host._files import apply_file
from .._host._units import Systemd
from .._plan import Change, Kind, Plan
from ._found import Found
from ._look import read_links

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def apply(module: AnsibleModule, run: Runner, todo: Plan, *, links: t.Sequence[Link], found: Found, root: str) -> None:
    """Make the changes in their order. systemd reloads its unit files before it starts or enables one of them."""
    wanted = {link.name: link for link in links}
    if run.has("modprobe"):
        # The kernel loads them on demand. Loading them first detects an unsigned or blocked driver before any change.
        for driver in sorted({MODULES[wanted[change.subject].type] for change in todo.about(Kind.RDMA_LINK) if change.after}):
            run(["modprobe", driver], timeout=180)
    systemd, files = Systemd(run), todo.about(Kind.FILE)
    moved: list[str] = []
    for change in todo.changes:
        if change.kind == Kind.FILE:
            if change.before and change.after:
                # Only the old text tells which unit wants this one.
                moved.append(posixpath.basename(change.subject))
                systemd.disable(moved[-1])
            apply_file(module, change, root=root)
            if change == files[-1]:
                systemd.daemon_reload()
                systemd.enable(*moved)
        elif change.kind == Kind.UNIT:
            systemd.set_enabled(change)
        else:
            _link(run, change, wanted.get(change.subject), found=found, root=root)


def _link(run: Runner, change: Change, wanted: Link | None, *, found: Found, root: str) -> None:
    name = change.subject
    if change.after and wanted:
        run(["rdma", "link", "add", name, "type", wanted.type, "netdev", wanted.netdev])
        return
    unit = found.units.get(unit_of(name))
    if unit is not None and unit.active == "active":
        # The unit would stay active until the next boot. Stopping it deletes the link.
        Systemd(run).stop(unit_of(name))
        if name not in read_links(run, root)[0]:
            return
    run(["rdma", "link", "delete", name])
