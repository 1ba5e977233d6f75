# Copyright (c) 2026 The rdma.ofed engineers
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rebuild third-party modules for the stack on disk: look, plan, run a job, and look again."""

from __future__ import annotations

import typing as t

from .._errors import CommandFailed
from .._host import _job as jobs
from .._plan import Change, Plan
from . import _plan as planner
from ._found import Built, Found, Misfit
from ._look import look, read_record, write_record

if t.TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

    from .._host._run import Runner

JOB = "third-party-modules"
_FIT = "%s ended without an error, but %s. Build the module on the installed stack, run depmod, and run this again. Nothing was unloaded"


def _result(changes: t.Iterable[Change], left: t.Sequence[Misfit], job: jobs.State | None = None) -> dict[str, t.Any]:
    """The result of the module. `left`: what does not fit after the task."""
    return {
        **Plan(tuple(changes)).result([planner.pending(misfit) for misfit in left], [planner.reason(misfit) for misfit in left]),
        "modules": [misfit.module.row() for misfit in left],
        **({} if job is None else {"job": job.result()}),
    }


def _given(module: AnsibleModule) -> tuple[Built, ...]:
    return tuple(filter(None, map(Built.of_row, module.params["modules"] or ())))


def _rebuilt(before: t.Iterable[Built], left: t.Sequence[Misfit], by: t.Callable[[Built], str]) -> tuple[Change, ...]:
    """The changes of the modules that fit now."""
    bad = {(misfit.module.name, misfit.module.kernel) for misfit in left}
    return tuple(planner.change(module, by(module)) for module in before if (module.name, module.kernel) not in bad)


def _of_tasks(module: AnsibleModule, found: Found) -> dict[str, t.Any]:
    """The result after the tasks of the site."""
    tasks, given = module.params["tasks"], _given(module)
    if module.check_mode:
        return _result(_rebuilt(given, (), lambda _each: tasks), ())
    if found.misfits:
        raise CommandFailed(_FIT % (tasks, "; ".join(map(planner.reason, found.misfits))), modules=[misfit.module.row() for misfit in found.misfits])
    return _result(_rebuilt(given, (), lambda _each: tasks), ())


def _predicted(found: Found) -> dict[str, t.Any]:
    by_dkms = [misfit.module for misfit in found.misfits if misfit.module.source]
    return _result(_rebuilt(by_dkms, (), lambda each: each.command), [misfit for misfit in found.misfits if not misfit.module.source])


def _by_dkms(module: AnsibleModule, run: Runner, *, found: Found, record: tuple[Built, ...], root: str) -> dict[str, t.Any]:
    """Have DKMS rebuild what it manages. May return while the job runs; the module is then called again with the option `attach`."""
    todo = planner.builds(found)
    if not todo:
        return _result((), found.misfits)
    memo = {"modules": [misfit.module.row() for misfit in found.misfits]}
    jobs.start(run, JOB, planner.steps(todo), timeout=module.params["timeout"], memo=memo, root=root)
    return _concluded(module, run, record=record, root=root)


def _concluded(module: AnsibleModule, run: Runner, *, record: tuple[Built, ...], root: str) -> dict[str, t.Any]:
    job = jobs.wait(JOB, module.params["poll"], root)
    if job.running:
        return _result((), (), job)
    if job.interrupted:
        raise CommandFailed("%s was interrupted. The next run starts it again; all output is in %s" % (job.stage or "the job", job.log), job=job.result())
    before = [built for built in map(Built.of_row, job.memo["modules"]) if built is not None and built.source]
    left = _settled(run, record, root).misfits
    return _result(_rebuilt(before, left, lambda each: each.command), left, job)


def _settled(run: Runner, record: tuple[Built, ...], root: str) -> Found:
    """Look at the recorded modules. The record is kept as long as one of them does not fit."""
    found = look(run, record, root)
    if record and not found.misfits:
        write_record((), root)
    return found


def converge(module: AnsibleModule, run: Runner, *, root: str = "/") -> dict[str, t.Any]:
    """Look, plan and, outside of check mode, apply. In check mode, the stack that is looked at may still be to come."""
    record = read_record(root)
    if module.check_mode:
        foreseen = _given(module)
        found = Found(foreseen, tuple(map(Misfit, foreseen))) if foreseen else look(run, record, root)
        return _of_tasks(module, found) if module.params["tasks"] else _predicted(found)
    job = jobs.read_job(JOB, root)
    if job is not None and (job.running or module.params["attach"] == job.id):
        return _concluded(module, run, record=record, root=root)
    found = _settled(run, record, root)
    if module.params["tasks"]:
        return _of_tasks(module, found)
    return _by_dkms(module, run, found=found, record=record, root=root) if module.params["dkms"] else _result((), found.misfits)
