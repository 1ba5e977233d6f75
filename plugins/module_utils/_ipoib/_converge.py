# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One run of the module: look, plan, apply."""

from __future__ import annotations

import os
import typing as t

from .._errors import CommandFailed, RdmaError
from .._host._saved import access_of
from .._plan import Kind, Plan
from . import _registry, _rollback
from ._apply import Applier, made
from ._concern import Options, result_of, wanted_of
from ._found import Found
from ._look import ROLLBACK, look_whole
from ._plan import plan
from ._todo import IpoibPlan

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner


def converge(module: AnsibleModule, run: Runner, options: Options, *, environ: t.Mapping[str, str], root: str = "/") -> dict[str, t.Any]:
    """Return the result of the module. Raises RdmaError, before the first change wherever the error can be known by then."""
    if options.confirm:
        if not module.check_mode:
            _rollback.confirm(run, options.confirm, root)
        return dict(Plan().result(), backend="", interfaces=[])

    def look() -> Found:
        return look_whole(run, environ, root)

    found = look()
    wanted = wanted_of(options, found)
    todo = plan(wanted, found)
    if module.check_mode or not todo.plan:
        return result_of(wanted, todo, found.netdevs, predicted=bool(todo.plan))
    if found.armed:
        raise CommandFailed("the rollback of an earlier change is armed on this node: wait until %s.timer has fired and its service has ended" % ROLLBACK)

    def replan(seen: Found) -> IpoibPlan:
        return plan(wanted, seen)

    extra: dict[str, t.Any] = {}
    applier = Applier(
        module,
        run,
        found,
        backend=_registry.named(wanted.backend),
        look=look,
        replan=replan,
        root=root,
        backup=options.backup,
    )
    if todo.cutting:
        foreign = [change.subject for change in todo.plan.about(Kind.FILE) if change.before and not _registry.is_ours(change.subject, change.before)]
        accesses = {path: access_of(path, root) for path in foreign}
        _rollback.arm(run, _rollback.undo_of(todo, found, accesses), seconds=options.rollback_timeout, pid=os.getpid(), root=root)
        extra["rollback"] = {"unit": ROLLBACK + ".timer", "seconds": options.rollback_timeout, "confirmed": False}
    try:
        after = applier.prepare(todo) if wanted.image else applier.apply(todo)
    except RdmaError as exc:
        exc.details.update(made(todo, look, replan))
        if extra:
            exc.msg += "; the node returns to its former state within %d s" % options.rollback_timeout
        raise
    if applier.backups:
        extra["backup_files"] = applier.backups
    # The changes that were made, and the remaining notes.
    return {**result_of(wanted, after._replace(plan=todo.plan, adopted=todo.adopted, restored=todo.restored), look().netdevs, predicted=False), **extra}
